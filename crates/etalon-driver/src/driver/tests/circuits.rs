// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that ask for circuits.

use alloc::string::String;

use etalon_scenario::{Ask, Asked, Program, Share};

use super::*;

const US: u64 = 1_000;

/// Circuits are asked for, and there is a program; the one from rack 0 to rack 1 is up.
fn with_requests() -> Setup {
    changed(|scenario| {
        scenario.programs = vec![Program {
            rack: 0,
            host: 0,
            command: vec![String::from("prog")],
            start: Time::ZERO,
            env: Vec::new(),
        }];
        let weeks = scenario.schedule.as_mut().unwrap();
        weeks.asked = Some(Asked {
            reconfiguration: Span(10 * US),
            request: Span(2 * US),
            hold: Span(50 * US),
            share: Share::Fair,
            ask: Ask::All,
            ahead: false,
        });
    })
}

/// The same with three racks.
fn with_three_racks() -> Setup {
    let mut setup = with_requests();
    setup.scenario.hosts.racks = 3;
    let weeks = setup.scenario.schedule.as_mut().unwrap();
    let day = Configuration {
        matching: Matching::new(vec![None, Some(0), None]).unwrap(),
        day: Span(90 * US),
        night: Span::ZERO,
        plane: Plane::CIRCUIT,
    };
    weeks.first = Schedule::new(vec![day]).unwrap();
    setup
}

/// When the kernel heard that a claim is granted, with how many circuits changed.
fn granted(env: &Listener) -> Vec<(u64, u32, u32)> {
    let said = env.said.borrow();
    let times = env.times.borrow();
    let all = said.iter().zip(times.iter());
    all.filter_map(|(said, &time)| match *said {
        Said::Granted(claim, changed) => Some((time - EPOCH, claim, changed)),
        _ => None,
    })
    .collect()
}

/// Advances to `until`, timer by timer.
fn advance(driver: &mut Driver, until: u64, env: &Listener) {
    while driver.next() <= EPOCH + until {
        env.clock.set(driver.next());
        driver.advance(driver.next(), env);
    }
    env.clock.set(EPOCH + until);
}

#[test]
fn a_request_is_granted_after_its_way_and_the_change() {
    let env = Listener::default();
    let mut driver = Driver::new(with_requests()).unwrap();
    driver.start(EPOCH);
    advance(&mut driver, 5 * US, &env);
    let claim = |driver: &mut Driver, at, number, text: &str| {
        driver.claim(EPOCH + at, (number, 3), text.as_bytes(), &env)
    };
    claim(&mut driver, 5 * US, 0, "r1>r0").unwrap();
    claim(&mut driver, 6 * US, 1, "r0>r1").unwrap();
    let early = Err("the circuits of the request before are not up yet".into());
    assert_eq!(claim(&mut driver, 7 * US, 1, "r0>r1"), early);
    // Granted at 7 us, and dark until 17 us: not before that.
    advance(&mut driver, 12 * US, &env);
    assert_eq!(claim(&mut driver, 12 * US, 0, "r1>r0"), early);
    advance(&mut driver, 30 * US, &env);
    // What is there needs no change.
    assert_eq!(granted(&env), [(8 * US, 1, 0), (17 * US, 0, 1)]);
    let changing = Event::Changing {
        pair: Pair { src: 1, dst: 0 },
        plane: Plane::CIRCUIT,
        by: 3,
        program: true,
        asked: Time(5 * US),
    };
    assert!(env.events().contains(&(Time(7 * US), changing)));
}

#[test]
fn a_claim_that_nobody_has_gives_its_circuits_back() {
    let env = Listener::default();
    let mut driver = Driver::new(with_three_racks()).unwrap();
    driver.start(EPOCH);
    driver.claim(EPOCH, (0, 0), b"r0>r1", &env).unwrap();
    advance(&mut driver, 100 * US, &env);
    // Claim 0 has the port for as long as it likes; claim 2 dies before it has anything.
    driver
        .claim(EPOCH + 100 * US, (1, 0), b"r0>r2", &env)
        .unwrap();
    driver
        .claim(EPOCH + 101 * US, (2, 0), b"r2>r1", &env)
        .unwrap();
    driver.give_up(EPOCH + 102 * US, 2, &env);
    advance(&mut driver, 300 * US, &env);
    assert_eq!(granted(&env), [(2 * US, 0, 0)]);
    driver.give_up(EPOCH + 300 * US, 0, &env);
    advance(&mut driver, 400 * US, &env);
    // Two microseconds to say so, and ten to change.
    assert_eq!(granted(&env)[1..], [(312 * US, 1, 1)]);
    driver
        .claim(EPOCH + 400 * US, (3, 0), b"r1>r1", &env)
        .unwrap_err();
}

/// Two ranks of a collective are one to the controller: who waits between them does not part them.
#[test]
fn claims_of_one_name_are_one_request() {
    let env = Listener::default();
    let mut driver = Driver::new(with_three_racks()).unwrap();
    driver.start(EPOCH);
    let claim = |driver: &mut Driver, at, number, text: &str| {
        advance(driver, at, &env);
        driver.claim(EPOCH + at, (number, 0), text.as_bytes(), &env)
    };
    let ring = "as ring 1\nr0>r1";
    claim(&mut driver, 0, 0, ring).unwrap();
    claim(&mut driver, 100 * US, 1, "r2>r1").unwrap();
    // The second rank comes late, and does not wait behind claim 1, which waits for both ranks.
    claim(&mut driver, 150 * US, 2, ring).unwrap();
    assert_eq!(granted(&env), [(2 * US, 0, 0), (150 * US, 2, 0)]);
    let other = claim(&mut driver, 160 * US, 3, "as ring 1\nr1>r0").unwrap_err();
    assert!(other.contains("other circuits under the same name"));
    for number in [0, 2] {
        let again = claim(&mut driver, 170 * US, number, "r1>r0").unwrap_err();
        assert!(again.contains("shared: open another"));
    }
    // When the first leaves, the second keeps the circuit.
    driver.give_up(EPOCH + 200 * US, 0, &env);
    advance(&mut driver, 300 * US, &env);
    assert_eq!(granted(&env).len(), 2);
    driver.give_up(EPOCH + 300 * US, 2, &env);
    // The same name again is another request now, behind claim 1.
    claim(&mut driver, 301 * US, 4, ring).unwrap();
    advance(&mut driver, 400 * US, &env);
    assert_eq!(granted(&env)[2..], [(312 * US, 1, 1)]);
    driver.give_up(EPOCH + 400 * US, 1, &env);
    advance(&mut driver, 500 * US, &env);
    assert_eq!(granted(&env)[3..], [(412 * US, 4, 1)]);
}

#[test]
fn where_circuits_follow_a_schedule_nobody_can_ask() {
    let mut driver = Driver::new(setup()).unwrap();
    driver.start(EPOCH);
    let refused = driver.claim(EPOCH, (0, 0), b"r0>r1", &Listener::default());
    assert!(
        refused
            .unwrap_err()
            .contains("circuits follow the schedule")
    );
}
