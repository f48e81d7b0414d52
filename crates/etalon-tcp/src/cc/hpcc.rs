// SPDX-License-Identifier: MIT OR Apache-2.0
//! HPCC (Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, algorithm 1).
//!
//! From telemetry each link's bytes in flight follow, as a share of what it holds within a base RTT; the window is divided by the largest share
//! and multiplied by the share that is wanted, eta. Below eta it first adds a little for a few rounds.

use super::bdp::{
    BASE_RTT, BdpWindow, FLOWS, HOST_RATE, bdp_window, once_per_rtt, telemetry_alone,
};
use super::{Ack, Configured, CongestionControl, Parameter, State, Window};
use crate::telemetry::{Echo, Hop};

/// HPCC.
#[derive(Clone, Debug)]
pub struct Hpcc(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    window: BdpWindow,
    /// The share of a link that is to be used.
    eta: f64,
    /// Rounds of additive growth in a row.
    max_stage: u32,
    stage: u32,
    /// U: the largest share of bytes in flight, smoothed.
    inflight: f64,
    /// Wc: the window that those within a round are computed from.
    reference: f64,
    /// What was echoed last.
    previous: Vec<Hop>,
}

/// A hop's bytes in flight as a share of rate times base RTT, and the time over which they were measured, in nanoseconds. None if the two are not
/// of one port, or not in order.
fn inflight(hop: &Hop, previous: &Hop, tau: f64) -> Option<(f64, f64)> {
    if hop.port != previous.port || hop.at <= previous.at {
        return None;
    }
    let dt = (hop.at - previous.at) as f64;
    let rate = hop.rate as f64 / 8e9; // bytes a nanosecond
    let transmitted = hop.sent.wrapping_sub(previous.sent) as f64 / dt;
    let queue = hop.queue.min(previous.queue) as f64;
    Some((queue / (rate * tau) + transmitted / rate, dt))
}

impl Inner {
    /// MeasureInflight. Whether there was anything to compare with.
    fn measure(&mut self, hops: &[Hop], tau: f64) -> bool {
        let pairs = hops.iter().zip(&self.previous);
        let shares = pairs.filter_map(|(hop, previous)| inflight(hop, previous, tau));
        let largest = shares.max_by(|a, b| a.0.total_cmp(&b.0));
        self.previous.clear();
        self.previous.extend_from_slice(hops);
        let Some((share, dt)) = largest else {
            return false;
        };
        let weight = dt.min(tau) / tau;
        self.inflight = (1.0 - weight) * self.inflight + weight * share;
        true
    }

    /// ComputeWind.
    fn compute(&mut self, begins_round: bool) -> f64 {
        let increment = self.window.share() * (1.0 - self.eta);
        let divides = self.inflight >= self.eta || self.stage >= self.max_stage;
        let next = match divides {
            true => self.reference / (self.inflight / self.eta).max(1e-3) + increment,
            false => self.reference + increment,
        };
        let next = next.clamp(1e-3, self.window.most());
        if begins_round {
            self.stage = if divides { 0 } else { self.stage + 1 };
            self.reference = next;
        }
        next
    }
}

impl Configured for Hpcc {
    const PARAMETERS: &'static [Parameter] = &[
        HOST_RATE,
        BASE_RTT,
        FLOWS,
        once_per_rtt(false),
        Parameter::number("eta", 0.95, 0.01, 1.0, "share of a link that is to be used"),
        Parameter {
            name: "max_stage",
            default: 5.0,
            min: 0.0,
            max: 1000.0,
            whole: true,
            description: "rounds of additive growth before the window is computed anew",
        },
    ];

    fn configured(values: &[f64]) -> Self {
        Self(Box::new(Inner {
            window: BdpWindow::new(values),
            eta: values[4],
            max_stage: values[5] as u32,
            stage: 0,
            inflight: 1.0,
            reference: 1.0,
            previous: Vec::new(),
        }))
    }
}

impl CongestionControl for Hpcc {
    fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        self.0.window.open(window, min_rtt, mss);
        self.0.reference = self.0.window.now();
    }

    /// Algorithm 1: NewAck.
    fn on_telemetry(&mut self, window: &mut Window, echo: &Echo<'_>) {
        let inner = &mut *self.0;
        if let Some(rtt) = echo.min_rtt {
            inner.window.hear_rtt(rtt);
        }
        if inner.window.take(window) {
            inner.reference = inner.window.now();
        }
        let begins = inner.window.begins_round(echo.una, echo.nxt);
        let Some(tau) = inner.window.base_rtt() else {
            return;
        };
        if inner.measure(echo.hops, tau) && inner.window.may_move(begins) {
            let next = inner.compute(begins);
            inner.window.set(window, next);
        }
    }

    bdp_window!();
    telemetry_alone!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // 25 Gbit/s and 24 us: 75,000 bytes, 50 segments.
        let mut cc = Hpcc::configured(&[25.0, 24.0, 10.0, 0.0, 0.95, 5.0]);
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        cc.on_open(&mut window, None, 1500);
        let hops = [
            (1, 30_000, 0, 0),
            (1, 36_000, 75_000, 24_000),
            (2, 0, 9, 48_000),
        ];
        let windows = hops.map(|(port, queue, sent, at)| {
            let hop = Hop {
                port,
                queue,
                sent,
                rate: 25_000_000_000,
                at,
            };
            let echo = Echo {
                una: 0,
                nxt: 1,
                min_rtt: None,
                hops: &[hop],
            };
            cc.on_telemetry(&mut window, &echo);
            window.cwnd
        });
        // U = 30,000 / 75,000 + 1 = 1.4; 50 / (1.4 / 0.95) + 50 / 10 x 0.05 = 34.18. Another port tells nothing yet.
        assert_eq!(windows, [50, 35, 35]);
        let rate = cc.pacing_rate(&window, 1500).unwrap() as f64;
        let expected = (50.0 / (1.4 / 0.95) + 0.25) * 1500.0 / 24e-6;
        assert!((rate / expected - 1.0).abs() < 1e-6);
    }
}
