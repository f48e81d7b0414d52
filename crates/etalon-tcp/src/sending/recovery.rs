// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loss recovery as a table: what a path does in each state upon each fact ([`transition`]), in the words of the RFCs. It reads
//! nothing and changes nothing; `episode.rs` finds the facts and carries out the actions.
//!
//! The order in which facts are heard follows from what causes what:
//!
//! 1. *What the ACK covers* is taken off the scoreboard first (`digest.rs`): everything else is asked of what remains.
//! 2. *What it says of earlier decisions* comes next, since only what stands of them can be added to: was the reduction needless,
//!    is the episode over? ECE, which vouches for the reduction, is known by then (RFC 4015, section 3.2: "If the acceptable ACK
//!    has the ECN-Echo flag [RFC3168] set, then proceed to step (DONE)").
//! 3. *What is missing* depends on the state: within an episode a loss is expected, outside of one it begins one.
//! 4. *Congestion that was echoed* comes last: "the TCP sender's congestion window should be reduced only once in response to a
//!    series of dropped and/or CE packets from a single window of data" (RFC 3168, section 6.1.2), and a loss asks for more.
//!
//! The cells that no RFC has are named behaviours of Linux (DEVIATIONS.md).

use crate::cc::State;

/// Duplicate ACKs that mean a loss (RFC 5681), and the degree of reordering assumed at first.
pub(crate) const DUP_THRESH: u32 = 3;

/// How far SND.UNA has come, against the recovery point: SND.NXT when the episode began (`RecoveryPoint` of RFC 6675, `recover`
/// of RFC 6582).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It has not moved.
    DuplicateAck,
    /// It has moved, and not to the point.
    PartialAck,
    /// It is at the point.
    FullAck,
    /// Something sent after the episode began is acknowledged.
    PastPoint,
}

/// What shows that a reduction was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The ACK answers an original by its timestamp (RFC 3522); retransmissions of the episode may still be in flight.
    Eifel { in_flight: bool },
    /// Every retransmission arrived as a duplicate (RFC 3708).
    Dsack,
    /// Data that the timeout did not resend has arrived (RFC 5682).
    Frto,
}

/// What a path hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The receiver has taken back SACKs.
    Reneged,
    /// An acknowledgement that says nothing against the reduction.
    Ack(Reach),
    /// An acknowledgement that shows the reduction to have been needless.
    SpuriousReduction(Evidence, Reach),
    /// An acknowledgement after which F-RTO wants new data to be sent (RFC 5682, section 3.1, step 2b).
    NewDataFirst,
    /// A segment charged to the path is deemed lost.
    Lost,
    /// A retransmission is.
    RetransmissionLost,
    /// A segment charged to the path is deemed lost because the reordering timer expired.
    Overdue,
    /// ECE.
    EcnEcho,
    /// Nothing is lost, but something is SACKed or sent again.
    Missing,
    /// Nothing is amiss.
    NothingMissing,
    /// The retransmission timer expired. `covered`: SND.UNA is at the recovery point or beyond; `again`: nothing was
    /// acknowledged since it expired before.
    RtoExpired { covered: bool, again: bool },
}

/// What the path does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    /// Forgets the timestamp of the last episode's first retransmission.
    ForgetEpisode,
    /// Gives the receiver a moment, then a timeout.
    GiveGrace,
    /// Ends a reduction for ECE: the window is the threshold.
    EndCwr,
    /// Ends fast recovery: the window is the threshold.
    EndFastRecovery,
    /// Ends the repair after a timeout: slow start goes on.
    EndTimeout,
    /// Waits for an acknowledgement beyond the recovery point; what was reduced stands.
    AwaitMore,
    /// As `AwaitMore`, but undoes the reduction.
    UndoAndAwaitMore,
    /// Repairs what the timeout marked lost.
    Repair,
    /// Takes note that a segment arrived late, and waits until the episode's retransmissions have landed.
    AwaitRetransmissions,
    /// Undoes the reduction, and what was marked lost is judged again.
    UndoAndJudgeAgain,
    /// Undoes the reduction by DSACKs within the episode, which ends.
    UndoWithin,
    /// Undoes the reduction as the episode ends.
    UndoAtEnd,
    /// Undoes a reduction whose episode is over.
    UndoLate,
    /// Undoes a timeout, and what it marked lost is judged again. `ends`: its repair is over.
    UndoTimeout {
        ends: bool,
    },
    BeginFastRecovery,
    BeginCwr,
    /// `reduces`: the threshold falls. `tests`: F-RTO finds out whether the timeout was spurious.
    BeginTimeout {
        reduces: bool,
        tests: bool,
    },
    /// Limited transmit if anything is missing, else open.
    FollowEvidence(State),
    /// Nothing but to forget what is repaired.
    ForgetRepaired,
}

