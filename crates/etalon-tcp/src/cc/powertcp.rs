// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerTCP (Addanki, Michel, Schmid, "PowerTCP: pushing the performance limits of datacenter networks", NSDI 2022, algorithm 1).
//!
//! Each queue on the way has a voltage, what fills it (its bytes and the link's bandwidth-delay product), and a current, the rate at which bytes
//! arrive (its gradient and the rate of transmission). Their product is the queue's power, and the window is divided by the largest, as a share of
//! what the link has at its rate without a queue. So it takes as much of a link that becomes free as there is, and it shrinks before a queue is long.

use super::bdp::{
    BASE_RTT, BdpWindow, FLOWS, HOST_RATE, bdp_window, once_per_rtt, telemetry_alone,
};
use super::{Ack, Configured, CongestionControl, Parameter, State, Window};
use crate::telemetry::{Echo, Hop};

/// The least power, which is taken for none.
pub(super) const LEAST_POWER: f64 = 1e-3;

/// PowerTCP.
#[derive(Clone, Debug)]
pub struct PowerTcp(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    window: BdpWindow,
    /// The share of a new window in the next one.
    gamma: f64,
    /// The smoothed power.
    power: f64,
    /// What was echoed last.
    previous: Vec<Hop>,
}

/// A hop's power as a share of its link's at full rate without a queue, and the time over which it was measured, in nanoseconds. None if the
/// two are not of one port, or not in order.
fn power(hop: &Hop, previous: &Hop, tau: f64) -> Option<(f64, f64)> {
    if hop.port != previous.port || hop.at <= previous.at {
        return None;
    }
    let dt = (hop.at - previous.at) as f64;
    let rate = hop.rate as f64 / 8e9; // bytes a nanosecond
    let gradient = (hop.queue as f64 - previous.queue as f64) / dt;
    let current = gradient + hop.sent.wrapping_sub(previous.sent) as f64 / dt;
    let voltage = hop.queue as f64 + rate * tau;
    Some((current * voltage / (rate * rate * tau), dt))
}

impl Inner {
    /// NORMPOWER: the largest of all hops, smoothed over a base RTT. None if there is nothing to compare with.
    fn norm_power(&mut self, hops: &[Hop], tau: f64) -> Option<f64> {
        let pairs = hops.iter().zip(&self.previous);
        let powers = pairs.filter_map(|(hop, previous)| power(hop, previous, tau));
        let largest = powers.max_by(|a, b| a.0.total_cmp(&b.0));
        self.previous.clear();
        self.previous.extend_from_slice(hops);
        let (power, dt) = largest?;
        let dt = dt.min(tau);
        self.power = (self.power * (tau - dt) + power.max(LEAST_POWER) * dt) / tau;
        Some(self.power)
    }
}

impl Configured for PowerTcp {
    const PARAMETERS: &'static [Parameter] = &[
        HOST_RATE,
        BASE_RTT,
        FLOWS,
        once_per_rtt(false),
        Parameter::number(
            "gamma",
            0.9,
            0.001,
            1.0,
            "weight of what the power calls for in the next window",
        ),
    ];

    fn configured(values: &[f64]) -> Self {
        Self(Box::new(Inner {
            window: BdpWindow::new(values),
            gamma: values[4],
            power: 1.0,
            previous: Vec::new(),
        }))
    }
}

