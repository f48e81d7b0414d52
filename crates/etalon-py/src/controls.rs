// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls that users wrote in Python.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use etalon_sim::{Control, MakeControl};
use etalon_tcp::PathId;
use etalon_tcp::cc::{self, CongestionControl, ForeignControl, Reno, State};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::control_types::{Ack, RateSample, Window, number, segments};
use crate::plugins::Raised;

/// A class in Python, with its parameters.
struct Written {
    name: &'static str,
    /// `etalon.custom.control.Written`.
    python: Py<PyAny>,
    make: Py<PyAny>,
    hooks: Hooks,
    wants_pacing: bool,
    wants_rate_samples: bool,
    wants_dctcp_feedback: bool,
    reads_ece_without_ecn: bool,
    raised: Raised,
    /// A hook has raised something: no more is called.
    failed: AtomicBool,
    control: Arc<Control>,
}

/// Names of hooks, of those that the class has.
#[derive(Default)]
struct Hooks {
    on_ack: Option<Py<PyString>>,
    on_every_ack: Option<Py<PyString>>,
    on_loss: Option<Py<PyString>>,
    on_state: Option<Py<PyString>>,
    on_restart: Option<Py<PyString>>,
    on_rate_sample: Option<Py<PyString>>,
    on_tdn: Option<Py<PyString>>,
    undo: Option<Py<PyString>>,
    pacing_rate: Option<Py<PyString>>,
}

impl Written {
    fn new(
        name: &str,
        python: &Bound<'_, PyAny>,
        raised: Raised,
        control: Arc<Control>,
    ) -> PyResult<Written> {
        let py = python.py();
        let overridden: Vec<String> = python.getattr("hooks")?.extract()?;
        let switches = python.getattr("switches")?;
        let switch = |name: &str| switches.get_item(name)?.extract::<bool>();
        let hook = |name: &str| {
            let is_own = overridden.iter().any(|own| own == name);
            is_own.then(|| PyString::intern(py, name).unbind())
        };
        Ok(Written {
            name: interned(name),
            make: python.getattr("make")?.unbind(),
            hooks: Hooks {
                on_ack: hook("on_ack"),
                on_every_ack: hook("on_every_ack"),
                on_loss: hook("on_loss"),
                on_state: hook("on_state"),
                on_restart: hook("on_restart"),
                on_rate_sample: hook("on_rate_sample"),
                on_tdn: hook("on_tdn"),
                undo: hook("undo"),
                pacing_rate: hook("pacing_rate"),
            },
            wants_pacing: switch("wants_pacing")?,
            wants_rate_samples: switch("wants_rate_samples")?,
            wants_dctcp_feedback: switch("wants_dctcp_feedback")?,
            reads_ece_without_ecn: switch("reads_ece_without_ecn")?,
            python: python.clone().unbind(),
            raised,
            failed: AtomicBool::new(false),
            control,
        })
    }
}

impl Written {
    /// Keeps what a hook raised, and has the run end.
    #[cold]
    fn fail(&self, py: Python<'_>, hook: &Py<PyString>, flow: u32, error: PyErr) {
        self.failed.store(true, Ordering::Relaxed);
        let value = error.clone_ref(py).into_value(py); // with its traceback
        let said = self
            .python
            .bind(py)
            .call_method1("failed", (hook.bind(py), flow, value));
        self.raised.keep(match said {
            Ok(said) => PyErr::from_value(said),
            Err(_) => error,
        });
        self.control.stop();
    }
}

/// One path's congestion control in Python. Its instance is made when it is first needed: most ends only receive.
pub(crate) struct Foreign {
    written: Arc<Written>,
    flow: u32,
    made: OnceCell<Made>,
}

struct Made {
    instance: Py<PyAny>,
    window: Py<Window>,
}

/// A hook that is being called.
struct Call<'a, 'py> {
    py: Python<'py>,
    made: &'a Made,
    name: &'a Py<PyString>,
}

impl<'py> Call<'_, 'py> {
    fn call<A: PyCallArgs<'py>>(&self, arguments: A) -> PyResult<Bound<'py, PyAny>> {
        let instance = self.made.instance.bind(self.py);
        instance.call_method1(self.name.bind(self.py), arguments)
    }

    /// As [`call`](Call::call), of a hook that returns nothing.
    fn tell<A: PyCallArgs<'py>>(&self, arguments: A) -> PyResult<()> {
        self.call(arguments).map(drop)
    }

    fn window(&self) -> Py<Window> {
        self.made.window.clone_ref(self.py)
    }
}

impl Foreign {
    fn new(written: Arc<Written>) -> Foreign {
        Foreign {
            written,
            flow: u32::MAX,
            made: OnceCell::new(),
        }
    }

