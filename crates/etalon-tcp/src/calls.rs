// SPDX-License-Identifier: MIT OR Apache-2.0
//! User calls (RFC 9293, section 3.9.1): what the application asks of a connection, what its owner may know of it, and settings that may
//! change later.

use std::sync::Arc;

use crate::cc::CongestionControl;
use crate::connection::{CloseReason, Connection, ConnectionState};
use crate::prediction::Prediction;
use crate::segment::{Flags, Segment};
use crate::sending::buffers::Buffers;
use crate::sending::path::Path;
use crate::sending::program::Program;
use crate::sending::send_buffer::Sending;
use crate::sending::{FOREVER, Fin};
use crate::telemetry::Hop;
use crate::timers::Purpose;
use crate::{Config, Stats, Sums};

/// What a connection waits for when its timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingTimer {
    /// The retransmission timeout (RFC 6298), also that of SYN.
    Retransmission,
    /// The tail loss probe (RFC 8985, section 7.2).
    LossProbe,
    /// RACK's reordering window (RFC 8985, section 6.2).
    Reordering,
    /// The next zero-window probe (RFC 9293, 3.8.6.1).
    Persist,
    /// The end of TIME-WAIT.
    TimeWait,
    /// A delayed ACK.
    DelayedAck,
    /// The next paced segment.
    Pacing,
}

impl<C: CongestionControl> Connection<C> {
    /// What [`next_timer`](Connection::next_timer) waits for; `None` if nothing.
    pub fn pending_timer(&self) -> Option<PendingTimer> {
        let due = self.next_timer();
        if due == u64::MAX {
            return None;
        }
        if self.rcv.acks.timer.deadline == due || self.rcv.held_back_until() == due {
            return Some(PendingTimer::DelayedAck);
        }
        if self.snd.timer.deadline != due {
            return Some(PendingTimer::Pacing);
        }
        match self.snd.timer.purpose {
            Purpose::None => None,
            Purpose::Rto => Some(PendingTimer::Retransmission),
            Purpose::LossProbe => Some(PendingTimer::LossProbe),
            Purpose::Reordering => Some(PendingTimer::Reordering),
            Purpose::Persist => Some(PendingTimer::Persist),
            Purpose::TimeWait => Some(PendingTimer::TimeWait),
        }
    }

