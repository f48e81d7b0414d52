// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank: a state machine that goes through its program.

use alloc::vec::Vec;

use etalon_units::Span;

use crate::program::{Found, Program};

/// What a rank hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The job begins.
    Begin,
    /// The computation is over.
    Computed {
        /// The step that it was.
        step: u32,
    },
    /// A message that was waited for is there, to its last byte.
    Received,
    /// A message has been sent, to its last byte.
    Sent {
        /// The step in which.
        step: u32,
    },
    /// A message of a trace is there, to its last byte.
    Arrived {
        /// The receiver's channel that it took.
        channel: u32,
    },
    /// Its circuits are there, which it asked for.
    Granted,
}

/// What a rank wants to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    /// Note that it begins an iteration.
    Begin {
        /// Which.
        iteration: u32,
    },
    /// Compute, and tell it when that is over.
    Compute {
        /// How long it takes.
        span: Span,
        /// Its step.
        step: u32,
    },
    /// See that its circuits of this step are there, and tell it when they are.
    Ask,
    /// Take in the next so many bytes from a rank, and tell it when they are there.
    Receive {
        /// Which rank.
        from: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// Send so many bytes to a rank, and tell it when they have been sent.
    Send {
        /// Which rank.
        to: u32,
        /// How many bytes.
        bytes: u64,
        /// Its step.
        step: u32,
        /// The receiver's channel, in a trace.
        channel: u32,
    },
    /// Note that it has ended an iteration.
    End {
        /// Which.
        iteration: u32,
    },
}

/// A rank of a job.
#[derive(Clone, Debug)]
pub struct Rank {
    number: u32,
    iteration: u32,
    step: u32,
    /// What it has yet to hear of before the step is over.
    pending: u32,
    /// It has asked for leave to send in this step.
    asks: bool,
}

impl Rank {
    /// A rank that has not begun.
    #[must_use]
    pub fn new(number: u32) -> Rank {
        Rank {
            number,
            iteration: 0,
            step: 0,
            pending: 0,
            asks: false,
        }
    }

    /// The iteration that it is in.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The step of the iteration that it is in.
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Something happened. Adds what is to be done, in order, to `todo`.
    pub fn on(&mut self, happened: Happened, program: &Program, todo: &mut Vec<Do>) {
        if happened == Happened::Begin {
            todo.push(Do::Begin { iteration: 0 });
        } else if happened == Happened::Granted {
            debug_assert!(self.asks, "leave is for the step that it was asked for");
            self.asks = false;
            return self.send(program, todo);
        } else {
            debug_assert!(self.pending > 0, "a rank hears of what it waits for");
            self.pending -= 1;
            if self.pending > 0 {
                return;
            }
            self.step += 1;
        }
        self.go_on(program, todo);
    }

    /// Goes through steps until there is something to wait for.
    fn go_on(&mut self, program: &Program, todo: &mut Vec<Do>) {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        loop {
            if self.step == program.steps() {
                todo.push(Do::End {
                    iteration: self.iteration,
                });
                self.iteration += 1;
                if self.iteration == program.iterations() {
                    return;
                }
                self.step = 0;
                let iteration = self.iteration;
                todo.push(Do::Begin { iteration });
            }
            let place = (self.iteration, self.number, self.step);
            match program.find(place.0, place.1, place.2, &mut sends, &mut receives) {
                Found::Nothing => self.step += 1,
                Found::Compute(span) => {
                    let step = self.step;
                    todo.push(Do::Compute { span, step });
                    self.pending = 1;
                    return;
                }
                Found::Messages => {
                    self.pending = (sends.len() + receives.len()) as u32;
                    todo.extend(
                        receives
                            .iter()
                            .map(|&(from, bytes)| Do::Receive { from, bytes }),
                    );
                    if program.asks() {
                        self.asks = !sends.is_empty();
                        todo.push(Do::Ask);
                    } else {
                        let send = |&(to, bytes)| self.message(to, bytes);
                        todo.extend(sends.iter().map(send));
                    }
                    return;
                }
            }
        }
    }

    /// Sends the messages of this step.
    fn send(&self, program: &Program, todo: &mut Vec<Do>) {
        program.sends(self.number, self.step, |to, bytes| {
            todo.push(self.message(to, bytes));
        });
    }

    fn message(&self, to: u32, bytes: u64) -> Do {
        Do::Send {
            to,
            bytes,
            step: self.step,
            channel: 0,
        }
    }
}
