// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP: what subflows offer of their stream's window, as captures of the Linux engine show it (one flow with segments of 8,924 bytes over
//! two networks; window fields in steps of 128 bytes).
use etalon_tcp::cc::Cubic;
use etalon_tcp::mptcp::{DataReceiver, Dss, Mapping, Mptcp, MptcpOption};
use etalon_tcp::{Config, Connection, Flags, Segment};

const FULL: u16 = 8_924;

fn config() -> Config {
    Config {
        mptcp: Some(Mptcp { subflow: 0 }),
        ..Config::default()
    }
}

/// Both ends of the first subflow after the handshake, and the ACK that ended it.
fn opened(config: &Config) -> (Connection<Cubic>, Connection<Cubic>, Segment) {
    let mut client = Connection::client(config.clone(), Cubic::default());
    let mut server = Connection::server(config.clone(), Cubic::default());
    let syn = client.poll_transmit(0).expect("SYN");
    server.on_segment(0, &syn);
    let reply = server.poll_transmit(0).expect("SYN-ACK");
    client.on_segment(0, &reply);
    let ack = client.poll_transmit(0).expect("ACK");
    server.on_segment(0, &ack);
    (client, server, ack)
}

/// A server whose program reads what has come once that is acknowledged.
struct Server {
    end: Connection<Cubic>,
    stream: DataReceiver,
    now: u64,
    /// The client's ACK, of which its data are made.
    ack: Segment,
    /// Its ACKs are not delayed.
    at_once: bool,
}

impl Server {
    fn new() -> Server {
        let (_, end, ack) = opened(&config());
        Server {
            end,
            stream: DataReceiver::default(),
            now: 0,
            ack,
            at_once: false,
        }
    }

    /// The `len` bytes of the subflow from `place` on come, of a mapping from `start` there to `data_seq` in the stream. Returns the window field
    /// of what goes out.
    fn gets(&mut self, place: u32, len: u16, mapping: (u32, u64, u16)) -> Option<u16> {
        let (start, data_seq, mapped) = mapping;
        let mapping = Mapping {
            data_seq,
            subflow_seq: start + 1,
            len: mapped,
        };
        let mut segment = Segment {
            seq: self.ack.seq.wrapping_add(place),
            len,
            flags: if len < 1_000 {
                Flags::ACK | Flags::PSH
            } else {
                Flags::ACK
            },
            ..self.ack.clone()
        };
        segment.rare.set_mptcp(Some(MptcpOption::Dss(Dss {
            mapping: Some(mapping),
            ..Dss::default()
        })));
        self.now += 1_000;
        self.end.on_segment(self.now, &segment);
        while let Some(piece) = self.end.take_mapped() {
            self.stream.take(piece, self.end.memory_of(piece.1));
        }
        let offered = self.end.offered_of_stream();
        self.end.set_data_ack(self.stream.received(), offered);
        self.end.set_stream_memory(self.stream.memory());
        if self.at_once {
            self.end.acknowledge_stream();
        }
        let before = self.end.poll_transmit(self.now);
        self.stream.read();
        self.end.set_stream_memory(self.stream.memory());
        if self.stream.memory() == 0 {
            self.end.stream_was_read();
        }
        let after = self.end.poll_transmit(self.now);
        before.or(after).map(|segment| segment.window)
    }
}

/// Behind a hole of its own a subflow offers as before; what fills the hole takes memory of the stream until it is read, each mapping for
/// itself: 131,072 bytes less 38,856 and three times 768 are halved to 44,956.
#[test]
fn a_hole_of_a_subflow_takes_no_room_but_what_fills_it_does() {
    let mut server = Server::new();
    server.at_once = true;
    for nth in 0..3 {
        let place = nth * u32::from(FULL);
        assert_eq!(server.gets(place, FULL, (0, 0, 26_772)), Some(443));
    }
    server.gets(26_772, 5_956, (26_772, 26_772, 5_956));
    let lost = (32_728, 32_728, 26_772);
    for nth in 0..3 {
        let place = 59_500 + nth * u32::from(FULL);
        let behind = server.gets(place, FULL, (59_500, 59_500, 26_772));
        assert_eq!(behind, Some(443));
    }
    assert_eq!(
        server.gets(86_272, 3_160, (86_272, 86_272, 3_160)),
        Some(443)
    );
    assert_eq!(server.gets(32_728, FULL, lost), Some(443));
    assert_eq!(server.gets(41_652, FULL, lost), Some(443));
    assert_eq!(server.gets(50_576, FULL, lost), Some(352));
    assert_eq!(server.stream.received(), 89_432);
    let next = (89_432, 89_432, FULL);
    assert_eq!(server.gets(89_432, FULL, next), Some(443));
}

