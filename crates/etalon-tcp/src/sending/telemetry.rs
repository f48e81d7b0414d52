// SPDX-License-Identifier: MIT OR Apache-2.0
//! What congestion controls hear that count in bandwidth-delay products: when data may be sent, and what queues were like (in-band telemetry).

use crate::Config;
use crate::cc::CongestionControl;
use crate::sending::Sender;
use crate::telemetry::{Echo, Hop};

impl<C: CongestionControl> Sender<C> {
    /// The handshake is over: the congestion control may have an initial window of its own, unless so many SYNs were lost that the window
    /// begins with a segment.
    pub(crate) fn open_window(&mut self, config: &Config, syn_lost_twice: bool) {
        self.open_path(config);
        if syn_lost_twice {
            self.paths.active.window.cwnd = 1;
        }
    }

    /// Data may be sent on the path that is used from now on, for the first time.
    pub(crate) fn open_path(&mut self, config: &Config) {
        let (path, mss) = (&mut self.paths.active, self.mss);
        let min_rtt = Some(path.min_rtt()).filter(|&rtt| rtt < u64::MAX);
        path.cc.on_open(&mut path.window, min_rtt, mss);
        path.window.cwnd = path.window.cwnd.min(config.max_cwnd);
    }

    /// An ACK that was taken echoes telemetry.
    pub(crate) fn on_telemetry(&mut self, config: &Config, hops: &[Hop]) {
        let path = &mut self.paths.active;
        let min_rtt = Some(path.min_rtt()).filter(|&rtt| rtt < u64::MAX);
        let echo = Echo {
            una: self.una,
            nxt: self.nxt,
            min_rtt,
            hops,
        };
        path.cc.on_telemetry(&mut path.window, &echo);
        path.window.cwnd = path.window.cwnd.min(config.max_cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;
    use crate::sending::alone::{Alone, MS};

    /// An ACK of all that was sent, of which nothing waited: each millisecond the link carried a tenth of what it can.
    fn go_on(alone: &mut Alone, round: u64) {
        alone.send();
        let sent = (alone.snd.nxt - 1_000) / alone.snd.mss;
        alone.ack(MS, sent, &[], Flags(0));
        let hop = Hop {
            port: 1,
            queue: 0,
            sent: round * 125_000,
            rate: 10_000_000_000,
            at: round * MS,
        };
        alone.snd.on_telemetry(&alone.config, &[hop]);
    }

    #[test]
    fn a_window_of_one_segment_after_lost_syns_grows() {
        for control in ["powertcp", "theta-powertcp", "hpcc"] {
            let mut alone = Alone::with_data(control);
            alone.snd.open_window(&alone.config, true);
            assert_eq!(alone.cwnd(), 1);
            for round in 1..40 {
                go_on(&mut alone, round);
            }
            assert!(alone.cwnd() > 1, "{control}");
        }
    }
}
