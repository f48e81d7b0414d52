// SPDX-License-Identifier: MIT OR Apache-2.0
//! TDTCP at one end of a connection (SIGCOMM'22): its changes of paths, and what it writes into headers. What it asks of the sender:
//! `sending/tdn.rs`.
//!
//! The state of each TDN is a [`Path`](crate::Path).

use std::sync::Arc;

use crate::cc::CongestionControl;
use crate::config::Tdtcp;
use crate::connection::Connection;
use crate::prediction::Prediction;
use crate::segment::{Flags, Segment};
use crate::tdn_option::{DATA_ACK_BYTES, PathId, TdDataAck, TdnOption};

impl<C: CongestionControl> Connection<C> {
    /// More paths, with congestion controls of their own that begin as these are. They are numbered from 1: the first path is 0.
    /// What is sent goes over path 0 until [`on_tdn`](Connection::on_tdn) names another. Their state is made when they are first named.
    ///
    /// # Panics
    ///
    /// If they are more than 255.
    pub fn add_paths(&mut self, controls: Arc<[C]>) {
        self.prediction.surprise();
        for cc in controls.iter() {
            self.snd.paced |= cc.wants_pacing();
            self.set_dctcp(self.rcv.dctcp || cc.wants_dctcp_feedback());
            self.snd.reads_ece |= cc.reads_ece_without_ecn();
        }
        self.snd.paths.add(&self.config, controls);
    }

    /// The network has changed: what is sent from `now` on goes over path `id`, with its window, congestion control, RTT and
    /// state of recovery. A path that was not added changes nothing.
    pub fn on_tdn(&mut self, now: u64, id: PathId)
    where
        C: Clone,
    {
        if id == self.snd.paths.active.id {
            return;
        }
        // What waits for its pacing time is asked for again: that may be now.
        self.clock.advance(now);
        self.prediction.surprise();
        if self.snd.paced {
            self.prediction = Prediction::Open;
        }
        // An episode that has ended meanwhile is over.
        self.snd.recover_parked(&self.clock);
        let (nxt, active) = (self.snd.nxt, &self.snd.paths.active);
        let keep = !active.is_new() || self.snd.board.names(active.id);
        if !(self.snd.paths).activate(&self.config, &self.clock, nxt, id, keep) {
            return;
        }
        self.prediction = Prediction::Open;
        if self.snd.paths.active.is_new() && self.exchanges_data() {
            self.snd.open_path(&self.config);
        }
        if self.config.tdtcp.is_some() {
            self.snd.come_back(&self.clock, &self.config);
        }
    }

    /// Its host hears that another network leads to the peer. Plain TCP goes on as before; its congestion control may want to know.
    pub fn tell_control(&mut self, now: u64, id: PathId) {
        self.clock.advance(now);
        self.prediction.surprise();
        let path = &mut self.snd.paths.active;
        path.cc.on_tdn(&mut path.window, id, now);
    }

    /// TDTCP's switches, while it is on: not where both ends did not agree.
    #[must_use]
    pub fn tdtcp(&self) -> Option<&Tdtcp> {
        self.config.tdtcp.as_ref()
    }

    /// Plain TCP from now on, at this end only: the active path stays, and what is in flight on others counts for it. The other
    /// end may go on to write options, and gets plain ACKs (section 4.3).
    pub fn downgrade(&mut self) {
        Arc::make_mut(&mut self.config).tdtcp = None;
        self.snd.end_burst_pacing(&self.config);
        self.prediction = Prediction::Open;
        let others = self.snd.paths.take_parked();
        self.snd.board.merge(&mut self.snd.paths, &others);
    }

    /// Whether options are on the wire, once both ends have agreed.
    #[inline]
    pub(crate) fn writes_tdns(&self) -> bool {
        self.config.tdtcp.is_some_and(|tdtcp| tdtcp.options)
    }

    /// What a SYN says of TDNs.
    pub(crate) fn offered_tdns(&self) -> Option<TdnOption> {
        let offered = self.config.tdtcp.filter(|tdtcp| tdtcp.options);
        offered.map(|tdtcp| TdnOption::Capable(tdtcp.tdns))
    }

    /// The other end's SYN is here: both have to name the same number of TDNs, and TDTCP needs SACK. If not, this is plain TCP.
    #[cold]
    pub(crate) fn agree_on_tdns(&mut self, syn: &Segment) {
        let Some(tdtcp) = self.config.tdtcp else {
            return;
        };
        if !self.snd.sack || tdtcp.options && syn.tdn != self.offered_tdns() {
            Arc::make_mut(&mut self.config).tdtcp = None;
            self.snd.paths.take_parked();
        } else if tdtcp.options {
            self.snd.mss -= DATA_ACK_BYTES;
        }
    }

    /// Says which TDN carries a segment, unless that opens or resets the connection.
    pub(crate) fn write_tdns(&self, out: &mut Segment) {
        if !self.writes_tdns() || out.flags.0 & (Flags::SYN | Flags::RST).0 != 0 {
            return;
        }
        let tdn = Some(self.snd.paths.active.id);
        out.tdn = Some(TdnOption::DataAck(TdDataAck {
            data: tdn.filter(|_| out.len > 0),
            ack: tdn,
        }));
    }
}
