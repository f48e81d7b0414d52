// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model beside what a writing program saw on the Linux engine: on `r0h0` of a plan with two racks and the MTU said below, it wrote 20 MB in
//! blocks of 64 KiB without blocking, and looked at `SO_MEMINFO`, `TIOCOUTQ` and `TCP_INFO` whenever the buffer was full and whenever
//! `poll` said that it was not any more.

use super::*;
use crate::sending::buffers::Buffers;

/// Bytes that the socket had taken, of these not acknowledged, memory (`sndbuf`), window and segments in flight: in turn
/// when it was full and when it had room.
type Row = (u64, u64, u64, u32, u32);

const MTU_1500: (u32, [Row; 24]) = (
    1448,
    [
        (46336, 46336, 46080, 10, 10),
        (46336, 37648, 64512, 16, 14),
        (95568, 83984, 82944, 18, 14),
        (95568, 52128, 119808, 40, 36),
        (165072, 121632, 119808, 40, 40),
        (165072, 118736, 193536, 42, 38),
        (260640, 208512, 211968, 46, 34),
        (260640, 182448, 290304, 64, 61),
        (376480, 291048, 317952, 69, 56),
        (376480, 262088, 410112, 89, 80),
        (522728, 399648, 433152, 94, 75),
        (522728, 360552, 557568, 122, 115),
        (718208, 550240, 576000, 127, 110),
        (718208, 493768, 760320, 166, 161),
        (978848, 750064, 778752, 169, 158),
        (978848, 448880, 953856, 112, 112),
        (1434968, 899208, 953856, 112, 112),
        (1434968, 531416, 953856, 79, 79),
        (1825928, 913688, 953856, 79, 79),
        (1825928, 624088, 953856, 81, 71),
        (2151728, 941200, 953856, 81, 65),
        (2151728, 618296, 953856, 58, 41),
        (2477528, 944096, 953856, 58, 41),
        (2477528, 624088, 953856, 43, 43),
    ],
);

const MTU_4000: (u32, [Row; 24]) = (
    3948,
    [
        (165816, 165816, 168960, 10, 10),
        (165816, 146076, 253440, 15, 13),
        (292152, 264516, 287232, 17, 11),
        (292152, 205296, 405504, 32, 21),
        (513240, 419960, 405504, 34, 27),
        (513240, 402696, 642048, 39, 38),
        (773808, 655368, 692736, 41, 36),
        (773808, 596148, 929280, 56, 45),
        (1152816, 963312, 979968, 58, 55),
        (1152816, 876456, 1351680, 81, 78),
        (1658160, 1373904, 1402368, 83, 76),
        (1658160, 1255464, 1909248, 113, 110),
        (2353008, 1942416, 1943040, 115, 108),
        (2353008, 1263360, 2128896, 88, 88),
        (3237360, 2131920, 2128896, 88, 88),
        (3237360, 1358112, 2128896, 61, 56),
        (3995376, 2108232, 2128896, 61, 54),
        (3995376, 1397592, 2128896, 64, 50),
        (4753392, 2147712, 2128896, 64, 64),
        (4753392, 1200192, 2128896, 46, 46),
        (5700912, 2147712, 2128896, 46, 46),
        (5700912, 1397592, 2128896, 50, 50),
        (6458928, 2147712, 2128896, 50, 48),
        (6458928, 1397592, 2128896, 54, 50),
    ],
);

const MTU_9000: (u32, [Row; 24]) = (
    8948,
    [
        (331076, 331076, 332800, 10, 7),
        (331076, 286336, 499200, 15, 6),
        (545828, 492140, 499200, 15, 7),
        (545828, 429504, 665600, 20, 18),
        (769528, 644256, 698880, 21, 20),
        (769528, 581620, 898560, 28, 28),
        (1082708, 885852, 965120, 29, 27),
        (1082708, 805320, 1264640, 38, 34),
        (1583796, 1297460, 1297920, 39, 33),
        (1583796, 1163240, 1797120, 54, 53),
        (2210156, 1780652, 1830400, 55, 52),
        (2210156, 1351148, 2063360, 62, 60),
        (2899152, 2031196, 2063360, 62, 59),
        (2899152, 1377992, 2163200, 65, 63),
        (3713420, 2174364, 2163200, 65, 61),
        (3713420, 1503264, 2296320, 69, 63),
        (4527688, 2317532, 2296320, 69, 63),
        (4527688, 1592744, 2429440, 73, 73),
        (5341956, 2389116, 2429440, 73, 71),
        (5341956, 1673276, 2562560, 77, 75),
        (6218860, 2532284, 2562560, 77, 73),
        (6218860, 1718016, 2728960, 82, 80),
        (7221036, 2702296, 2728960, 82, 78),
        (7221036, 1888028, 2895360, 87, 85),
    ],
);

fn sending((mss, row): (u32, Row)) -> Sending {
    let (accepted, unacked, _, cwnd, in_flight) = row;
    Sending {
        acked: accepted - unacked,
        cwnd,
        in_flight,
        mss,
        buffer: Buffers::size_for(mss, u32::MAX),
    }
}

/// A buffer that holds what it holds at the start of a recorded row.
fn buffer(row: Row, waits: bool) -> SendBuffer {
    SendBuffer {
        size: row.2,
        max: 6 << 20,
        written: 20_000_000,
        accepted: row.0,
        untold: 0,
        waits,
    }
}

