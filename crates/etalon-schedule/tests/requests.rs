// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits on request: an example worked out by hand, and what holds for any jobs.

use std::collections::{BTreeMap, BTreeSet};

use etalon_scenario::{Ask, Asked, CrossConnect, Pair, Plane, Share};
use etalon_schedule::{Answer, CrossConnected, Granted, Requests};
use etalon_units::{Span, Time};
use proptest::prelude::*;

const US: u64 = 1000;

fn asked(share: Share, [reconfiguration, request, hold]: [u64; 3]) -> Asked {
    Asked {
        reconfiguration: Span(reconfiguration),
        request: Span(request),
        hold: Span(hold),
        share,
        ask: Ask::All,
        ahead: false,
    }
}

fn circuit(src: u16, dst: u16) -> CrossConnect {
    CrossConnect {
        plane: Plane::CIRCUIT,
        pair: Pair { src, dst },
    }
}

/// Notes each change: when, what goes down, what comes up.
#[derive(Default)]
struct Noted(Vec<(u64, Vec<CrossConnect>, Vec<CrossConnect>)>);

impl CrossConnected for Noted {
    fn change(&mut self, now: Time, removed: &[CrossConnect], added: &[CrossConnect], _: Span) {
        self.0.push((now.0, removed.to_vec(), added.to_vec()));
    }
}

/// Lets all happen that is due before `until`.
fn run(requests: &mut Requests, until: u64, noted: &mut Noted) -> Vec<(u64, u32, Granted)> {
    let mut heard = Vec::new();
    while requests.next_event().0 < until {
        let now = requests.next_event();
        let answers = requests.step(now, noted);
        heard.extend(answers.iter().map(|a| (now.0, a.job, a.what)));
    }
    heard
}

/// Job 0 is on racks 0 and 1, job 1 on racks 1 and 2; a ring of four is up. Changes take 10 us, messages 2 us, circuits stay 50 us.
#[test]
fn three_requests_of_two_jobs_by_hand() {
    let ring = (0..4).map(|rack| circuit(rack, (rack + 1) % 4));
    let mut requests = Requests::new(asked(Share::Fair, [10 * US, 2 * US, 50 * US]), ring);
    let mut noted = Noted::default();
    let [mine, other] =
        [[(0, 1), (1, 0)], [(1, 2), (2, 1)]].map(|of| of.map(|(a, b)| circuit(a, b)));
    let up = |(src, dst)| Granted::Up(circuit(src, dst));
    let wanted = |(src, dst)| Granted::Wanted(circuit(src, dst));
    let dark = Span(10 * US);

    requests.ask(Time(0), 0, mine.to_vec());
    requests.ask(Time(US), 1, other.to_vec());
    // At 2 us the first is there: 0>1 is up, 1>0 takes the ports of 1>2 and 3>0. The second finds both of job 0's in its way.
    let heard = run(&mut requests, 20 * US, &mut noted);
    let request = |changed| Granted::Request { changed, dark };
    let expected = [
        (2 * US, 0, request(1)),
        (2 * US, 0, up((0, 1))),
        (5 * US, 0, wanted((1, 0))),
        (5 * US, 0, wanted((0, 1))),
        (12 * US, 0, up((1, 0))),
    ];
    assert_eq!(heard, expected);
    // Job 0 gives both back, and asks again: it waits behind job 1, which has had less.
    requests.release(Time(20 * US), 0, mine.to_vec());
    requests.ask(Time(30 * US), 0, mine.to_vec());
    // 0>1 stays until 52 us, 1>0 until 62 us: 50 us from when it was up.
    let heard = run(&mut requests, 80 * US, &mut noted);
    let expected = [
        (62 * US, 1, request(2)),
        (64 * US, 1, wanted((2, 1))),
        (64 * US, 1, wanted((1, 2))),
        (72 * US, 1, up((1, 2))),
        (72 * US, 1, up((2, 1))),
    ];
    assert_eq!(heard, expected);
    // Given back at 80 us, they stay until 122 us.
    requests.release(Time(80 * US), 1, other.to_vec());
    let heard = run(&mut requests, 200 * US, &mut noted);
    let expected = [
        (122 * US, 0, request(2)),
        (132 * US, 0, up((0, 1))),
        (132 * US, 0, up((1, 0))),
    ];
    assert_eq!(heard, expected);
    let changes = [
        (
            2 * US,
            vec![circuit(1, 2), circuit(3, 0)],
            vec![circuit(1, 0)],
        ),
        (
            62 * US,
            vec![circuit(0, 1), circuit(1, 0), circuit(2, 3)],
            other.to_vec(),
        ),
        (122 * US, other.to_vec(), mine.to_vec()),
    ];
    assert_eq!(noted.0, changes);
}