impl CongestionControl for PowerTcp {
    fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        self.0.window.open(window, min_rtt, mss);
    }

    /// Algorithm 1: NEWACK.
    fn on_telemetry(&mut self, window: &mut Window, echo: &Echo<'_>) {
        let inner = &mut *self.0;
        if let Some(rtt) = echo.min_rtt {
            inner.window.hear_rtt(rtt);
        }
        inner.window.take(window);
        let begins = inner.window.begins_round(echo.una, echo.nxt);
        let Some(tau) = inner.window.base_rtt() else {
            return;
        };
        let Some(power) = inner.norm_power(echo.hops, tau) else {
            return;
        };
        if inner.window.may_move(begins) {
            let share = inner.window.share();
            let wanted = inner.window.old() / power + share;
            let kept = (1.0 - inner.gamma) * inner.window.now();
            inner.window.set(window, inner.gamma * wanted + kept);
        }
    }

    bdp_window!();
    telemetry_alone!();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes a nanosecond of 25 Gbit/s, the base RTT in nanoseconds, and what both make: 50 segments.
    const RATE: f64 = 3.125;
    const TAU: f64 = 24_000.0;
    const MSS: u32 = 1500;

    fn begun(flows: f64, once_per_rtt: f64) -> (PowerTcp, Window) {
        let mut cc = PowerTcp::configured(&[25.0, 24.0, flows, once_per_rtt, 0.9]);
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        cc.on_open(&mut window, None, MSS);
        assert_eq!(window.cwnd, 50);
        (cc, window)
    }

    fn hop(port: u32, queue: f64, sent: f64, at: f64) -> Hop {
        Hop {
            port,
            queue: queue as u64,
            sent: sent as u64,
            rate: 25_000_000_000,
            at: at as u64,
        }
    }

    fn hear(cc: &mut PowerTcp, window: &mut Window, (una, nxt): (u32, u32), hops: &[Hop]) -> f64 {
        let echo = Echo {
            una,
            nxt,
            min_rtt: None,
            hops,
        };
        cc.on_telemetry(window, &echo);
        cc.0.window.now()
    }

    #[test]
    fn a_worked_example() {
        let (mut cc, mut window) = begun(10.0, 0.0);
        let mut hear = |hops: &[Hop]| hear(&mut cc, &mut window, (0, 1), hops);
        let idle = hop(7, 0.0, 0.0, 0.0);
        assert_eq!(hear(&[hop(1, 30_000.0, 0.0, 0.0), idle]), 50.0);
        // Current 6,000 / 24,000 + 3.125, voltage 111,000, of 3.125^2 x 24,000: 1.5984. 0.9 (50 / 1.5984 + 5) + 0.1 x 50 = 37.653.
        let after = hear(&[
            hop(1, 36_000.0, 75_000.0, 24_000.0),
            hop(7, 0.0, 1.0, 24_000.0),
        ]);
        assert!((after - 37.653).abs() < 1e-3, "{after}");
        // Of other ports nothing is known yet.
        assert_eq!(hear(&[hop(2, 0.0, 0.0, 48_000.0)]), after);
        let rate = cc.pacing_rate(&window, MSS).unwrap() as f64;
        assert_eq!(window.cwnd, 38);
        assert!((rate * TAU / 1e9 / f64::from(MSS) - after).abs() < 1e-3);
    }

    /// One flow, one queue: the window goes to b tau + beta, and the queue to beta, as the paper derives. The queue is that of a fluid that arrives at the window over the RTT, in steps of its own.
    #[test]
    fn the_window_converges_as_its_law_says() {
        let flows = 10.0;
        let beta = RATE * TAU / flows;
        for start in [3.0 * RATE * TAU, 0.3 * RATE * TAU] {
            // HostBw is larger, so that the window may exceed what the link holds.
            let mut cc = PowerTcp::configured(&[250.0, 24.0, 10.0 * flows, 1.0, 0.9]);
            let mut window = Window {
                cwnd: 10,
                ssthresh: u32::MAX,
                cwnd_count: 0,
            };
            cc.on_open(&mut window, None, MSS);
            window.cwnd = (start / f64::from(MSS)) as u32;
            let (mut queue, mut sent, mut now) = ((start - RATE * TAU).max(0.0), 0.0, 0.0);
            let mut bytes = f64::from(window.cwnd * MSS);
            hear(&mut cc, &mut window, (0, 1), &[hop(1, queue, sent, now)]);
            for round in 1..40 {
                let rtt = TAU + queue / RATE;
                let steps = 1000;
                for _ in 0..steps {
                    let dt = rtt / f64::from(steps);
                    let arrives = bytes / (TAU + queue / RATE) * dt;
                    let leaves = (queue + arrives).min(RATE * dt);
                    (queue, sent) = (queue + arrives - leaves, sent + leaves);
                }
                now += rtt;
                bytes = hear(
                    &mut cc,
                    &mut window,
                    (round, round + 1),
                    &[hop(1, queue, sent, now)],
                ) * f64::from(MSS);
                let off = (bytes - RATE * TAU - beta).abs() / (RATE * TAU);
                assert!(round < 12 || off < 0.01, "round {round}: {off}");
            }
            assert!(
                (queue - beta).abs() < 0.02 * beta,
                "{queue} instead of {beta}"
            );
        }
    }
}
