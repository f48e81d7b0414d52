// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the fields of events lie in a record.

use etalon_units::{Span, Time};

use crate::{HostId, Plane, QueueId, RecordError};

/// What fits into a field of a record.
pub(crate) trait Word: Copy {
    fn word(self) -> u64;
    /// The error is for numbers that stand for nothing.
    fn of(word: u64) -> Result<Self, RecordError>;
}

/// Words that all numbers stand for: `to` word, `from` word.
macro_rules! words {
    ($($type:ty: $value:ident => $to:expr, $word:ident => $from:expr;)*) => {
        $(impl Word for $type {
            #[inline]
            fn word(self) -> u64 {
                let $value = self;
                $to
            }

            #[inline]
            fn of($word: u64) -> Result<$type, RecordError> {
                Ok($from)
            }
        })*
    };
}

words! {
    bool: value => value.into(), word => word != 0;
    u8: value => value.into(), word => word as u8;
    u16: value => value.into(), word => word as u16;
    u32: value => value.into(), word => word as u32;
    u64: value => value, word => word;
    Time: value => value.0, word => Time(word);
    Span: value => value.0, word => Span(word);
    Plane: value => value.0.into(), word => Plane(word as u8);
    HostId: value => u64::from(value.rack()) << 16 | u64::from(value.number()),
        word => HostId::new((word >> 16) as u16, word as u16);
    QueueId: value => u64::from(value.at) << 16 | u64::from(value.number),
        word => QueueId { at: (word >> 16) as u16, number: word as u16 };
}

/// An enum whose values are numbered from zero, in order.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $value:ident,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $value,)* }

        impl $name {
            /// All, in the order of their numbers.
            pub const ALL: &'static [$name] = &[$($name::$value,)*];
        }

        impl $crate::place::Word for $name {
            #[inline]
            fn word(self) -> u64 {
                self as u64
            }

            #[inline]
            fn of(word: u64) -> Result<$name, $crate::RecordError> {
                let value = $name::ALL.get(word as usize);
                value.copied().ok_or($crate::RecordError)
            }
        }
    };
}
pub(crate) use numbered;

/// Places that hold a word: what is there in a record of zeros, and how it gets there.
macro_rules! places {
    ($($(#[$doc:meta])* $place:ident: $record:ident => $get:expr, $word:ident => $put:expr;)*) => {
        $($(#[$doc])*
        pub(crate) mod $place {
            use super::Word;
            use crate::{Record, RecordError};

            pub(crate) const IS_DATA: bool = false;

            #[inline]
            pub(crate) fn put<W: Word>($record: &mut Record, value: W) {
                let $word = value.word();
                $put;
            }

            #[inline]
            pub(crate) fn get<W: Word>($record: &Record) -> Result<W, RecordError> {
                W::of($get)
            }
        })*
    };
}

places! {
    a: record => record.a.into(), word => record.a = word as u8;
    a_low: record => (record.a & 15).into(), word => record.a |= word as u8 & 15;
    /// Beside a packet, which has the lower half.
    a_high: record => (record.a >> 4).into(), word => record.a |= (word as u8) << 4;
    b: record => record.b.into(), word => record.b = word as u16;
    c: record => record.c.into(), word => record.c = word as u32;
    d: record => record.d.into(), word => record.d = word as u32;
    d_low: record => u64::from(record.d as u16), word => record.d |= u32::from(word as u16);
    d_high: record => (record.d >> 16).into(), word => record.d |= (word as u32) << 16;
    /// A sending host, the first 256 of a rack: rack in `src`, number in the lower half of `b`.
    src: record => u64::from(record.src) << 16 | u64::from(record.b as u8),
        word => (record.src, record.b) = ((word >> 16) as u16, record.b | u16::from(word as u8));
    /// A receiving host: rack in `dst`, number in the upper half of `b`.
    dst: record => u64::from(record.dst) << 16 | u64::from(record.b >> 8),
        word => (record.dst, record.b) = ((word >> 16) as u16, record.b | u16::from(word as u8) << 8);
    e: record => record.e, word => record.e = word;
    e_low: record => u64::from(record.e as u32), word => record.e |= u64::from(word as u32);
    e_high: record => record.e >> 32, word => record.e |= word << 32;
    /// `c` has the lower half.
    c_d: record => u64::from(record.c) | u64::from(record.d) << 32,
        word => (record.c, record.d) = (word as u32, (word >> 32) as u32);
}

/// The length of the data that follows the record, in `b`.
pub(crate) mod data {
    use crate::{Record, RecordError};

    pub(crate) const IS_DATA: bool = true;

    #[inline]
    pub(crate) fn put(record: &mut Record, len: u16) {
        record.b = len;
    }

    #[inline]
    pub(crate) fn get(record: &Record) -> Result<u16, RecordError> {
        Ok(record.b)
    }
}

/// A rack pair, in `src` and `dst`.
pub(crate) mod racks {
    use crate::{Pair, Record, RecordError};

    pub(crate) const IS_DATA: bool = false;

    #[inline]
    pub(crate) fn put(record: &mut Record, pair: Pair) {
        record.src = pair.src;
        record.dst = pair.dst;
    }

    #[inline]
    pub(crate) fn get(record: &Record) -> Result<Pair, RecordError> {
        Ok(Pair {
            src: record.src,
            dst: record.dst,
        })
    }
}

/// A packet, in all but the upper half of `a`.
pub(crate) mod whole {
    use crate::{PacketHeader, Record, RecordError};

    pub(crate) const IS_DATA: bool = false;

    #[inline]
    pub(crate) fn put(record: &mut Record, packet: PacketHeader) {
        packet.put(record);
    }

    #[inline]
    pub(crate) fn get(record: &Record) -> Result<PacketHeader, RecordError> {
        Ok(PacketHeader::get(record))
    }
}