#[test]
fn a_new_connection_takes_two_windows_as_linux_does() {
    for (mss, rows) in [MTU_1500, MTU_4000, MTU_9000] {
        let mut buffer = SendBuffer::new(6 << 20);
        buffer.write(20_000_000);
        let mut first = sending((mss, rows[0]));
        first.acked = 0;
        first.buffer = Buffers::size_for(mss, 65_535);
        let taken = buffer.take(&first);
        assert_eq!(buffer.size, rows[0].2, "{mss}");
        assert!(
            taken.abs_diff(rows[0].0) <= u64::from(first.buffer),
            "{mss}: {taken}"
        );
        assert_eq!(buffer.take(&first), 0, "{mss}: it is full");
    }
}

#[test]
fn what_is_taken_when_there_is_room_is_what_linux_took() {
    let mut equal = 0;
    for (mss, rows) in [MTU_1500, MTU_4000, MTU_9000] {
        for pair in rows[1..].chunks_exact(2) {
            // A look is a system call later than what woke the program, and ACKs came in between: the buffer is what it then was.
            let mut buffer = buffer(pair[0], true);
            buffer.size = pair[1].2;
            let mut sending = sending((mss, pair[0]));
            sending.in_flight = sending.cwnd;
            buffer.take(&sending);
            let off = buffer.accepted.abs_diff(pair[1].0);
            assert!(
                off <= 2 * u64::from(sending.buffer),
                "{mss}: {pair:?}, {off}"
            );
            equal += u32::from(off == 0);
        }
    }
    assert!(equal >= 16, "{equal} of 33");
}

/// From the first write on, the model is told only what was acknowledged, the window and what was in flight at each look, so that errors
/// would add up: they stay within one refill, which is a third of the memory, and two buffers. Half of them are within two buffers.
#[test]
fn what_is_taken_over_time_is_what_linux_took() {
    let (mut close, mut all) = (0, 0);
    for (mss, rows) in [MTU_1500, MTU_4000, MTU_9000] {
        let mut buffer = SendBuffer::new(6 << 20);
        buffer.write(20_000_000);
        let mut first = sending((mss, rows[0]));
        first.acked = 0;
        first.buffer = Buffers::size_for(mss, 65_535);
        buffer.take(&first);
        for pair in rows[1..].chunks_exact(2) {
            let now = sending((mss, pair[0]));
            buffer.take(&now);
            let off = buffer.accepted.abs_diff(pair[1].0);
            let memory = buffer.size.max(pair[1].2);
            let two = 2 * u64::from(now.buffer);
            assert!(off <= memory / 3 + two, "{mss}: {pair:?}, {off} off");
            close += u32::from(off <= two);
            all += 1;
        }
    }
    assert!(2 * close >= all, "{close} of {all}");
}

#[test]
fn a_write_waits_until_a_third_is_free_as_on_linux() {
    for (mss, rows) in [MTU_1500, MTU_4000, MTU_9000] {
        for pair in rows.chunks_exact(2) {
            let (full, room) = (pair[0], pair[1]);
            let mut buffer = buffer((full.0, full.1, room.2, 0, 0), true);
            let mut sending = sending((mss, room));
            sending.in_flight = sending.cwnd;
            assert!(buffer.clone().take(&sending) > 0, "{mss}: {pair:?}");
            // What Linux did not take as room before the last ACK.
            let third = room.2 * 2 / 3;
            if full.1 > third {
                sending.acked = full.0 - third;
                assert_eq!(buffer.take(&sending), 0, "{mss}: {pair:?}");
            }
        }
    }
}

#[test]
fn it_grows_with_the_window_and_does_not_shrink() {
    let mut buffer = SendBuffer::new(4 << 20);
    buffer.write(u64::MAX);
    let at = |acked, cwnd, in_flight| Sending {
        acked,
        cwnd,
        in_flight,
        mss: 8948,
        buffer: 62_636,
    };
    let first = buffer.take(&at(0, 10, 0));
    assert_eq!(buffer.size, 2 * 10 * 16_640);
    buffer.take(&at(first, 40, 40));
    assert_eq!(buffer.size, 2 * 10 * 16_640, "the window is full");
    buffer.take(&at(first, 40, 39));
    assert_eq!(buffer.size, 2 * 40 * 16_640);
    buffer.take(&at(first, 5, 1));
    assert_eq!(buffer.size, 2 * 40 * 16_640);
    buffer.take(&at(first, 500, 1));
    assert_eq!(buffer.size, 4 << 20);
}

#[test]
fn no_more_is_taken_than_was_written_and_all_of_it_in_the_end() {
    let mut buffer = SendBuffer::new(6 << 20);
    let (mss, rows) = MTU_9000;
    let mut sending = sending((mss, rows[0]));
    sending.acked = 0;
    buffer.write(1000);
    assert_eq!(buffer.take(&sending), 1000);
    assert_eq!(buffer.take(&sending), 0);
    buffer.write(5_000_000);
    let mut taken = 1000;
    while taken < 5_001_000 {
        let more = buffer.take(&sending);
        assert!(more > 0 || sending.acked < taken, "{taken}");
        taken += more;
        sending.acked = taken;
    }
    assert_eq!(taken, 5_001_000);
    // Who would write for ever and then stops has written what was taken.
    buffer.write(u64::MAX);
    buffer.take(&sending);
    buffer.shutdown();
    assert_eq!(buffer.written, buffer.accepted);
}

#[test]
fn what_was_acknowledged_was_taken() {
    let mut buffer = SendBuffer::new(16 << 10);
    buffer.write(1 << 20);
    let mut sending = sending((8948, MTU_9000.1[0]));
    sending.acked = 500_000;
    assert!(buffer.take(&sending) > 500_000);
}
