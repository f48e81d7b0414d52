// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Linux 6.1 does beyond the RFCs when it sends: one named behaviour each, in one place. `DEVIATIONS.md` says for each of them
//! what the RFC asks for and which test or command shows it.

use crate::cc::Window;
use crate::sending::record::Record;
use crate::sending::recovery::DUP_THRESH;
use crate::sending::rtt::Rtt;
use crate::timers::Clock;

/// Largest degree of reordering that is believed, in segments.
pub(crate) const MOST_REORDERING: u32 = 300;

/// Shortest time that a receiver which takes back SACKs is given, in nanoseconds.
const LEAST_GRACE: u64 = 10_000_000;

/// Growth in slow start: half of the window used is enough (RFC 7661 wants it to limit the sender).
#[inline]
pub(crate) fn half_used_in_slow_start(window: &Window, most_outstanding: u32) -> bool {
    window.in_slow_start() && window.cwnd < 2 * most_outstanding
}

/// The window after a timeout: what is still believed in flight, and one segment (RFC 5681, section 3.1: one segment).
pub(crate) fn loss_window(in_flight: u32) -> u32 {
    in_flight + 1
}

/// After a timeout what was sent within RACK's latest RTT is not lost yet (RFC 8985, section 6.3, without its reordering window).
pub(crate) fn may_still_arrive(record: &Record, rack_rtt: u32, now_us: u64) -> bool {
    record.sent() + u64::from(rack_rtt) > now_us
}

/// A receiver that takes back SACKs is given half an RTT to correct itself, then a timeout clears the marks (RFC 2018, section 5,
/// waits for the regular timeout). Ticks.
pub(crate) fn reneging_grace(clock: &Clock, rtt: &Rtt) -> u64 {
    clock
        .ticks_for_us(u64::from(rtt.srtt() / 2))
        .max(clock.ticks_for_ns(LEAST_GRACE))
}

/// Windows that grow although duplicates arrive: once more reordering was seen than DupThresh (RFC 5681, section 3.2: duplicates do not
/// grow it).
#[inline]
pub(crate) fn sacks_grow_the_window(degree: u32) -> bool {
    degree > DUP_THRESH
}

/// Whether a SACK restarts the timeout (RFC 6298, section 5.3: only what advances SND.UNA does): if its segment was sent before
/// the front was last sent, else the timeout would recede for ever.
pub(crate) fn sack_restarts_timeout(sack_rtt: u64, front_age: u64) -> bool {
    sack_rtt > front_age
}

/// Until data is acknowledged the pacing rate is that of a window of so many segments, whatever the initial window.
pub(crate) const FIRST_PACED: u64 = 10;

/// Pacing rate, in percent of the window over the smoothed RTT: twice in the first half of slow start, 1.2 times otherwise.
pub(crate) fn pacing_percent(window: &Window) -> u64 {
    if window.cwnd < window.ssthresh / 2 {
        200
    } else {
        120
    }
}

/// Segments without payload that are not acceptable are answered once in so many nanoseconds (`tcp_invalid_ratelimit`).
pub(crate) const INVALID_INTERVAL: u64 = 500_000_000;

/// Longest RTT that an echoed timestamp is believed to show, in milliseconds: half an hour.
pub(crate) const LONGEST_RTT_MS: u32 = 1 << 21;

/// Payload of a full segment if the window that the peer first offers is not twice as large: half of it.
pub(crate) fn within_half_of(window: u32, mss: u32) -> u32 {
    if window > LEAST_MSS {
        mss.min(window / 2)
    } else {
        mss
    }
}

/// Payload that every host takes (RFC 9293, section 3.7.1).
const LEAST_MSS: u32 = 536;

/// Whether the last segment, with FIN, goes out although the congestion window is full.
#[inline]
pub(crate) const fn last_ignores_the_window(fin: bool) -> bool {
    fin
}