    /// Calls a hook, if the class has it; none if it has not, and if it raises something.
    #[inline]
    fn hook<R>(
        &self,
        which: fn(&Hooks) -> &Option<Py<PyString>>,
        window: &cc::Window,
        call: impl FnOnce(&Call<'_, '_>) -> PyResult<R>,
    ) -> Option<R> {
        let name = which(&self.written.hooks).as_ref()?;
        if self.written.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let called = self.made(py, window).and_then(|made| {
                made.window.borrow_mut(py).follow(window);
                call(&Call { py, made, name })
            });
            called
                .map_err(|error| self.written.fail(py, name, self.flow, error))
                .ok()
        })
    }

    /// Calls a hook that may change the window, which then is as the hook leaves it. False if the class has no such hook, and if
    /// it raises something: then the window stays.
    #[inline]
    fn tell(
        &self,
        which: fn(&Hooks) -> &Option<Py<PyString>>,
        window: &mut cc::Window,
        call: impl FnOnce(&Call<'_, '_>) -> PyResult<()>,
    ) -> bool {
        let before = *window;
        let told = self.hook(which, &before, |hook| {
            call(hook)?;
            hook.made.window.borrow(hook.py).lead(window)
        });
        told.is_some()
    }

    fn made(&self, py: Python<'_>, window: &cc::Window) -> PyResult<&Made> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let instance = self.written.make.call0(py)?;
        let window = Py::new(py, Window::of(window))?;
        Ok(self.made.get_or_init(|| Made { instance, window }))
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign")
            .field("name", &self.written.name)
            .finish_non_exhaustive()
    }
}

impl ForeignControl for Foreign {
    fn fresh(&self) -> Box<dyn ForeignControl> {
        Box::new(Foreign::new(self.written.clone()))
    }

    fn name(&self) -> &'static str {
        self.written.name
    }

    fn belongs_to(&mut self, flow: u32) {
        self.flow = flow;
    }
}

impl CongestionControl for Foreign {
    fn on_ack(&mut self, window: &mut cc::Window, ack: &cc::Ack) {
        self.tell(
            |h| &h.on_every_ack,
            window,
            |h| h.tell((h.window(), Ack(*ack))),
        );
    }

    fn on_rate_sample(&mut self, window: &mut cc::Window, sample: &cc::RateSample) {
        self.tell(
            |h| &h.on_rate_sample,
            window,
            |h| h.tell((h.window(), RateSample(*sample))),
        );
    }

    fn increase(&mut self, window: &mut cc::Window, ack: &cc::Ack) {
        if self.written.hooks.on_ack.is_none() {
            Reno.increase(window, ack);
        } else if ack.cwnd_limited {
            self.tell(|h| &h.on_ack, window, |h| h.tell((h.window(), Ack(*ack))));
        }
    }

    fn ssthresh(&mut self, window: &cc::Window, now: u64) -> u32 {
        let mut after = *window;
        match self.tell(|h| &h.on_loss, &mut after, |h| h.tell((h.window(),))) {
            true => after.ssthresh.min(cc::Window::MAX_CWND),
            false => Reno.ssthresh(window, now),
        }
    }

    fn on_state(&mut self, window: &mut cc::Window, state: State, now: u64) {
        self.tell(
            |h| &h.on_state,
            window,
            |h| h.tell((h.window(), PyString::intern(h.py, name_of(state)), now)),
        );
    }

    fn on_restart(&mut self, window: &mut cc::Window, now: u64, idle: u64) {
        self.tell(
            |h| &h.on_restart,
            window,
            |h| h.tell((h.window(), now, idle)),
        );
    }

    fn on_tdn(&mut self, window: &mut cc::Window, tdn: PathId, _now: u64) {
        self.tell(|h| &h.on_tdn, window, |h| h.tell((h.window(), tdn)));
    }

    fn wants_tdns(&self) -> bool {
        self.written.hooks.on_tdn.is_some()
    }

    fn undo(&mut self, window: &cc::Window, prior_cwnd: u32) -> u32 {
        let found = self.hook(
            |h| &h.undo,
            window,
            |h| {
                let answer: f64 = h.call((h.window(), prior_cwnd))?.extract()?;
                number("undo answers", answer)
            },
        );
        match found {
            Some(cwnd) => segments(cwnd).clamp(1, cc::Window::MAX_CWND),
            None => Reno.undo(window, prior_cwnd),
        }
    }

    fn pacing_rate(&self, window: &cc::Window, mss: u32) -> Option<u64> {
        let found = self.hook(
            |h| &h.pacing_rate,
            window,
            |h| {
                let answer: Option<f64> = h.call((h.window(), mss))?.extract()?;
                let rate = answer.map(|rate| number("pacing_rate answers", rate));
                rate.transpose()
            },
        );
        found.flatten().map(|rate| (rate as u64).max(1))
    }

    fn wants_pacing(&self) -> bool {
        self.written.wants_pacing
    }

    fn wants_rate_samples(&self) -> bool {
        self.written.wants_rate_samples
    }

    fn wants_dctcp_feedback(&self) -> bool {
        self.written.wants_dctcp_feedback
    }

    fn reads_ece_without_ecn(&self) -> bool {
        self.written.reads_ece_without_ecn
    }
}

/// A name that lasts: each is kept once, however many runs have it.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

fn name_of(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::LimitedTransmit => "limited-transmit",
        State::Cwr => "cwr",
        State::FastRecovery => "fast-recovery",
        State::Timeout => "timeout",
    }
}

/// What makes the controls of a run, of a function of name and parameters that gives an `etalon.custom.control.Written`.
pub(crate) fn maker(make: Py<PyAny>, raised: Raised, control: Arc<Control>) -> MakeControl {
    Box::new(move |name, params| {
        Python::attach(|py| {
            let given = PyDict::new(py);
            for (name, value) in params {
                given.set_item(name, value)?;
            }
            let python = make.bind(py).call1((name, given))?;
            let written = Written::new(name, &python, raised.clone(), control.clone())?;
            let foreign = Foreign::new(Arc::new(written));
            Ok(cc::Any::Foreign(cc::Foreign::new(Box::new(foreign))))
        })
        .map_err(|error: PyErr| {
            let said = error.to_string();
            raised.keep(error);
            said
        })
    })
}
