// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every cell of the table.
use super::*;

const STATES: [State; 5] = [
    State::Open,
    State::LimitedTransmit,
    State::Cwr,
    State::FastRecovery,
    State::Timeout,
];

const REACHES: [Reach; 4] = [
    Reach::DuplicateAck,
    Reach::PartialAck,
    Reach::FullAck,
    Reach::PastPoint,
];

const EVIDENCE: [Evidence; 4] = [
    Evidence::Eifel { in_flight: true },
    Evidence::Eifel { in_flight: false },
    Evidence::Dsack,
    Evidence::Frto,
];

fn facts() -> Vec<Fact> {
    let mut facts = vec![
        Fact::Reneged,
        Fact::NewDataFirst,
        Fact::Lost,
        Fact::RetransmissionLost,
        Fact::Overdue,
        Fact::EcnEcho,
        Fact::Missing,
        Fact::NothingMissing,
    ];
    facts.extend(REACHES.map(Fact::Ack));
    for by in EVIDENCE {
        facts.extend(REACHES.map(|reach| Fact::SpuriousReduction(by, reach)));
    }
    for (covered, again) in [(false, false), (false, true), (true, false), (true, true)] {
        facts.push(Fact::RtoExpired { covered, again });
    }
    facts
}

fn cells() -> impl Iterator<Item = (State, Fact, bool)> {
    let with = |sack| {
        STATES
            .into_iter()
            .flat_map(move |state| facts().into_iter().map(move |fact| (state, fact, sack)))
    };
    with(false).chain(with(true))
}

/// The state after an action that is carried out in `state`.
fn after(state: State, action: Action) -> State {
    match action {
        Action::EndCwr
        | Action::EndFastRecovery
        | Action::EndTimeout
        | Action::UndoAtEnd
        | Action::UndoTimeout { ends: true } => State::Open,
        Action::UndoAndJudgeAgain | Action::UndoWithin => State::LimitedTransmit,
        Action::BeginFastRecovery => State::FastRecovery,
        Action::BeginCwr => State::Cwr,
        Action::BeginTimeout { .. } => State::Timeout,
        Action::FollowEvidence(state) => state,
        Action::Nothing
        | Action::ForgetEpisode
        | Action::ForgetRepaired
        | Action::GiveGrace
        | Action::AwaitMore
        | Action::UndoAndAwaitMore
        | Action::Repair
        | Action::AwaitRetransmissions
        | Action::UndoLate
        | Action::UndoTimeout { ends: false } => state,
    }
}

fn undoes(action: Action) -> bool {
    matches!(
        action,
        Action::UndoAndAwaitMore
            | Action::UndoAndJudgeAgain
            | Action::UndoWithin
            | Action::UndoAtEnd
            | Action::UndoLate
            | Action::UndoTimeout { .. }
    )
}

/// Whether the threshold may fall.
fn reduces(action: Action) -> bool {
    matches!(
        action,
        Action::BeginFastRecovery | Action::BeginCwr | Action::BeginTimeout { reduces: true, .. }
    )
}

#[test]
fn only_what_shows_a_reduction_needless_undoes_one() {
    for (state, fact, sack) in cells() {
        let (action, _) = transition(state, fact, sack);
        let spurious = matches!(fact, Fact::SpuriousReduction(..));
        assert!(!undoes(action) || spurious, "{state:?} {fact:?}");
        assert!(!undoes(action) || state != State::Cwr, "{state:?} {fact:?}");
    }
}

#[test]
fn only_losses_marks_and_timeouts_reduce_and_never_twice_for_one_window() {
    for (state, fact, sack) in cells() {
        let (action, _) = transition(state, fact, sack);
        if !reduces(action) {
            continue;
        }
        match fact {
            // What begins within a reduction for ECE does not reduce again: `episode.rs` asks the state.
            Fact::Lost => assert!(state <= State::Cwr),
            Fact::EcnEcho => assert!(state <= State::LimitedTransmit),
            Fact::Overdue => assert_ne!(state, State::FastRecovery),
            Fact::RetransmissionLost => assert_eq!(state, State::Timeout),
            Fact::RtoExpired { covered, again } => {
                let within = state > State::LimitedTransmit && !covered;
                assert!(!within || state == State::Timeout && !again);
            }
            _ => panic!("{state:?} {fact:?} {action:?}"),
        }
    }
}

