// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generators: which flow is whose, and who is called when.

use etalon_driver::Order;
use etalon_jobs::Generators;
use etalon_scenario::{Generator, Scenario};
use etalon_units::Time;

use super::{Owner, Sleeper, Sockets};

/// The generators of a run.
pub(super) struct Making<'a> {
    plan: &'a [Generator],
    made: Option<Box<dyn Generators + Send>>,
    begun: Vec<Begun>,
}

/// What a generator has begun.
#[derive(Default)]
struct Begun {
    /// Bytes of each of its flows; none of one that is complete.
    flows: Vec<Option<u64>>,
    /// How many are not.
    open: usize,
    /// When it is to be woken.
    wake: Option<Time>,
}

impl<'a> Making<'a> {
    pub(super) fn new(
        plan: &'a Scenario,
        made: Option<Box<dyn Generators + Send>>,
    ) -> Result<Making<'a>, String> {
        if made.is_none() && !plan.generators.is_empty() {
            return Err("The functions of the plan's generators are not there.".to_owned());
        }
        let begun = |one: &Generator| Begun {
            flows: Vec::new(),
            open: 0,
            wake: Some(one.start),
        };
        Ok(Making {
            plan: &plan.generators,
            made,
            begun: plan.generators.iter().map(begun).collect(),
        })
    }

    /// Whether none waits for a time, or for a flow.
    pub(super) fn is_done(&self) -> bool {
        let is_done = |one: &Begun| one.wake.is_none() && one.open == 0;
        self.begun.iter().all(is_done)
    }

    /// A generator asked to be woken; not if it has gone on since, and asked for another time.
    pub(super) fn wake(
        &mut self,
        now: Time,
        number: usize,
        sockets: &mut Sockets,
    ) -> Result<(), String> {
        if self.begun[number].wake.is_some_and(|time| time <= now) {
            return self.step(now, number, None, sockets);
        }
        Ok(())
    }

    /// The receiver of a flow has read so many bytes.
    pub(super) fn read(
        &mut self,
        now: Time,
        (number, own): (usize, u32),
        bytes: u64,
        sockets: &mut Sockets,
    ) -> Result<(), String> {
        let begun = &mut self.begun[number];
        let flow = &mut begun.flows[own as usize];
        if flow.is_none_or(|wanted| bytes < wanted) {
            return Ok(());
        }
        *flow = None;
        begun.open -= 1;
        self.step(now, number, Some(own), sockets)
    }

    fn step(
        &mut self,
        now: Time,
        number: usize,
        ended: Option<u32>,
        sockets: &mut Sockets,
    ) -> Result<(), String> {
        let (Some(made), begun) = (&mut self.made, &mut self.begun[number]) else {
            return Ok(());
        };
        begun.wake = begun.wake.filter(|&time| time > now);
        let step = made.step(now, number, ended).map_err(|e| e.to_string())?;
        for one in step.flows {
            let bytes = one.bytes;
            let owner = Owner::Generator(number, begun.flows.len() as u32);
            begun.flows.push(Some(bytes));
            begun.open += 1;
            let flow = sockets.connect(owner, one.flow(now, &self.plan[number]));
            sockets.put(2 * flow, bytes);
            sockets.orders.push(Order::Close { flow });
        }
        let wake = step.wake.map(|time| time.max(now));
        if let Some(time) = wake.filter(|_| begun.wake != wake) {
            sockets.sleep(time, Sleeper::Generator(number));
        }
        begun.wake = wake;
        Ok(())
    }
}