/// What remains to be heard of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Everything,
    /// What is lost, and nothing else.
    Losses,
    Nothing,
}

/// The table. `sack`: SACK is on; without it RFC 6582 holds in place of RFC 6675.
#[inline(always)]
pub(crate) fn transition(state: State, fact: Fact, sack: bool) -> (Action, Rest) {
    use Action::Nothing;
    let all = |action| (action, Rest::Everything);
    match fact {
        // RFC 2018, section 8: "the data receiver is permitted to discard data in its queue that has not been acknowledged to
        // the data sender"; what it says of the rest is not to be relied on.
        Fact::Reneged => (Action::GiveGrace, Rest::Nothing),
        Fact::Ack(reach) => on_ack(state, reach, sack),
        Fact::SpuriousReduction(by, reach) => on_spurious(state, by, reach, sack),
        // RFC 5682, section 3.1, step 2b: "transmit up to two new (previously unsent) segments and proceed to step 3".
        Fact::NewDataFirst => all(Nothing),
        Fact::Lost => all(on_lost(state)),
        Fact::RetransmissionLost => all(on_retransmission_lost(state)),
        Fact::Overdue => all(on_overdue(state)),
        Fact::EcnEcho => all(on_ecn_echo(state)),
        Fact::Missing => all(at_rest(state, State::LimitedTransmit)),
        Fact::NothingMissing => all(at_rest(state, State::Open)),
        Fact::RtoExpired { covered, again } => {
            all(Action::BeginTimeout {
                reduces: timeout_is_congestion(state, covered, again),
                // RFC 5682, section 3.1, step 1: not while earlier losses are being repaired, but at each further timeout.
                tests: state < State::FastRecovery || again,
            })
        }
    }
}

fn on_ack(state: State, reach: Reach, sack: bool) -> (Action, Rest) {
    use Reach::{DuplicateAck, FullAck, PartialAck, PastPoint};
    let all = |action| (action, Rest::Everything);
    match (state, reach) {
        // RFC 3522, section 3.2, step 1: no episode, no "RetransmitTS".
        (State::Open, _) => all(Action::ForgetEpisode),
        // RFC 3042, section 2: new data goes out on duplicate ACKs, "the congestion window (cwnd) MUST NOT be changed".
        (State::LimitedTransmit, _) => all(Action::Nothing),
        // RFC 3168, section 6.1.2: "TCP should not react to congestion indications more than once every window of data": the
        // window that was reduced is over once something sent after it is acknowledged.
        (State::Cwr, PastPoint) => all(Action::EndCwr),
        (State::Cwr, _) => all(Action::Nothing),
        // RFC 6675, section 5, A: "An incoming cumulative ACK for a sequence number greater than RecoveryPoint signals the end
        // of loss recovery, and the loss recovery phase MUST be terminated." RFC 6582, section 3.2, step 3, full
        // acknowledgements: "Set cwnd to either (1) [...] or (2) ssthresh".
        (State::FastRecovery, PastPoint) => all(Action::EndFastRecovery),
        (State::FastRecovery, FullAck) if sack => all(Action::EndFastRecovery),
        // RFC 6582, section 4: duplicate ACKs that acknowledge up to `recover` only may answer needless retransmissions: without
        // SACK nothing begins before something beyond it is acknowledged.
        (State::FastRecovery, FullAck) => (Action::AwaitMore, Rest::Nothing),
        // RFC 6675, section 5, B: "Upon receipt of an ACK that does not cover RecoveryPoint": the losses that it shows.
        (State::FastRecovery, PartialAck | DuplicateAck) => all(Action::Nothing),
        // RFC 6582, section 3.2, step 4: after a timeout "record the highest sequence number transmitted in the variable
        // recover": its repair lasts as long. RFC 5681, section 3.1: slow start goes on "to the new value of ssthresh".
        (State::Timeout, PastPoint) => all(Action::EndTimeout),
        (State::Timeout, FullAck) if sack => all(Action::EndTimeout),
        (State::Timeout, FullAck) => (Action::AwaitMore, Rest::Losses),
        // RFC 5682, section 3.1: "revert to the conventional RTO recovery": slow start over what is lost.
        (State::Timeout, PartialAck | DuplicateAck) => all(Action::Repair),
    }
}