#[test]
fn an_episode_ends_at_its_point_or_as_needless_and_becomes_another_only_for_what_is_worse() {
    for (state, fact, sack) in cells() {
        let next = after(state, transition(state, fact, sack).0);
        if state > State::LimitedTransmit && next < state {
            let by_reach = match fact {
                Fact::Ack(reach) => {
                    reach == Reach::PastPoint
                        || reach == Reach::FullAck && sack && state != State::Cwr
                }
                Fact::SpuriousReduction(..) => state != State::Cwr || next == State::Open,
                Fact::RetransmissionLost | Fact::Overdue => {
                    (state, next) == (State::Timeout, State::FastRecovery)
                }
                _ => false,
            };
            assert!(by_reach, "{state:?} {fact:?} {sack} -> {next:?}");
        }
        if next > state && next > State::LimitedTransmit {
            let expected = match fact {
                Fact::Lost | Fact::Overdue => State::FastRecovery,
                Fact::EcnEcho => State::Cwr,
                Fact::RtoExpired { .. } => State::Timeout,
                _ => panic!("{state:?} {fact:?} -> {next:?}"),
            };
            assert_eq!(next, expected);
        }
    }
}

#[test]
fn without_sack_no_episode_ends_exactly_at_its_point() {
    for (state, fact, _) in cells() {
        let full = match fact {
            Fact::Ack(Reach::FullAck) => true,
            Fact::SpuriousReduction(by, Reach::FullAck) => by != Evidence::Frto,
            _ => false,
        };
        if full && matches!(state, State::FastRecovery | State::Timeout) {
            let (action, rest) = transition(state, fact, false);
            assert_eq!(after(state, action), state, "{fact:?}");
            assert_ne!(rest, Rest::Everything, "{fact:?}");
        }
    }
}

#[test]
fn every_timeout_is_answered_and_the_receiver_that_reneges_is_given_grace() {
    for (state, fact, sack) in cells() {
        let cell = transition(state, fact, sack);
        match fact {
            Fact::RtoExpired { .. } => assert_eq!(after(state, cell.0), State::Timeout),
            Fact::Reneged => assert_eq!(cell, (Action::GiveGrace, Rest::Nothing)),
            _ => assert!(!matches!(
                cell.0,
                Action::BeginTimeout { .. } | Action::GiveGrace
            )),
        }
    }
}

/// RFC 5681, section 3.1, of one segment that is lost again and again.
#[test]
fn the_threshold_falls_with_the_first_timeout_and_is_held_with_those_that_follow() {
    let expired = |state, covered, again| {
        let fact = Fact::RtoExpired { covered, again };
        matches!(
            transition(state, fact, true).0,
            Action::BeginTimeout { reduces: true, .. }
        )
    };
    for state in [State::Open, State::LimitedTransmit] {
        assert!(expired(state, false, false));
    }
    for state in [State::Cwr, State::FastRecovery] {
        assert!(!expired(state, false, false) && expired(state, true, false));
    }
    assert!(!expired(State::Timeout, false, true));
    assert!(expired(State::Timeout, false, false), "something arrived");
    assert!(expired(State::Timeout, true, true), "another window");
}

#[test]
fn what_ends_at_the_point_is_told_apart_by_state() {
    let end = |state| transition(state, Fact::Ack(Reach::PastPoint), true).0;
    assert_eq!(end(State::Cwr), Action::EndCwr);
    assert_eq!(end(State::FastRecovery), Action::EndFastRecovery);
    assert_eq!(end(State::Timeout), Action::EndTimeout);
    // ECE is about a window of data, of which the last is at the point.
    let full = transition(State::Cwr, Fact::Ack(Reach::FullAck), true).0;
    assert_eq!(full, Action::Nothing);
}

#[test]
fn eifel_waits_for_retransmissions_within_an_episode_only() {
    for in_flight in [false, true] {
        let by = Evidence::Eifel { in_flight };
        let cell = |reach| {
            transition(
                State::FastRecovery,
                Fact::SpuriousReduction(by, reach),
                true,
            )
        };
        let within = if in_flight {
            (Action::AwaitRetransmissions, Rest::Nothing)
        } else {
            (Action::UndoAndJudgeAgain, Rest::Losses)
        };
        assert_eq!(cell(Reach::PartialAck), within);
        assert_eq!(
            cell(Reach::PastPoint),
            (Action::UndoAtEnd, Rest::Everything)
        );
    }
}
