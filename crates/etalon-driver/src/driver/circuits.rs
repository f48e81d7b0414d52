// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that jobs and programs ask for: who hears that they are granted.

use alloc::string::String;

use etalon_events::Event;
use etalon_schedule::{Answer, Awaited, Granted};
use etalon_units::Time;

use super::Driver;
use crate::Kernel;

impl Driver {
    /// A program on `host` asks for the circuits that `text` names. A claim is a number of the kernel's: what it had before and does not
    /// name again, it gives back. Claims whose texts give the same name are one request, until the last of them is given up.
    ///
    /// # Errors
    /// A sentence about what is wrong with the request.
    pub fn claim<E: Kernel>(
        &mut self,
        kernel: u64,
        (claim, host): (u32, u32),
        text: &[u8],
        env: &E,
    ) -> Result<(), String> {
        let Some(now) = self.happens(kernel) else {
            return Err(String::from("the experiment does not run"));
        };
        self.catch_up(now, env);
        let hosts = self.scenario.hosts;
        let Some(claims) = &mut self.claims else {
            return Err(String::from(
                "circuits follow the schedule here; only with schedule.kind = \"asked\" can programs ask for some",
            ));
        };
        let request = claims.read(claim, text, &hosts)?;
        if let Some(up) = claims.join(claim, &request)? {
            if let Some(changed) = up {
                env.granted(claim, changed);
            }
            return Ok(());
        }
        let (job, released, circuits) = claims.begin((claim, host), request);
        if circuits.is_empty() {
            env.granted(claim, 0);
        }
        let edge = self.net.edge_mut();
        if !released.is_empty() {
            edge.release(now, job, released);
        }
        if !circuits.is_empty() {
            edge.ask(now, job, circuits);
        }
        Ok(())
    }

    /// Nobody has a claim any more.
    pub fn give_up<E: Kernel>(&mut self, kernel: u64, claim: u32, env: &E) {
        let Some(now) = self.happens(kernel) else {
            return;
        };
        self.catch_up(now, env);
        let Some((job, circuits)) = self.claims.as_mut().and_then(|c| c.close(claim)) else {
            return;
        };
        self.net.edge_mut().release(now, job, circuits);
    }

    /// Grants what can be granted, and says so.
    #[cold]
    pub(super) fn grant<E: Kernel>(&mut self, now: Time, env: &E) {
        let (answers, changes) = self.net.answer(now);
        for change in changes {
            let host = self.claims.as_ref().and_then(|c| c.host_of(change.job));
            let event = Event::Changing {
                pair: change.connect.pair,
                plane: change.connect.plane,
                by: host.unwrap_or(change.job),
                program: host.is_some(),
                asked: change.asked,
            };
            env.log(&event.at(now));
        }
        for answer in answers {
            match &mut self.claims {
                Some(claims) if claims.has(answer.job) => {
                    if let Some(circuits) = claims.hear(&answer, env) {
                        self.net.edge_mut().release(now, answer.job, circuits);
                    }
                }
                _ => self.ask(now, told(&answer), env),
            }
        }
    }
}

impl Driver {
    /// The run ends: says who still waits for circuits, and who has what is in their way.
    #[cold]
    pub(super) fn tell_awaited<E: Kernel>(&self, now: Time, env: &E) {
        let who = |job: u32| {
            let host = self.claims.as_ref().and_then(|c| c.host_of(job));
            (host.unwrap_or(job), host.is_some())
        };
        for Awaited { change, kept } in self.net.awaited() {
            let (by, program) = who(change.job);
            let awaited = Event::Awaited {
                pair: change.connect.pair,
                plane: change.connect.plane,
                by,
                program,
                asked: change.asked,
            };
            env.log(&awaited.at(now));
            for (connect, job) in kept {
                let (by, program) = who(job);
                let kept = Event::Kept {
                    pair: connect.pair,
                    plane: connect.plane,
                    by,
                    program,
                };
                env.log(&kept.at(now));
            }
        }
    }
}

/// What a job hears of its circuits.
fn told(answer: &Answer) -> Event {
    let job = answer.job;
    let (connect, wanted) = match answer.what {
        Granted::Request { changed, dark } => return Event::Granted { job, changed, dark },
        Granted::Up(connect) => (connect, false),
        Granted::Wanted(connect) => (connect, true),
    };
    Event::Connected {
        pair: connect.pair,
        plane: connect.plane,
        job,
        wanted,
    }
}
