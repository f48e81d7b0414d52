// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why packets are no more.

use crate::place::numbered;

numbered! {
    /// Why a packet was dropped.
    pub enum DropReason {
        /// The queue was full.
        Full,
        /// The queue shrank below the packet's place.
        Shrunk,
        /// The packet found its internal queue and its hold full.
        HoldFull,
        /// The queue of its host's downlink was full.
        DownlinkFull,
        /// The link was down, or no way led on.
        LinkDown,
        /// The circuit was dark: it ended while the packet was sent, or was not up.
        Dark,
        /// The packet had passed more switches than any way has.
        Loop,
    }
}
