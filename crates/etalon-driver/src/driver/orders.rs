// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the driver asks who decides outside, and what it then does.

use etalon_events::Event;
use etalon_scenario::Flow;
use etalon_units::Time;

use super::Driver;
use crate::Kernel;
use crate::desk::{Order, decode_orders};
use crate::edge::Socket;

impl Driver {
    /// An end of a flow that was opened from outside, 2n its client and 2n + 1 its server, has read `bytes` in all.
    pub fn read<E: Kernel>(&mut self, kernel: u64, end: u32, bytes: u64, env: &E) {
        let is_whole = self.desk.as_mut().is_some_and(|d| d.read(end ^ 1, bytes));
        self.tell(kernel, is_whole, Event::Read { end, bytes }, env);
    }

    /// TCP has sent `bytes` of a stream of such a flow in all.
    pub fn sent<E: Kernel>(&mut self, kernel: u64, stream: u32, bytes: u64, env: &E) {
        let is_whole = self.desk.as_mut().is_some_and(|d| d.sent(stream, bytes));
        self.tell(kernel, is_whole, Event::Sent { stream, bytes }, env);
    }

    fn tell<E: Kernel>(&mut self, kernel: u64, is_whole: bool, event: Event, env: &E) {
        if !is_whole {
            return;
        }
        let Some(now) = self.happens(kernel) else {
            return;
        };
        self.catch_up(now, env);
        if !self.net.edge().is_over() {
            self.ask(now, event, env);
        }
    }

    /// Asks what to do next, and does it.
    #[cold]
    pub(super) fn ask<E: Kernel>(&mut self, now: Time, event: Event, env: &E) {
        match decode_orders(&env.ask(&event.at(now))) {
            Ok(orders) => {
                for order in orders {
                    self.carry_out(now, order, env);
                }
            }
            Err(error) => {
                let why = format_args!("The answer to a question is none: {error}.");
                self.fail(now, why, env);
            }
        }
    }

    fn carry_out<E: Kernel>(&mut self, now: Time, order: Order, env: &E) {
        let Some(desk) = &mut self.desk else {
            return;
        };
        match order {
            Order::Wake(time) => desk.wake = time.max(now),
            Order::Write { stream, bytes } => {
                if desk.write(stream, bytes) {
                    if let Some(accounts) = self.net.edge_mut().accounts() {
                        accounts.wanted(now, stream, bytes);
                    }
                    env.write(stream, bytes);
                }
            }
            Order::Close { flow } => env.close(flow),
            Order::Open(flow) => {
                desk.open();
                self.open(flow, env);
            }
            Order::Ask { job, circuits } => self.net.edge_mut().ask(now, job, circuits),
            Order::Release { job, circuits } => self.net.edge_mut().release(now, job, circuits),
            Order::Over(is_over) => {
                desk.over = is_over;
                self.end_if_over(now);
            }
        }
    }

    fn open<E: Kernel>(&mut self, flow: Flow, env: &E) {
        let number = (self.scenario.flows.len() + self.opened.len()) as u32;
        let hosts = &self.scenario.hosts;
        let subflows = flow.transport.subflows();
        let ends = (hosts.index(flow.src()), hosts.index(flow.dst()), subflows);
        self.ends.push(ends);
        self.sockets.push(Socket::default());
        if let Some(accounts) = self.net.edge_mut().accounts() {
            accounts.open_flow(flow.pair());
        }
        self.opened.push(flow);
        env.open(number);
    }
}