/// What is beyond a hole of the stream lies side by side in one piece, with 768 bytes beside its payload, and takes memory until it is read.
#[test]
fn what_is_beyond_a_hole_of_the_stream_takes_room_until_it_is_read() {
    let mut server = Server::new();
    server.at_once = true;
    let full = u32::from(FULL);
    for nth in 0..5 {
        // Another subflow has yet to bring the stream's first segment.
        let data_seq = u64::from((nth + 1) * full);
        server.gets(nth * full, FULL, (nth * full, data_seq, FULL));
        assert_eq!(server.stream.received(), 0);
        assert_eq!(server.stream.memory(), 768 + (nth + 1) * full);
    }
    // Less 9,692 and 45,388, halved: 37,996 bytes.
    assert_eq!(server.gets(5 * full, FULL, (5 * full, 0, FULL)), Some(297));
    assert_eq!(server.stream.received(), u64::from(6 * full));
    assert_eq!(server.stream.memory(), 0);
    let next = (6 * full, u64::from(6 * full), FULL);
    assert_eq!(server.gets(6 * full, FULL, next), Some(443));
    // What comes twice takes nothing.
    let mut stream = DataReceiver::default();
    let memory = server.end.memory_of(full);
    for _ in 0..2 {
        stream.take((1_000, full), memory);
    }
    stream.take((0, full), memory);
    assert_eq!(stream.memory(), 2 * (768 + full));
    stream.read();
    stream.take((0, full), memory);
    assert_eq!((stream.memory(), stream.received()), (0, 9_924));
}

/// The first subflow has offered the stream up to byte 856,136; the fields of the second, ACK by ACK.
#[test]
fn what_another_subflow_has_offered_is_rounded_down() {
    let mut server = Server::new();
    for (data_ack, field) in [(701_092, 1211), (710_016, 1141), (718_940, 1071)] {
        server.end.set_data_ack(data_ack, 856_136);
        server.end.acknowledge_stream();
        let ack = server.end.poll_transmit(1_000).expect("an ACK");
        assert_eq!(ack.window, field, "{data_ack}");
        assert_eq!(server.end.offered_of_stream(), 856_136);
    }
}

/// A client offers 62,720 bytes in its handshake and in the first chunk, which has its keys, and 56,704 from the first DSS on.
#[test]
fn the_first_dss_voids_what_the_handshake_offered() {
    let (mut client, _, ack) = opened(&config());
    client.write_mapped(0, 26_772);
    client.write_mapped(26_772, 5_956);
    let sent = std::iter::from_fn(|| client.poll_transmit(1_000));
    let windows: Vec<u16> = sent.map(|segment| segment.window).collect();
    assert_eq!((ack.window, &windows[..]), (490, &[490, 490, 490, 443][..]));
}

/// 72 bytes with PSH are acknowledged at once where the program reads them, and wait for more behind a hole of the stream.
#[test]
fn what_is_small_is_answered_once_it_is_read() {
    for (data_seq, answered) in [(0, true), (FULL.into(), false)] {
        let mut server = Server::new();
        let mut place = 0;
        let mut gets = |len: u16| {
            let mapping = (place, data_seq + u64::from(place), len);
            let ack = server.gets(place, len, mapping);
            place += u32::from(len);
            ack.is_some()
        };
        // Quick ACKs come first, then one for every second segment.
        while gets(FULL) || !gets(FULL) {}
        assert_eq!(gets(72), answered, "{data_seq}");
    }
}
