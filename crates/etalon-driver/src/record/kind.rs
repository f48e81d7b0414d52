//! The numbers of the kinds of records, as `enum etalon_kind` of kernel/driver/etalon.h has them.

pub(super) const ENQUEUE: u8 = 1;
pub(super) const DEQUEUE: u8 = 2;
pub(super) const HELD: u8 = 3;
pub(super) const DROPPED: u8 = 4;
pub(super) const MARKED: u8 = 5;
pub(super) const RESIZED: u8 = 6;
pub(super) const WEEK: u8 = 7;
pub(super) const DAY: u8 = 8;
pub(super) const NIGHT: u8 = 9;
pub(super) const CIRCUIT: u8 = 10;
pub(super) const DEPARTED: u8 = 11;
pub(super) const ENTERED: u8 = 12;
pub(super) const LEFT: u8 = 13;
pub(super) const LOST: u8 = 14;
pub(super) const BYTES: u8 = 15;
pub(super) const CWND: u8 = 16;
pub(super) const STARTED: u8 = 17;
pub(super) const DONE: u8 = 18;
pub(super) const COUNTER: u8 = 19;
pub(super) const BEGIN: u8 = 20;
pub(super) const END: u8 = 21;
pub(super) const EXITED: u8 = 22;
pub(super) const OUTPUT: u8 = 23;
pub(super) const FAILURE: u8 = 24;
