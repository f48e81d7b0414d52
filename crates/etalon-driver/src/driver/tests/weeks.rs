// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weeks that are computed from demand, and runs that end early.

use core::net::Ipv4Addr;

use alloc::string::{String, ToString};
use etalon_adu::Kind;
use etalon_events::Plane;
use etalon_scenario::{Control, Estimator};
use etalon_units::Bytes;

use super::*;

const WEEK: u64 = 100_000;

/// Weeks of 100 us of the network of `setup`, with programs that report.
fn computed(scheduler: &str) -> Setup {
    changed(|s| {
        s.flows.clear();
        s.warmup = Span(50_000);
        set_control(s, scheduler);
    })
}

fn set_control(scenario: &mut Scenario, scheduler: &str) {
    let racks = scenario.hosts.racks;
    let idle = Configuration {
        matching: Matching::idle(racks),
        day: Span(WEEK - 10_000),
        night: Span(10_000),
        plane: Plane::CIRCUIT,
    };
    scenario.schedule = Some(Weeks {
        asked: None,
        changes: Vec::new(),
        first: Schedule::new(vec![idle]).unwrap(),
        control: Some(Control {
            scheduler: scheduler.into(),
            estimator: Estimator::Adu { report: Span::ZERO },
            window: Span(WEEK),
            min_day: Span(40_000),
            night: Span(10_000),
            threshold: Bytes(1),
            only_big: false,
            compute: Span::ZERO,
            interval: Span::ZERO,
        }),
    });
}

/// The client of a connection from host 0 to host 2.
fn syn() -> Sent {
    Sent {
        tcp: true,
        syn: true,
        ports: (40_000, 80),
        ..packet(1, 2, 66)
    }
}

fn report(total: u64) -> [u8; etalon_adu::LEN] {
    let at = |rack, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, rack, 1), port);
    let report = Report {
        kind: Kind::Written,
        src: at(0, 40_000),
        dst: at(1, 80),
        writer: 1,
        total,
    };
    report.encode()
}

/// The log of a run in which a program's report of a megabyte comes at `time`.
fn reported(time: u64) -> Vec<(Time, Event)> {
    let env = Listener::default();
    let mut driver = Driver::new(computed("max-weight")).unwrap();
    driver.start(EPOCH);
    assert!(driver.send(EPOCH, 0, &syn(), &env));
    driver.report(EPOCH + time, &report(1_000_000), &env);
    driver.report(
        EPOCH + time,
        b"no report at all, of which there are many",
        &env,
    );
    driver.advance(EPOCH + 2 * WEEK + 1, &env);
    env.events()
}

#[test]
fn a_week_is_computed_of_what_was_said_before() {
    let log = reported(WEEK - 1);
    let at = |wanted: Event| log.iter().position(|&(_, event)| event == wanted);
    let pair = Pair { src: 0, dst: 1 };
    let first = at(Event::Demanded {
        pair,
        bytes: 1_000_000,
    });
    let expected = [
        Event::PlannedDay {
            day: Span(WEEK - 10_000),
            night: Span(10_000),
        },
        Event::PlannedCircuit { pair },
        Event::Computed { time: Time(WEEK) },
    ];
    let first = first.expect("the demand");
    // Max-weight gives racks without demand their circuits as well.
    let week: Vec<_> = log[first..]
        .iter()
        .take_while(|(time, _)| time.0 == WEEK)
        .collect();
    for event in expected {
        assert!(
            week.contains(&&(Time(WEEK), event)),
            "{event:?} in {week:?}"
        );
    }
    // The switch adopts it at once, for its week ends at this instant.
    let computed = at(expected[2]);
    assert!(computed < at(Event::Week { week: 1 }), "{log:?}");
    let plane = Plane::CIRCUIT;
    let up = Event::Circuit {
        pair,
        plane,
        up: true,
    };
    assert!(log.contains(&(Time(WEEK), up)));
}

#[test]
fn what_is_said_at_that_instant_comes_too_late() {
    let log = reported(WEEK);
    let of_demand = |(time, event): &(Time, Event)| match event {
        Event::Demanded { .. } => Some(*time),
        _ => None,
    };
    assert_eq!(log.iter().find_map(of_demand), Some(Time(2 * WEEK)));
}

/// A kernel that hears sentences.
#[derive(Default)]
struct Failing {
    sentences: RefCell<Vec<(Time, String)>>,
    records: Cell<u32>,
}

impl Kernel for Failing {
    fn log(&self, _: &Record) {
        self.records.set(self.records.get() + 1);
    }
    fn capture(&self, _: Time, _: u64, _: u16) {}
    fn mark(&self, _: u64, _: bool, _: bool) {}
    fn deliver(&self, _: u64, _: u32) {}
    fn discard(&self, _: u64) {}
    fn nic_free(&self, _: u64, _: u32) {}

    fn notification(&self, _: u32, _: u16, _: u8) -> Option<NonZero<u64>> {
        None
    }
    fn ask(&self, _: &Record) -> Vec<u8> {
        Vec::new()
    }
    fn open(&self, _: u32) {}
    fn write(&self, _: u32, _: u64) {}
    fn close(&self, _: u32) {}
    fn granted(&self, _: u32, _: u32) {}
    fn milestone(&self, _: Time, _: Milestone) {}
    fn fail(&self, now: Time, sentence: fmt::Arguments<'_>) {
        self.sentences
            .borrow_mut()
            .push((now, sentence.to_string()));
    }
}

#[test]
fn a_scheduler_without_a_week_ends_the_run_with_a_sentence() {
    let mut setup = computed("strobe");
    setup.scenario.hosts.racks = 4;
    set_control(&mut setup.scenario, "strobe");
    let env = Failing::default();
    let mut driver = Driver::new(setup).unwrap();
    driver.start(EPOCH);
    driver.advance(EPOCH + 5 * WEEK, &env);
    let expected = "No week can be computed at 0ns: 3 days and nights need a window of 150us, \
                    which is longer than 100us.";
    assert_eq!(*env.sentences.borrow(), [(Time(0), expected.to_string())]);
    let records = env.records.get();
    assert_eq!(driver.next(), u64::MAX);
    driver.advance(EPOCH + 9 * WEEK, &env);
    assert!(!driver.send(EPOCH + 9 * WEEK, 0, &syn(), &env));
    assert_eq!(env.records.get(), records);
}

#[test]
fn a_controller_that_cannot_be_is_refused() {
    let error = Driver::new(computed("sostice")).map(|_| ()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("there is no scheduler 'sostice'"),
        "{said}"
    );
}

#[test]
fn a_run_may_end_with_its_last_flow() {
    for (over_at, begin) in [(50_001, 50_001), (300_001, 100_000)] {
        for ends in [false, true] {
            let env = Listener::default();
            let setup = changed(|s| s.end_when_done = ends);
            let mut driver = Driver::new(setup).unwrap();
            driver.start(EPOCH);
            driver.flows_are_over(EPOCH + over_at, &env);
            while driver.next() < u64::MAX {
                let next = driver.next();
                driver.advance(next, &env);
            }
            driver.finish(EPOCH + 2_000_000, &env);
            let (begin, end) = match ends {
                true => (begin, over_at),
                false => (100_000, 1_000_000),
            };
            let events = env.events();
            assert!(events.contains(&(Time(begin), Event::Begin)));
            let last = (Time(end), Event::End { complete: true });
            assert_eq!(events.last(), Some(&last));
        }
    }
}
