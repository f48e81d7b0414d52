// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of the hooks of congestion controls in Python.

use etalon_tcp::cc;
use pyo3::prelude::*;

use crate::convert::value_error;

/// The window of a path, in segments. It may be a fraction, but only whole segments are sent.
#[pyclass(module = "etalon._core")]
pub(crate) struct Window {
    /// Congestion window in segments.
    #[pyo3(get, set)]
    cwnd: f64,
    /// Slow-start threshold in segments; infinite before the first loss.
    #[pyo3(get, set)]
    ssthresh: f64,
    /// Segments acknowledged towards the next increase by one in congestion avoidance.
    #[pyo3(get, set)]
    cwnd_count: u32,
}

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (cwnd, ssthresh=f64::INFINITY, cwnd_count=0))]
    fn new(cwnd: f64, ssthresh: f64, cwnd_count: u32) -> Window {
        Window {
            cwnd,
            ssthresh,
            cwnd_count,
        }
    }

    /// Whether the path is in slow start: cwnd is below ssthresh.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, RFC 3465 with L unbounded): a segment for each one acknowledged, not beyond ssthresh. Returns the
    /// acknowledged segments that are left for congestion avoidance.
    fn slow_start(&mut self, acked: u32) -> u32 {
        let mut window = self.whole();
        let left = window.slow_start(acked);
        self.grown(&window);
        left
    }

    /// Additive increase: a segment for every `w` segments acknowledged.
    fn additive_increase(&mut self, w: f64, acked: u32) {
        let mut window = self.whole();
        window.additive_increase(segments(w), acked);
        self.grown(&window);
    }

    fn __repr__(&self) -> String {
        format!("<Window cwnd={} ssthresh={}>", self.cwnd, self.ssthresh)
    }
}

/// Whole segments of a number; what is none is 0, and infinity the most.
pub(crate) fn segments(value: f64) -> u32 {
    value as u32
}

impl Window {
    pub(crate) fn of(window: &cc::Window) -> Window {
        Window {
            cwnd: window.cwnd.into(),
            ssthresh: threshold(window.ssthresh),
            cwnd_count: window.cwnd_count,
        }
    }

    fn whole(&self) -> cc::Window {
        cc::Window {
            cwnd: segments(self.cwnd),
            ssthresh: segments(self.ssthresh),
            cwnd_count: self.cwnd_count,
        }
    }

    /// Takes over by how many whole segments the window grew: fractions stay.
    fn grown(&mut self, window: &cc::Window) {
        self.cwnd += f64::from(window.cwnd - segments(self.cwnd));
        self.cwnd_count = window.cwnd_count;
    }

    /// As the sender has it now; a fraction of a segment stays as long as whole ones do not change.
    pub(crate) fn follow(&mut self, window: &cc::Window) {
        if segments(self.cwnd) != window.cwnd {
            self.cwnd = window.cwnd.into();
        }
        if segments(self.ssthresh) != window.ssthresh {
            self.ssthresh = threshold(window.ssthresh);
        }
        self.cwnd_count = window.cwnd_count;
    }

    /// Has the sender follow.
    pub(crate) fn lead(&self, window: &mut cc::Window) -> PyResult<()> {
        number("it leaves a window of", self.cwnd)?;
        number("it leaves an ssthresh of", self.ssthresh)?;
        window.cwnd = segments(self.cwnd).clamp(1, cc::Window::MAX_CWND);
        window.ssthresh = segments(self.ssthresh).max(2);
        window.cwnd_count = self.cwnd_count;
        Ok(())
    }
}

fn threshold(ssthresh: u32) -> f64 {
    match ssthresh {
        u32::MAX => f64::INFINITY,
        ssthresh => ssthresh.into(),
    }
}

/// The facts that one incoming ACK brings. Times in ns of the hosts' clock.
#[pyclass(module = "etalon._core", frozen)]
pub(crate) struct Ack(pub(crate) cc::Ack);

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (*, now_ns=0, jiffies=0, acked=1, delivered=1, rtt_ns=None, srtt_ns=0, cwnd_limited=true, ece=false,
                        prior_una=0, una=0, nxt=0, hz=250))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        now_ns: u64,
        jiffies: u64,
        acked: u32,
        delivered: u32,
        rtt_ns: Option<u64>,
        srtt_ns: u64,
        cwnd_limited: bool,
        ece: bool,
        prior_una: u32,
        una: u32,
        nxt: u32,
        hz: u32,
    ) -> Ack {
        Ack(cc::Ack {
            now: now_ns,
            jiffies,
            acked,
            delivered,
            rtt: rtt_ns,
            srtt: srtt_ns,
            cwnd_limited,
            ece,
            prior_una,
            una,
            nxt,
            hz,
        })
    }

    /// When it arrived.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now
    }

    /// Ticks of the host's timer at that moment.
    #[getter]
    fn jiffies(&self) -> u64 {
        self.0.jiffies
    }

    /// Segments newly acknowledged cumulatively, whether or not they were SACKed before.
    #[getter]
    fn acked(&self) -> u32 {
        self.0.acked
    }

    /// Segments newly delivered: by SACK, or cumulatively if they were not SACKed before. Windows grow by these.
    #[getter]
    fn delivered(&self) -> u32 {
        self.0.delivered
    }

    /// Segments newly delivered: another name of `delivered`.
    #[getter]
    fn newly_acked(&self) -> u32 {
        self.0.delivered
    }

    /// Round-trip time of the segment sent last among those newly delivered; None if one was retransmitted (Karn's rule).
    #[getter]
    fn rtt_ns(&self) -> Option<u64> {
        self.0.rtt
    }

    /// Smoothed round-trip time; 0 before the first sample.
    #[getter]
    fn srtt_ns(&self) -> u64 {
        self.0.srtt
    }

    /// The sender was limited by its window.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// ECE flag of the ACK.
    #[getter]
    fn ece(&self) -> bool {
        self.0.ece
    }

    /// SND.UNA before the ACK, a sequence number.
    #[getter]
    fn prior_una(&self) -> u32 {
        self.0.prior_una
    }

    /// SND.UNA after the ACK.
    #[getter]
    fn una(&self) -> u32 {
        self.0.una
    }

    /// SND.NXT.
    #[getter]
    fn nxt(&self) -> u32 {
        self.0.nxt
    }

    /// Timer ticks a second.
    #[getter]
    fn hz(&self) -> u32 {
        self.0.hz
    }
}

/// The delivery rate during one segment's flight: of the segment sent last among those that an ACK newly delivers.
#[pyclass(module = "etalon._core", frozen)]
pub(crate) struct RateSample(pub(crate) cc::RateSample);

#[pymethods]
impl RateSample {
    /// Segments delivered during the flight.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// Segments lost during the flight.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    /// Its length, in ns of the hosts' clock: of sending or of acknowledging, whichever took longer.
    #[getter]
    fn interval_ns(&self) -> u64 {
        self.0.interval
    }

    /// The application, not the window, limited the sender.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.sent.app_limited
    }

    /// Segments a second.
    #[getter]
    fn segments_per_second(&self) -> f64 {
        self.0.segments_per_second()
    }
}

/// A number that a user's code gives.
pub(crate) fn number(what: &str, value: f64) -> PyResult<f64> {
    match value.is_nan() {
        true => Err(value_error(format!("{what} {value}, which is no number"))),
        false => Ok(value),
    }
}
