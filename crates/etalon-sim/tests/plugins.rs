// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user lends to a run: a scheduler, and what makes the flows of generators.

use std::sync::{Arc, Mutex};

use crate::common::*;
use etalon_scenario::HostId;
use etalon_schedule::{CannotSchedule, Demand, MaxWeight, Params, Scheduler};
use etalon_sim::{Begun, Control, Failure, Generators, Plugins, Results, Step};
use etalon_switch::Schedule;
use etalon_units::Time;
use serde_json::{Value, json};

const WEEK: u64 = 2_000_000;

/// MaxWeight, as somebody else's; it fails from a time on.
struct Theirs {
    now: Time,
    fails: Time,
}

impl Scheduler for Theirs {
    fn look_at(&mut self, now: Time) {
        self.now = now;
    }

    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        if self.now >= self.fails {
            return Err(CannotSchedule::Failed);
        }
        MaxWeight.schedule(demand, params)
    }
}

fn computed(scheduler: &str) -> Value {
    let mut plan = strobe(1, 16);
    plan["duration_ns"] = json!(10 * WEEK);
    let idle = json!({"sources": [-1, -1, -1], "day_ns": WEEK - 20_000, "night_ns": 20_000});
    let control = json!({"scheduler": scheduler, "estimator": "voq", "window_ns": WEEK, "min_day_ns": 180_000,
        "night_ns": 20_000, "threshold_bytes": 0, "only_big": false, "compute_ns": 0, "interval_ns": 0});
    plan["schedule"] = json!({"configurations": [idle], "control": control});
    plan
}

fn lent(fails: u64) -> Result<Results, String> {
    let theirs = Theirs {
        now: Time(0),
        fails: Time(fails),
    };
    let plugins = Plugins {
        scheduler: Some(Box::new(theirs)),
        ..Plugins::default()
    };
    let plan = plan(&computed("my.py:theirs"));
    etalon_sim::run_with(&plan, &Control::default(), plugins).map_err(|e| e.to_string())
}

#[test]
fn a_scheduler_that_is_lent_computes_the_weeks() {
    let own = etalon_sim::run(&plan(&computed("max-weight")), &Control::default()).unwrap();
    assert_eq!(lent(u64::MAX).unwrap().meta.digest, own.meta.digest);
}

#[test]
fn a_scheduler_that_fails_or_is_not_there_ends_the_run() {
    let said = "the function of the user failed";
    assert_eq!(lent(3 * WEEK).unwrap_err(), said);
    let plan = plan(&computed("my.py:theirs"));
    let none = etalon_sim::run(&plan, &Control::default());
    assert_eq!(none.unwrap_err().to_string(), said);
}

/// Ten flows, each as the one before is complete, then one at 3 ms.
struct Relay {
    left: u32,
    /// What each call was told.
    ended: Arc<Mutex<Vec<Option<u32>>>>,
}

impl Generators for Relay {
    fn step(&mut self, now: Time, _: usize, ended: Option<u32>) -> Result<Step, Failure> {
        self.ended.lock().unwrap().push(ended);
        let begun = Begun {
            src: HostId::new(0, 0),
            dst: HostId::new(1, 0),
            bytes: 10_000,
            class: String::new(),
        };
        if self.left > 1 || now >= Time(3_000_000) && self.left == 1 {
            self.left -= 1;
            return Ok(Step {
                flows: vec![begun],
                wake: None,
            });
        }
        if self.left == 0 {
            return Err("nothing is left".into());
        }
        Ok(Step {
            flows: Vec::new(),
            wake: Some(Time(3_000_000)),
        })
    }
}

#[test]
fn a_generator_hears_what_is_complete_and_is_woken() {
    let mut value = strobe(1, 16);
    value["duration_ns"] = json!(20_000_000);
    value["flows"] = json!([]);
    value["generators"] = json!([{"start_ns": 1000, "cc": "reno"}]);
    let plan = plan(&value);
    let ended = Arc::<Mutex<Vec<_>>>::default();
    let run = |left| {
        let relay = Relay {
            left,
            ended: ended.clone(),
        };
        let plugins = Plugins {
            generators: Some(Box::new(relay)),
            ..Plugins::default()
        };
        etalon_sim::run_with(&plan, &Control::default(), plugins)
    };
    // The last flow's end finds nothing left, which ends the run.
    assert_eq!(run(11).unwrap_err().to_string(), "nothing is left");
    // Its start, the ends of ten flows, its waking, and the end of the last flow.
    let all = [None].into_iter().chain((0..10).map(Some));
    let all: Vec<_> = all.chain([None, Some(10)]).collect();
    assert_eq!(*ended.lock().unwrap(), all);
    let none = etalon_sim::run(&plan, &Control::default()).unwrap_err();
    assert_eq!(
        none.to_string(),
        "the functions of the plan's generators are not there"
    );
}