#[test]
fn what_is_asked_for_again_on_the_way_of_its_release_is_kept() {
    let mut requests = Requests::new(asked(Share::Fifo, [0, 2, 0]), std::iter::empty());
    let mut noted = Noted::default();
    requests.ask(Time(0), 0, vec![circuit(0, 1)]);
    run(&mut requests, 10, &mut noted);
    requests.ask(Time(10), 0, vec![circuit(0, 1), circuit(2, 3)]);
    requests.release(Time(11), 0, vec![circuit(0, 1)]); // has not heard of the grant at 12
    run(&mut requests, 20, &mut noted);
    requests.ask(Time(20), 1, vec![circuit(0, 2)]);
    let heard = run(&mut requests, 40, &mut noted);
    let wanted = |(src, dst)| (24, 0, Granted::Wanted(circuit(src, dst)));
    assert_eq!(heard, [wanted((0, 1))]);
}

/// A job of the model: it asks for some circuits, uses them for some time once all are up, gives them back, and thinks. It may keep
/// those that it asks for next, until another job wants them.
#[derive(Clone, Debug)]
struct Client {
    asks: Vec<Use>,
    keeps: bool,
}

/// Circuits, how long they are used, and how long the client thinks afterwards.
type Use = (Vec<(u16, u16)>, u64, u64);
/// The longest use, and the longest thought.
const LONG: u64 = 200;

/// What a client is doing.
#[derive(Debug, Default)]
struct State {
    next: usize,
    asked: u64,
    missing: usize,
    /// Circuits that it may use.
    has: BTreeSet<CrossConnect>,
    /// Its request is granted, and it has not used the circuits yet.
    busy: bool,
    wanted: BTreeSet<CrossConnect>,
    wakes: Option<(u64, bool)>,
}

/// The switch of the model: what is up, since when and for which jobs.
#[derive(Default)]
struct Model {
    circuits: BTreeMap<CrossConnect, (u64, u64)>,
    used: BTreeMap<CrossConnect, u32>,
    hold: u64,
}

impl CrossConnected for Model {
    fn change(&mut self, now: Time, removed: &[CrossConnect], added: &[CrossConnect], dark: Span) {
        for one in removed {
            let (up, held) = self
                .circuits
                .remove(one)
                .expect("only what is up goes down");
            assert!(up <= now.0 && held <= now.0, "{one} is held until {held}");
            assert_eq!(self.used.get(one).copied().unwrap_or(0), 0, "{one} is used");
        }
        for &one in added {
            let mut ports = self.circuits.keys().map(|other| other.pair);
            let taken = ports.any(|other| other.src == one.pair.src || other.dst == one.pair.dst);
            assert!(!taken, "a port of {one} is taken");
            let up = now.0 + dark.0;
            self.circuits.insert(one, (up, up + self.hold));
        }
    }
}

const RACKS: u16 = 5;

fn matching() -> impl Strategy<Value = Vec<(u16, u16)>> {
    let racks: Vec<u16> = (0..RACKS).collect();
    let shuffled = Just(racks).prop_shuffle();
    (shuffled, 1..=usize::from(RACKS)).prop_map(|(to, count)| {
        let pairs = (0..RACKS).zip(to).filter(|(src, dst)| src != dst);
        let mut pairs: Vec<(u16, u16)> = pairs.take(count).collect();
        if pairs.is_empty() {
            pairs.push((0, 1));
        }
        pairs
    })
}

fn client() -> impl Strategy<Value = Client> {
    let ask = (matching(), 0..LONG, 0..LONG);
    let asks = prop::collection::vec(ask, 1..20);
    (asks, any::<bool>()).prop_map(|(asks, keeps)| Client { asks, keeps })
}

