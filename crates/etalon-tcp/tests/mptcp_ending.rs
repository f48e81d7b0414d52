// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP: how a stream ends.
use crate::common::{Fate, MS};
use crate::mptcp::Net;
use etalon_tcp::Segment;
use etalon_tcp::mptcp::MptcpOption;

/// RFC 8684, section 3.3.3: DATA_FIN is a byte of the stream, which is acknowledged. As seen on Linux, a lost one comes again after the
/// shortest timeout, and none of data counts for that.
#[test]
fn data_fin_comes_again_until_it_is_acknowledged() {
    for lost in 0..4 {
        let mut fates = vec![Fate::Deliver; 3];
        fates.extend(vec![Fate::Drop; lost]);
        let mut net = Net::new(1, vec![fates], vec![0]);
        net.transfer(5_000);
        let took = net.now;
        let waited = net.end() - took;
        let expected = lost as u64 * 204 * MS;
        assert!(
            (expected..expected + 10 * MS).contains(&waited),
            "{waited} ns after {lost}"
        );
        let stats = net.ends[0][0].stats();
        assert_eq!((stats.rtos, stats.retransmits), (0, 0));
    }
}

/// As seen on Linux: what is sent after the application has shut down says that it ends the stream, also if it was written before.
#[test]
fn the_last_data_carry_data_fin() {
    let mut net = Net::new(1, vec![], vec![0]);
    while !net.ends[0][0].is_established() {
        net.step();
    }
    let client = &mut net.ends[0][0];
    client.write_mapped(0, 8924);
    client.write_mapped(8924, 100);
    let ends = |segment: &Segment| match segment.rare.mptcp() {
        Some(MptcpOption::Dss(dss)) => (segment.len, dss.ends, dss.mapping.map(|m| m.len)),
        _ => (segment.len, false, None),
    };
    client.end_stream(9024);
    let sent: Vec<_> = std::iter::from_fn(|| client.poll_transmit(3 * MS))
        .map(|s| ends(&s))
        .collect();
    let data = Some(9025);
    assert_eq!(
        sent,
        [(0, true, Some(1)), (8924, true, data), (100, true, data)]
    );
}
