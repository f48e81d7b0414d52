// SPDX-License-Identifier: MIT OR Apache-2.0
//! theta-PowerTCP: PowerTCP without telemetry (Addanki, Michel, Schmid, NSDI 2022, algorithm 2). The RTT stands for the voltage, its gradient for the
//! current. So it sees queues and not links: it cannot know that one has room left.

use super::bdp::{BASE_RTT, BdpWindow, FLOWS, HOST_RATE, bdp_window, once_per_rtt};
use super::powertcp::LEAST_POWER;
use super::{Ack, Configured, CongestionControl, Parameter, State, Window};

/// theta-PowerTCP.
#[derive(Clone, Debug)]
pub struct ThetaPowerTcp(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    window: BdpWindow,
    gamma: f64,
    /// The smoothed power.
    power: f64,
    /// The last RTT, and when it was measured, in nanoseconds.
    previous: Option<(u64, u64)>,
}

impl Inner {
    /// NORMPOWER. None if there is nothing to compare with.
    fn norm_power(&mut self, now: u64, rtt: u64, tau: f64) -> Option<f64> {
        let (previous, at) = self.previous.replace((rtt, now))?;
        if now <= at {
            self.previous = Some((previous, at));
            return None;
        }
        let dt = (now - at) as f64;
        let gradient = (rtt as f64 - previous as f64) / dt;
        let power = (gradient + 1.0) * rtt as f64 / tau;
        let dt = dt.min(tau);
        self.power = (self.power * (tau - dt) + power.max(LEAST_POWER) * dt) / tau;
        Some(self.power)
    }
}

impl Configured for ThetaPowerTcp {
    const PARAMETERS: &'static [Parameter] = &[
        HOST_RATE,
        BASE_RTT,
        FLOWS,
        once_per_rtt(true),
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
            previous: None,
        }))
    }
}

impl CongestionControl for ThetaPowerTcp {
    fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        self.0.window.open(window, min_rtt, mss);
    }

    /// Algorithm 2: NEWACK.
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        let inner = &mut *self.0;
        inner.window.take(window);
        let Some(rtt) = ack.rtt else {
            return;
        };
        inner.window.hear_rtt(rtt);
        let begins = inner.window.begins_round(ack.una, ack.nxt);
        let Some(tau) = inner.window.base_rtt() else {
            return;
        };
        let Some(power) = inner.norm_power(ack.now, rtt, tau) else {
            return;
        };
        if inner.window.may_move(begins) {
            let share = inner.window.share();
            let wanted = inner.window.old() / power + share;
            let now = inner.window.now();
            let next = inner.gamma * wanted + (1.0 - inner.gamma) * now;
            // What the window did not limit does not show what a larger one would bring.
            let most = if ack.cwnd_limited { next } else { now };
            inner.window.set(window, next.min(most));
        }
    }

    bdp_window!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // 25 Gbit/s and 24 us: 75,000 bytes, 50 segments.
        let mut cc = ThetaPowerTcp::configured(&[25.0, 24.0, 10.0, 0.0, 0.9]);
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        cc.on_open(&mut window, None, 1500);
        assert_eq!(window.cwnd, 50);
        for (now, rtt) in [(0, 24_000), (24_000, 36_000)] {
            let ack = Ack {
                now,
                rtt: Some(rtt),
                cwnd_limited: true,
                nxt: 1,
                ..Ack::default()
            };
            cc.increase(&mut window, &ack);
        }
        // (0.5 + 1) 36 / 24 = 2.25; 0.9 (50 / 2.25 + 5) + 0.1 x 50 = 29.5.
        assert_eq!(window.cwnd, 30);
        let rate = cc.pacing_rate(&window, 1500).unwrap() as f64;
        assert!((rate / (29.5 * 1500.0 / 24e-6) - 1.0).abs() < 1e-6);
    }
}