/// A client hears an answer: how long its request has waited, if it is granted.
fn hear(
    now: u64,
    Answer { job, what }: Answer,
    states: &mut [State],
    clients: &[Client],
    model: &mut Model,
    requests: &mut Requests,
) -> u64 {
    let (state, client) = (&mut states[job as usize], &clients[job as usize]);
    match what {
        Granted::Request { .. } => {
            state.busy = true;
            state.wanted.clear();
            return now - state.asked;
        }
        Granted::Up(one) => {
            let (up, held) = model.circuits.get_mut(&one).expect("it is up");
            assert!(*up <= now, "{one} is dark");
            *held = now + model.hold;
            *model.used.entry(one).or_default() += u32::from(state.has.insert(one));
            state.missing -= 1;
            if state.missing == 0 {
                state.wakes = Some((now + client.asks[state.next].1, true));
            }
        }
        Granted::Wanted(one) if state.busy => {
            state.wanted.insert(one);
        }
        Granted::Wanted(one) => {
            if state.has.remove(&one) {
                *model.used.get_mut(&one).expect("used") -= 1;
                requests.release(Time(now), job, vec![one]);
            }
        }
    }
    0
}

/// How long each request waited at most, when all clients are done.
fn longest_wait(clients: &[Client], config: Asked) -> u64 {
    let mut model = Model {
        hold: config.hold.0,
        ..Model::default()
    };
    let mut requests = Requests::new(config, std::iter::empty());
    let mut states: Vec<State> = clients.iter().map(|_| State::default()).collect();
    for state in &mut states {
        state.wakes = Some((0, false));
    }
    let mut longest = 0;
    loop {
        let wakes = states.iter().filter_map(|state| state.wakes.map(|w| w.0));
        let wake = wakes.min().unwrap_or(u64::MAX);
        let due = requests.next_event().0;
        if wake == u64::MAX && due == u64::MAX {
            break;
        }
        if due <= wake {
            for answer in requests.step(Time(due), &mut model) {
                let waited = hear(due, answer, &mut states, clients, &mut model, &mut requests);
                longest = longest.max(waited);
            }
            continue;
        }
        for (job, state) in states.iter_mut().enumerate() {
            let Some((_, releases)) = state.wakes.filter(|w| w.0 == wake) else {
                continue;
            };
            if releases {
                let client = &clients[job];
                state.wakes = Some((wake + client.asks[state.next].2, false));
                state.next += 1;
                let next = client.asks.get(state.next).filter(|_| client.keeps);
                let kept = |one: &CrossConnect| {
                    let pair = (one.pair.src, one.pair.dst);
                    next.is_some_and(|next| next.0.contains(&pair)) && !state.wanted.contains(one)
                };
                let (has, back) = state.has.iter().copied().partition(kept);
                (state.has, state.busy) = (has, false);
                for one in &back {
                    *model.used.get_mut(one).expect("used") -= 1;
                }
                requests.release(Time(wake), job as u32, Vec::from_iter::<BTreeSet<_>>(back));
            } else if let Some((pairs, _, _)) = clients[job].asks.get(state.next) {
                let circuits: Vec<_> = pairs.iter().map(|&(a, b)| circuit(a, b)).collect();
                (state.asked, state.missing, state.wakes) = (wake, circuits.len(), None);
                requests.ask(Time(wake), job as u32, circuits);
            } else {
                state.wakes = None;
            }
        }
    }
    for (state, client) in states.iter().zip(clients) {
        assert_eq!(state.next, client.asks.len(), "a request was never granted");
    }
    longest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What goes down has been up for its least time and nobody uses it, nothing is used while it is dark, and every request is granted
    /// within the bound of docs/jobs.md, 'How long a request waits': each job has a turn, of which one begins when the one before is
    /// granted. If the share is fair, others go first for as long as the job has had circuits since its last grant.
    #[test]
    fn each_request_is_granted_within_the_bound(
        clients in prop::collection::vec(client(), 1..5),
        times in [0..50_u64, 0..20_u64, 0..100_u64],
        fair in any::<bool>(),
    ) {
        let share = if fair { Share::Fair } else { Share::Fifo };
        let [reconfiguration, request, hold] = times;
        let longest = longest_wait(&clients, asked(share, times));
        let turn = (reconfiguration + hold).max(reconfiguration.max(request) + LONG + request);
        let had = u64::from(RACKS) * (reconfiguration + 2 * LONG + request);
        let bound = request + u64::from(fair) * had + clients.len() as u64 * turn;
        prop_assert!(longest <= bound, "{longest} of {bound}");
    }
}