    /// The application writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        if !self.shuts_down() && self.state != ConnectionState::Closed {
            self.prediction = Prediction::Open;
            if (bytes < FOREVER || self.config.tdtcp.is_some()) && self.waits_for_room() {
                let mss = self.exchanges_data().then(|| self.current_mss());
                return self.snd.write_as_there_is_room(bytes, mss);
            }
            if self.exchanges_data() {
                let mss = self.current_mss();
                self.snd.lay_out(self.snd.pending, mss);
            }
            self.snd.pending = self.snd.pending.saturating_add(bytes);
            if let Some(buffer) = &mut self.snd.send_buffer {
                buffer.write(bytes);
            }
        }
    }

    /// Whether the application has called [`shutdown`](Connection::shutdown), perhaps before its socket took all that it wrote.
    fn shuts_down(&self) -> bool {
        let closes = |program: &Program| program.closes;
        self.snd.fin != Fin::None || self.snd.program.as_deref().is_some_and(closes)
    }

    /// Whether the program writes only what its socket has room for.
    fn waits_for_room(&mut self) -> bool {
        let max = self
            .config
            .waits_for_room
            .filter(|_| self.subflow.is_none());
        if let (Some(max), None) = (max, &self.snd.program) {
            let mut program = Box::new(Program::new(max));
            // An earlier program may have left some.
            program.chunks = self.snd.board.chunks_up_to(self.snd.nxt);
            self.snd.program = Some(program);
        }
        max.is_some()
    }

    /// The application writes as much as the network takes, until [`shutdown`](Connection::shutdown).
    pub fn write_forever(&mut self) {
        if !self.shuts_down() && self.config.tdtcp.is_none() {
            self.snd.program = None;
        }
        self.write(FOREVER);
    }

    /// No more writes: FIN follows what was written (after [`write_forever`](Connection::write_forever), what was sent or the socket has
    /// taken).
    pub fn shutdown(&mut self) {
        if self.snd.fin == Fin::None {
            if let Some(program) = self.snd.program.as_mut().filter(|program| program.left > 0) {
                if program.left <= FOREVER / 2 {
                    program.closes = true;
                    return;
                }
                program.stop();
            }
            if self.snd.pending > FOREVER / 2 {
                self.snd.pending = 0;
                if let Some(buffer) = &mut self.snd.send_buffer {
                    buffer.shutdown();
                }
            }
            self.snd.fin = Fin::Asked;
            self.prediction = Prediction::Open;
        }
    }

    /// Ends the connection with RST.
    pub fn abort(&mut self) {
        if !matches!(
            self.state,
            ConnectionState::Closed | ConnectionState::Listen | ConnectionState::SynSent
        ) {
            self.rst_due = Some(Box::new(Segment {
                seq: self.snd.nxt,
                ack: self.rcv.nxt,
                flags: Flags::RST | Flags::ACK,
                timestamps: (self.snd.timestamps)
                    .then(|| (self.clock.timestamp(), self.rcv.ts_recent)),
                ..Segment::default()
            }));
        }
        self.close(CloseReason::Aborted);
        self.prediction = Prediction::Open;
    }

    /// The application reads up to `max` bytes of what arrived in order; returns how many. Needed only without
    /// [`Config::auto_read`].
    pub fn read(&mut self, max: u64) -> u64 {
        let taken = self.rcv.read(self.clock.us, max);
        self.prediction.surprise();
        if self.rcv.ack_due() {
            self.prediction = Prediction::Open;
        }
        taken
    }

    /// Segments with `payload` bytes together that [`poll_transmit`](Connection::poll_transmit) yielded have left the host.
    #[inline]
    pub fn departed(&mut self, payload: u64) {
        self.snd.queued = self.snd.queued.saturating_sub(payload);
        if self.snd.throttled {
            self.snd.throttled = false;
            self.prediction = Prediction::Open;
        }
    }

    /// Whether [`poll_transmit`](Connection::poll_transmit) has nothing to yield, whenever it is asked.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.prediction.is_silent() && !self.snd.paced
    }

    /// Whether data waits only for [`departed`](Connection::departed).
    pub fn is_throttled(&self) -> bool {
        self.snd.throttled
    }

    /// State of the connection.
    pub fn state(&self) -> ConnectionState {
        self.state
    }

    /// Whether the handshake is complete and the connection not over.
    pub fn is_established(&self) -> bool {
        !matches!(
            self.state,
            ConnectionState::Listen
                | ConnectionState::SynSent
                | ConnectionState::SynReceived
                | ConnectionState::TimeWait
                | ConnectionState::Closed
        )
    }

    /// Whether both directions are closed (TIME-WAIT included).
    pub fn is_closed(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::TimeWait | ConnectionState::Closed
        )
    }

    /// Why the connection is over; `None` while it is not. From TIME-WAIT on both sides have finished.
    pub fn close_reason(&self) -> Option<CloseReason> {
        match self.state {
            ConnectionState::TimeWait => Some(CloseReason::Finished),
            _ => self.close_reason,
        }
    }

    /// Whether everything written, and FIN if asked for, is acknowledged.
    pub fn all_acked(&self) -> bool {
        !self.snd.has_unsent() && self.snd.board.is_empty()
    }

    /// Bytes received in order.
    pub fn bytes_received(&self) -> u64 {
        self.rcv.bytes
    }

    /// Bytes acknowledged cumulatively.
    pub fn bytes_acked(&self) -> u64 {
        self.snd.bytes_acked
    }

    /// Bytes written and not yet sent; `u64::MAX` after [`write_forever`](Connection::write_forever), less what was sent.
    pub fn unsent(&self) -> u64 {
        self.snd.pending.saturating_add(self.snd.not_taken())
    }

    /// Largest payload of a segment in bytes, as both ends' options leave it.
    pub fn mss(&self) -> u32 {
        self.snd.mss
    }

    /// Degree of reordering in segments that is believed; 3 before any was seen.
    pub fn reordering(&self) -> u32 {
        self.snd.rack.reordering.degree
    }

    /// Turns Nagle's algorithm on or off.
    pub fn set_nagle(&mut self, on: bool) {
        Arc::make_mut(&mut self.config).nagle = on;
        self.prediction = Prediction::Open;
    }

    /// Turns pacing on, or off unless the congestion control wants it.
    pub fn set_pacing(&mut self, on: bool) {
        if self.config.pacing != on {
            Arc::make_mut(&mut self.config).pacing = on;
        }
        self.snd.choose_pacing(&self.config);
        self.prediction = Prediction::Open;
    }

    /// Turns the decay of windows after an idle time on or off.
    pub fn set_slow_start_after_idle(&mut self, on: bool) {
        Arc::make_mut(&mut self.config).slow_start_after_idle = on;
    }

    /// Gives the active path another congestion control, which starts with the window as it is.
    ///
    /// # Errors
    ///
    /// Gives it back if it needs DCTCP's feedback and the handshake was made without, or the other way round: what the peer
    /// echoes cannot be changed any more.
    pub fn set_congestion_control(&mut self, cc: C) -> Result<(), C> {
        if cc.wants_dctcp_feedback() != self.rcv.dctcp && self.state != ConnectionState::Listen {
            return Err(cc);
        }
        self.set_dctcp(cc.wants_dctcp_feedback());
        self.snd.reads_ece = cc.reads_ece_without_ecn();
        self.snd.paths.active.set_congestion_control(cc);
        self.set_pacing(self.config.pacing);
        Ok(())
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        let (snd, rcv) = (&self.snd, &self.rcv);
        let halves = self
            .stats
            .stats(snd.data_segments_sent, &snd.stats, &rcv.stats);
        Stats {
            retransmits: halves.retransmits + u64::from(self.syns_sent.saturating_sub(1)),
            ..halves
        }
    }

    /// The path that is active.
    pub fn path(&self) -> &Path<C> {
        &self.snd.paths.active
    }

    /// All paths, the active one first.
    pub fn paths(&self) -> impl Iterator<Item = &Path<C>> {
        self.snd.paths.iter()
    }

    /// Segments outstanding on all paths, by what is known of them.
    pub fn sums(&self) -> &Sums {
        self.snd.board.sums()
    }

    /// The initial sequence number.
    pub fn initial_seq(&self) -> u32 {
        self.snd.first
    }

    /// The configuration, but for [`initial_seq`](Connection::initial_seq).
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Has the socket take what its send buffer has room for of what the program has written. Returns how many bytes these are; with
    /// [`Config::send_buffer`](crate::Config::send_buffer), to be called after each segment and each write.
    #[cold]
    pub fn take_writes(&mut self) -> u64 {
        if !self.is_established() {
            return 0;
        }
        if self.snd.program.is_some() {
            let buffer = self.snd.send_buffer.as_mut();
            return buffer.map_or(0, |buffer| buffer.tell());
        }
        let path = &self.snd.paths.active;
        let sending = Sending {
            acked: self.snd.bytes_acked,
            cwnd: path.window.cwnd,
            in_flight: path.pipe.in_flight(),
            mss: self.snd.mss,
            buffer: Buffers::size_for(self.current_mss(), self.snd.max_window),
        };
        let buffer = self.snd.send_buffer.as_mut();
        buffer.map_or(0, |buffer| buffer.take(&sending))
    }

    /// The segment that [`on_segment`](Connection::on_segment) took last, at `now`, echoes telemetry: what a data segment of ours met.
    pub fn on_telemetry(&mut self, now: u64, hops: &[Hop]) {
        self.clock.advance(now);
        if self.exchanges_data() {
            self.snd.on_telemetry(&self.config, hops);
        }
    }

    /// Whether the network is to write telemetry into what this end sends.
    pub fn wants_telemetry(&self) -> bool {
        self.snd.paths.controls().any(C::wants_telemetry)
    }

    /// Recomputes all counters of segments from the records of what is outstanding: for tests.
    ///
    /// # Panics
    ///
    /// If one differs.
    pub fn check_counters(&self) {
        let snd = &self.snd;
        snd.board.check(&snd.paths, snd.sack);
        if let Some(program) = &snd.program {
            assert_eq!(program.chunks, snd.board.chunks_up_to(snd.nxt));
        }
    }
}