fn on_spurious(state: State, by: Evidence, reach: Reach, sack: bool) -> (Action, Rest) {
    use Reach::{FullAck, PartialAck, PastPoint};
    let all = |action| (action, Rest::Everything);
    match (state, by, reach) {
        // RFC 3708, section 3: DSACKs for retransmissions come a round trip after them, often when the episode is over.
        (State::Open | State::LimitedTransmit, Evidence::Dsack, _) => all(Action::UndoLate),
        // Timestamps and F-RTO speak of an episode, and ECE of congestion that was real.
        (State::Open | State::LimitedTransmit | State::Cwr, _, _) => on_ack(state, reach, sack),
        // RFC 4015, section 3.2: "Reverse the congestion control state" instead of completing the reduction.
        (State::FastRecovery, _, PastPoint) => all(Action::UndoAtEnd),
        (State::FastRecovery, _, FullAck) if sack => all(Action::UndoAtEnd),
        (State::FastRecovery, _, FullAck) => (Action::UndoAndAwaitMore, Rest::Nothing),
        // RFC 3522, section 3.2, step 4, compares the echoed timestamp with that of the first retransmission: with RACK more was
        // resent meanwhile, whose echoes say more once they are here.
        (State::FastRecovery, Evidence::Eifel { in_flight: true }, PartialAck) => {
            (Action::AwaitRetransmissions, Rest::Nothing)
        }
        (State::FastRecovery, Evidence::Eifel { in_flight: false }, PartialAck) => {
            (Action::UndoAndJudgeAgain, Rest::Losses)
        }
        // RFC 3708, section 3: when all segments that were retransmitted have been reported, the congestion state is as before.
        (State::FastRecovery, Evidence::Dsack, _) => (Action::UndoWithin, Rest::Losses),
        (State::FastRecovery, _, _) => on_ack(state, reach, sack),
        // RFC 5682, section 3.1, step 3b: the timeout is declared spurious; the response is RFC 4015's.
        (State::Timeout, Evidence::Frto, _) => all(Action::UndoTimeout { ends: true }),
        (State::Timeout, _, _) if sack => all(Action::UndoTimeout { ends: true }),
        // RFC 6582, section 4: as above.
        (State::Timeout, _, _) => (Action::UndoTimeout { ends: false }, Rest::Losses),
    }
}

fn on_lost(state: State) -> Action {
    match state {
        // RFC 5681, section 3.2, step 2; RFC 6675, section 5, step 4: RecoveryPoint is recorded, the threshold falls (unless ECE
        // has made it fall within this window of data already: RFC 3168, section 6.1.2), the first loss is resent.
        State::Open | State::LimitedTransmit | State::Cwr => Action::BeginFastRecovery,
        // Within an episode losses of its window are no news.
        State::FastRecovery | State::Timeout => Action::Nothing,
    }
}

fn on_retransmission_lost(state: State) -> Action {
    match state {
        // RFC 5681, section 4.3: "the loss of a retransmission, should be taken as two indications of congestion and, therefore,
        // cwnd (and ssthresh) MUST be lowered twice in this case". In fast recovery proportional rate reduction goes on.
        State::Timeout => Action::BeginFastRecovery,
        _ => Action::Nothing,
    }
}

/// RFC 8985, section 6.2: what the timer finds is a loss as any other; no ACK speaks of a timeout meanwhile.
fn on_overdue(state: State) -> Action {
    match state {
        State::FastRecovery => Action::Nothing,
        _ => Action::BeginFastRecovery,
    }
}

fn on_ecn_echo(state: State) -> Action {
    match state {
        // RFC 3168, section 6.1.2: "The indication of congestion should be treated just as a congestion loss in non-ECN-Capable
        // TCP."
        State::Open | State::LimitedTransmit => Action::BeginCwr,
        // The same: not "more than once every window of data".
        State::Cwr | State::FastRecovery | State::Timeout => Action::Nothing,
    }
}

/// Nothing is lost; `evidence`: the state that the scoreboard shows.
fn at_rest(state: State, evidence: State) -> Action {
    match state {
        // RFC 5681, section 3.2, step 1: limited transmit "on the first and second duplicate ACKs".
        State::Open | State::LimitedTransmit => Action::FollowEvidence(evidence),
        State::Cwr => Action::ForgetRepaired,
        State::FastRecovery | State::Timeout => Action::Nothing,
    }
}

/// RFC 5681, section 3.1: "when a TCP sender detects segment loss using the retransmission timer and the given segment has not yet
/// been resent by way of the retransmission timer", ssthresh falls; else it "is held constant". An episode that has reduced the
/// window for the data in question counts as well.
fn timeout_is_congestion(state: State, covered: bool, again: bool) -> bool {
    match state {
        State::Open | State::LimitedTransmit => true,
        State::Cwr | State::FastRecovery => covered,
        State::Timeout => covered || !again,
    }
}

#[cfg(test)]
mod tests;
