// SPDX-License-Identifier: MIT OR Apache-2.0
//! What congestion controls hear that count in bandwidth-delay products: when data may be sent, and what queues were like (in-band telemetry).

use crate::cc::CongestionControl;
use crate::sending::Sender;
use crate::telemetry::{Echo, Hop};
use crate::timers::Clock;
use crate::{Config, Connection};

impl<C: CongestionControl> Sender<C> {
    /// The handshake is over: the congestion control may have an initial window of its own.
    pub(crate) fn open_window(&mut self, config: &Config) {
        let (path, mss) = (&mut self.paths.active, self.mss);
        if self.bytes_acked > 0 || path.window.cwnd == 1 {
            return; // the SYN was lost more than once
        }
        let min_rtt = Some(path.min_rtt()).filter(|&rtt| rtt < u64::MAX);
        path.cc.on_open(&mut path.window, min_rtt, mss);
        path.window.cwnd = path.window.cwnd.min(config.max_cwnd);
    }

    /// An ACK that was taken echoes telemetry.
    fn on_telemetry(&mut self, clock: &Clock, config: &Config, hops: &[Hop]) {
        let (path, mss) = (&mut self.paths.active, self.mss);
        let min_rtt = Some(path.min_rtt()).filter(|&rtt| rtt < u64::MAX);
        let echo = Echo {
            now: clock.now,
            una: self.una,
            nxt: self.nxt,
            min_rtt,
            mss,
            hops,
        };
        path.cc.on_telemetry(&mut path.window, &echo);
        path.window.cwnd = path.window.cwnd.min(config.max_cwnd);
    }
}

impl<C: CongestionControl> Connection<C> {
    /// The segment that [`on_segment`](Connection::on_segment) took last, at `now`, echoes telemetry: what a data segment of ours met.
    pub fn on_telemetry(&mut self, now: u64, hops: &[Hop]) {
        self.clock.advance(now);
        if self.exchanges_data() {
            self.snd.on_telemetry(&self.clock, &self.config, hops);
        }
    }

    /// Whether the network is to write telemetry into what this end sends.
    pub fn wants_telemetry(&self) -> bool {
        self.snd.paths.controls().any(C::wants_telemetry)
    }
}
