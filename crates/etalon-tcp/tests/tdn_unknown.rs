// SPDX-License-Identifier: MIT OR Apache-2.0
//! TDTCP while the round trip of the TDN in use is not known, as over circuits that never lead both ways at once: its timers, and what RACK
//! makes of retransmissions.
use crate::common::{Bench, MS};
use etalon_tcp::cc::Reno;
use etalon_tcp::{Config, Connection, Tdtcp};

const MSS: u64 = 8948;
const RTT: u64 = 10 * MS;

/// A client with two paths after the handshake, which took `RTT`; without options.
fn client() -> Bench<Reno> {
    let tdtcp = Tdtcp {
        options: false,
        ..Tdtcp::default()
    };
    let config = Config {
        tdtcp: Some(tdtcp),
        tso_win_divisor: 100, // no chunk waits for a larger one
        ..Config::default()
    };
    let mut client = Connection::client(config, Reno);
    client.add_paths([Reno].into());
    Bench::client(client, RTT, |_| {})
}

fn change(bench: &mut Bench<Reno>, tdn: u8) {
    bench.end.on_tdn(bench.now, tdn);
    bench.end.check_counters();
}

/// As on the Linux engine, where flows over circuits that never lead both ways at once show it: the probe takes the RTT that is known, the
/// timeout a second.
#[test]
fn before_the_rtt_is_known_probes_take_the_slowest_and_timeouts_a_second() {
    for lone in [false, true] {
        let mut b = client();
        b.end.write(if lone { MSS } else { 10 * MSS });
        change(&mut b, 1);
        assert_eq!(b.sent().len(), if lone { 1 } else { 10 });
        let start = b.now;
        assert_eq!(b.fire().len(), 1);
        // Two round trips of TDN 0, and the margin; for a lone segment the smallest timeout, since its ACK may be delayed.
        let least = 2 * RTT / MS + if lone { 200 } else { 2 };
        let probe = (b.now - start) / MS;
        assert!((least..=least + 12).contains(&probe), "{probe} ms");
        let sent = b.now;
        b.fire();
        assert!((b.now - sent) / MS >= 1_000, "{} ms", (b.now - sent) / MS);
        assert_eq!((b.end.stats().tlps, b.end.stats().rtos), (1, 1));
    }
}

/// RFC 6298, 5.5 and 5.7, of the connection: a sample of any TDN ends the doubling for all.
#[test]
fn a_timeout_before_the_rtt_is_known_stays_doubled_until_there_is_a_sample() {
    let mut b = client();
    b.end.write_forever();
    change(&mut b, 1);
    b.sent();
    b.fire();
    b.fire();
    assert_eq!((b.end.stats().rtos, b.end.path().rto_ticks()), (1, 500));
    change(&mut b, 0);
    change(&mut b, 1);
    assert_eq!(b.end.path().rto_ticks(), 500);
    change(&mut b, 0);
    // The probe was new data.
    let sent = b.ack(11, &[]);
    assert!(!sent.is_empty());
    b.wait(RTT);
    b.ack(11 + sent.len() as u32, &[]);
    change(&mut b, 1);
    assert_eq!((b.end.path().srtt(), b.end.path().rto_ticks()), (0, 250));
}

/// As on the Linux engine: RACK takes a retransmission by the minimum RTT of the TDN in use, whether that of its own TDN is known or not.
/// So one that was lost again is found before the timeout.
#[test]
fn a_retransmission_on_a_tdn_whose_rtt_is_not_known_counts_on_another() {
    let mut b = client();
    b.end.write_forever();
    assert_eq!(b.sent().len(), 10);
    b.wait(RTT);
    change(&mut b, 1);
    assert_eq!(b.ack(0, &[(2, 10)])[..2], [0, 1]);
    b.wait(MS);
    change(&mut b, 0);
    b.wait(RTT);
    // That of segment 1 has arrived.
    assert_eq!(b.ack(0, &[(1, 10)]).first(), Some(&0));
}
