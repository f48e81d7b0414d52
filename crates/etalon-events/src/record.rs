// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events as records of 32 bytes.
//!
//! Integers are little-endian. Some kinds of records are followed by data, padded with zeros to whole records
//! ([`Record::data_len`]).

use etalon_units::Time;

/// Length of a record in bytes.
pub const RECORD_BYTES: usize = 32;

/// The most bytes of data that follow a record.
pub const DATA_MAX: u16 = 0xffe0;

/// A record as it is written: what the fields mean depends on the kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Record {
    pub time: Time,
    pub kind: u8,
    pub a: u8,
    pub src: u16,
    pub dst: u16,
    pub b: u16,
    pub c: u32,
    pub d: u32,
    pub e: u64,
}

etalon_scenario::layout!(Record {
    time,
    kind,
    a,
    src,
    dst,
    b,
    c,
    d,
    e,
});

impl Record {
    /// The record's bytes.
    #[must_use]
    #[inline]
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[8] = self.kind;
        bytes[9] = self.a;
        bytes[10..12].copy_from_slice(&self.src.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.dst.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.b.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.c.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.d.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.e.to_le_bytes());
        bytes
    }

    /// The record of these bytes.
    #[must_use]
    #[inline]
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Record {
        let u16_at = |i: usize| u16::from_le_bytes([bytes[i], bytes[i + 1]]);
        let u32_at = |i: usize| u32::from(u16_at(i)) | u32::from(u16_at(i + 2)) << 16;
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        Record {
            time: Time(u64_at(0)),
            kind: bytes[8],
            a: bytes[9],
            src: u16_at(10),
            dst: u16_at(12),
            b: u16_at(14),
            c: u32_at(16),
            d: u32_at(20),
            e: u64_at(24),
        }
    }
}

/// A record that no build writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError;

impl core::fmt::Display for RecordError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the kernel's log contains a record of no known kind")
    }
}

impl core::error::Error for RecordError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counter, DropReason, Event, HostId, PacketHeader, Plane, RecoveryState};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_and_records_are_the_same(bytes in any::<[u8; RECORD_BYTES]>()) {
            prop_assert_eq!(Record::from_bytes(&bytes).to_bytes(), bytes);
        }

        /// What is read from a record makes a record that says the same, whatever else was in it.
        #[test]
        fn every_kind_comes_back_as_it_was(
            bytes in any::<[u8; RECORD_BYTES]>(),
            kind in prop::sample::select(Event::KINDS),
        ) {
            let mut record = Record::from_bytes(&bytes);
            record.kind = kind.1;
            let Ok(event) = Event::of(&record) else {
                // A reason or a counter that there is none of.
                let (number, known) = match kind.0 {
                    "Dropped" => (record.a, DropReason::ALL.len()),
                    "Sender" => (record.a & 15, RecoveryState::ALL.len()),
                    "Lost" => (record.a >> 4, DropReason::ALL.len()),
                    _ => (record.a, Counter::ALL.len()),
                };
                prop_assert!(usize::from(number) >= known, "{:?}", kind);
                return Ok(());
            };
            let back = event.at(record.time);
            prop_assert_eq!((back.kind, back.time), (record.kind, record.time));
            prop_assert_eq!(Event::of(&back), Ok(event));
            prop_assert_eq!(back.data_len(), record.data_len());
        }
    }

    #[test]
    fn kinds_are_numbered_from_one_without_a_gap_and_others_are_errors() {
        let mut numbers: std::vec::Vec<_> = Event::KINDS.iter().map(|kind| kind.1).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=Event::KINDS.len() as u8));
        for kind in [0, Event::KINDS.len() as u8 + 1, 64, 255] {
            let record = Record {
                kind,
                b: 9,
                ..Record::default()
            };
            assert_eq!(Event::of(&record), Err(RecordError));
            assert_eq!(record.data_len(), 0);
        }
    }

    #[test]
    fn the_fields_lie_where_c_has_them() {
        let packet = PacketHeader {
            src: HostId::new(0x0102, 0x06),
            dst: HostId::new(0x0304, 0x05),
            flow: Some(0x45_0708),
            ect: true,
            ece: true,
            payload: 0x090a,
            subflow: 0x0b,
            bytes: 0x0001_0d0e,
            seq: 0x0f10_1112,
            ack: 0x1314_1516,
            ..PacketHeader::default()
        };
        let plane = Plane::CIRCUIT;
        let bytes = Event::Left { packet, plane }
            .at(Time(0x1718_191a_1b1c_1d1e))
            .to_bytes();
        let expected = [
            0x1e, 0x1d, 0x1c, 0x1b, 0x1a, 0x19, 0x18, 0x17, 13, 0x1a, 2, 1, 4, 3, 0x0a, 9, 8, 7, 6,
            5, 0x0e, 0x0d, 0x8b, 0x0b, 0x12, 0x11, 0x10, 0x0f, 0x16, 0x15, 0x14, 0x13,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn data_is_padded_to_whole_records() {
        for (len, padded) in [(0, 0), (1, 32), (32, 32), (33, 64)] {
            assert_eq!(Event::Failure { len }.at(Time(0)).padded_len(), padded);
        }
        assert_eq!(Event::Begin.at(Time(0)).padded_len(), 0);
    }
}
