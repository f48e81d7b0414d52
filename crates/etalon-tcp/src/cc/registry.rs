// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of congestion controls, by name and with their parameters, and one static dispatch over all of them.

use core::fmt;

use super::CongestionControl;

/// A parameter of a congestion control, as a plan file or the command line sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is if it is not set.
    pub default: f64,
    /// The smallest value allowed.
    pub min: f64,
    /// The largest value allowed.
    pub max: f64,
    /// Only whole numbers make sense; a switch is a whole number from 0 to 1.
    pub whole: bool,
    /// What it does, in one sentence.
    pub description: &'static str,
}

impl Parameter {
    /// A parameter that is off (0) or on (1).
    #[must_use]
    pub const fn switch(name: &'static str, on: bool, description: &'static str) -> Self {
        let default = if on { 1.0 } else { 0.0 };
        Self {
            name,
            default,
            min: 0.0,
            max: 1.0,
            whole: true,
            description,
        }
    }

    /// A parameter that is a number between `min` and `max`, both included.
    #[must_use]
    pub const fn number(
        name: &'static str,
        default: f64,
        min: f64,
        max: f64,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            default,
            min,
            max,
            whole: false,
            description,
        }
    }
}

/// What the registry knows about a congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is and where it is defined, in one sentence.
    pub description: &'static str,
    /// Its parameters, in the order that [`Configured::configured`] takes them.
    pub parameters: &'static [Parameter],
}

/// A congestion control that the registry can make from parameters.
pub trait Configured: CongestionControl + Sized {
    /// The parameters it has.
    const PARAMETERS: &'static [Parameter];

    /// A new instance. `values` holds one value for each of [`Self::PARAMETERS`], in their order and within their
    /// ranges.
    fn configured(values: &[f64]) -> Self;
}

/// Why a congestion control could not be made. Displays as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum CcError {
    /// There is none of that name.
    UnknownName {
        /// The name asked for.
        name: String,
    },
    /// It has no such parameter.
    UnknownParameter {
        /// The congestion control.
        info: &'static Info,
        /// The parameter asked for.
        parameter: String,
    },
    /// The parameter does not take that value.
    BadValue {
        /// The congestion control.
        info: &'static Info,
        /// Its parameter.
        parameter: &'static Parameter,
        /// The value asked for.
        value: f64,
    },
}

impl fmt::Display for CcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name } => {
                write!(f, "There is no congestion control '{name}'; there are ")?;
                enumerate(f, super::list().iter().map(|info| info.name))
            }
            Self::UnknownParameter { info, parameter } => {
                write!(f, "'{}' has no parameter '{parameter}'; it has ", info.name)?;
                enumerate(f, info.parameters.iter().map(|parameter| parameter.name))
            }
            Self::BadValue {
                info,
                parameter:
                    Parameter {
                        name,
                        min,
                        max,
                        whole,
                        ..
                    },
                value,
            } => {
                let kind = if *whole { "a whole number" } else { "a number" };
                write!(
                    f,
                    "'{name}' of '{}' must be {kind} from {min} to {max}, not {value}.",
                    info.name
                )
            }
        }
    }
}

impl std::error::Error for CcError {}

fn enumerate(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'static str>) -> fmt::Result {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return f.write_str("none.");
    }
    write!(f, "{}.", names.join(", "))
}

/// One value for each parameter of `info`: the default, unless `given` has another. The last one of a name counts.
pub(super) fn resolve(info: &'static Info, given: &[(&str, f64)]) -> Result<Vec<f64>, CcError> {
    let mut values: Vec<f64> = info
        .parameters
        .iter()
        .map(|parameter| parameter.default)
        .collect();
    for &(name, value) in given {
        let Some(index) = info
            .parameters
            .iter()
            .position(|parameter| parameter.name == name)
        else {
            return Err(CcError::UnknownParameter {
                info,
                parameter: name.to_owned(),
            });
        };
        let parameter = &info.parameters[index];
        // Written so that NaN is refused, too.
        let in_range = value >= parameter.min && value <= parameter.max;
        if !in_range || (parameter.whole && value.fract() != 0.0) {
            return Err(CcError::BadValue {
                info,
                parameter,
                value,
            });
        }
        values[index] = value;
    }
    Ok(values)
}

/// Makes [`Any`](super::Any) and [`list`](super::list) from one line per congestion control.
macro_rules! registry {
    ($($name:literal => $algorithm:ident, $description:literal;)+) => {
        /// Any of the registered congestion controls, dispatched without a virtual call.
        #[derive(Clone, Debug)]
        pub enum Any {
            $(#[doc = $description] $algorithm($algorithm),)+
            /// One of another crate.
            Foreign(Foreign),
        }

        const LIST: &[Info] = &[$(Info {
            name: $name,
            description: $description,
            parameters: <$algorithm as Configured>::PARAMETERS,
        },)+];

        impl Any {
            /// The congestion control called `name` with `params`; those not given have their defaults.
            ///
            /// # Errors
            ///
            /// If there is none of that name, or it has no such parameter, or the value is out of range.
            pub fn by_name(name: &str, params: &[(&str, f64)]) -> Result<Self, CcError> {
                let Some(info) = LIST.iter().find(|info| info.name == name) else {
                    return Err(CcError::UnknownName { name: name.to_owned() });
                };
                let values = registry::resolve(info, params)?;
                match name {
                    $($name => Ok(Self::$algorithm(<$algorithm as Configured>::configured(&values))),)+
                    _ => unreachable!("the name is in the list"),
                }
            }

            /// Its name, as [`Any::by_name`] takes it.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$algorithm(_) => $name,)+
                    Self::Foreign(cc) => cc.control().name(),
                }
            }

            /// It belongs to this flow from now on, which is for messages alone.
            pub fn belongs_to(&mut self, flow: u32) {
                if let Self::Foreign(cc) = self {
                    cc.control_mut().belongs_to(flow);
                }
            }
        }

        impl CongestionControl for Any {
            #[inline]
            fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_ack(window, ack),)+
                    Self::Foreign(cc) => cc.control_mut().on_ack(window, ack),
                }
            }

            fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_rate_sample(window, sample),)+
                    Self::Foreign(cc) => cc.control_mut().on_rate_sample(window, sample),
                }
            }

            fn steer(&mut self, window: &mut Window, report: &Report) {
                match self {
                    $(Self::$algorithm(cc) => cc.steer(window, report),)+
                    Self::Foreign(cc) => cc.control_mut().steer(window, report),
                }
            }

            fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_open(window, min_rtt, mss),)+
                    Self::Foreign(cc) => cc.control_mut().on_open(window, min_rtt, mss),
                }
            }

            fn on_telemetry(&mut self, window: &mut Window, echo: &Echo<'_>) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_telemetry(window, echo),)+
                    Self::Foreign(cc) => cc.control_mut().on_telemetry(window, echo),
                }
            }

            #[inline]
            fn increase(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Self::$algorithm(cc) => cc.increase(window, ack),)+
                    Self::Foreign(cc) => cc.control_mut().increase(window, ack),
                }
            }

            #[inline]
            fn increase_by(&mut self, window: &mut Window, delivered: u32, cwnd_limited: bool) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.increase_by(window, delivered, cwnd_limited),)+
                    Self::Foreign(cc) => cc.control_mut().increase_by(window, delivered, cwnd_limited),
                }
            }

            #[inline]
            fn ssthresh(&mut self, window: &Window, now: u64) -> u32 {
                match self {
                    $(Self::$algorithm(cc) => cc.ssthresh(window, now),)+
                    Self::Foreign(cc) => cc.control_mut().ssthresh(window, now),
                }
            }

            #[inline]
            fn on_state(&mut self, window: &mut Window, state: State, now: u64) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_state(window, state, now),)+
                    Self::Foreign(cc) => cc.control_mut().on_state(window, state, now),
                }
            }

            #[inline]
            fn on_restart(&mut self, window: &mut Window, now: u64, idle: u64) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_restart(window, now, idle),)+
                    Self::Foreign(cc) => cc.control_mut().on_restart(window, now, idle),
                }
            }

            #[inline]
            fn on_new_path(&mut self, since: u64, nxt: u32) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_new_path(since, nxt),)+
                    Self::Foreign(cc) => cc.control_mut().on_new_path(since, nxt),
                }
            }

            #[inline]
            fn on_tdn(&mut self, window: &mut Window, tdn: PathId, now: u64) {
                match self {
                    $(Self::$algorithm(cc) => cc.on_tdn(window, tdn, now),)+
                    Self::Foreign(cc) => cc.control_mut().on_tdn(window, tdn, now),
                }
            }

            #[inline]
            fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
                match self {
                    $(Self::$algorithm(cc) => cc.undo(window, prior_cwnd),)+
                    Self::Foreign(cc) => cc.control_mut().undo(window, prior_cwnd),
                }
            }

            #[inline]
            fn pacing_rate(&self, window: &Window, mss: u32) -> Option<u64> {
                match self {
                    $(Self::$algorithm(cc) => cc.pacing_rate(window, mss),)+
                    Self::Foreign(cc) => cc.control().pacing_rate(window, mss),
                }
            }

            #[inline]
            fn wants_pacing(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.wants_pacing(),)+
                    Self::Foreign(cc) => cc.control().wants_pacing(),
                }
            }

            #[inline]
            fn wants_rate_samples(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.wants_rate_samples(),)+
                    Self::Foreign(cc) => cc.control().wants_rate_samples(),
                }
            }

            #[inline]
            fn steers(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.steers(),)+
                    Self::Foreign(cc) => cc.control().steers(),
                }
            }

            #[inline]
            fn paces_chunks(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.paces_chunks(),)+
                    Self::Foreign(cc) => cc.control().paces_chunks(),
                }
            }

            #[inline]
            fn wants_telemetry(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.wants_telemetry(),)+
                    Self::Foreign(cc) => cc.control().wants_telemetry(),
                }
            }

            #[inline]
            fn wants_tdns(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.wants_tdns(),)+
                    Self::Foreign(cc) => cc.control().wants_tdns(),
                }
            }

            #[inline]
            fn wants_dctcp_feedback(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.wants_dctcp_feedback(),)+
                    Self::Foreign(cc) => cc.control().wants_dctcp_feedback(),
                }
            }

            #[inline]
            fn reads_ece_without_ecn(&self) -> bool {
                match self {
                    $(Self::$algorithm(cc) => cc.reads_ece_without_ecn(),)+
                    Self::Foreign(cc) => cc.control().reads_ece_without_ecn(),
                }
            }
        }
    };
}
pub(super) use registry;

#[cfg(test)]
mod tests {
    use super::super::{Any, list};

    #[test]
    fn every_name_makes_what_it_names() {
        for info in list() {
            assert_eq!(Any::by_name(info.name, &[]).unwrap().name(), info.name);
            assert!(info.description.ends_with('.'));
            for parameter in info.parameters {
                let made = |value| Any::by_name(info.name, &[(parameter.name, value)]);
                assert!(parameter.min <= parameter.default && parameter.default <= parameter.max);
                assert!(made(parameter.min).is_ok() && made(parameter.max).is_ok());
                assert!(
                    made(parameter.min - 0.001).is_err() && made(parameter.max + 0.001).is_err()
                );
                assert!(made(f64::NAN).is_err());
                assert!(!parameter.whole || made(0.5).is_err());
            }
        }
    }

    fn names() -> String {
        let names: Vec<&str> = list().iter().map(|info| info.name).collect();
        names.join(", ")
    }

    #[test]
    fn errors_are_sentences() {
        let error =
            |name, params: &[(&str, f64)]| Any::by_name(name, params).unwrap_err().to_string();
        assert_eq!(
            error("cubik", &[]),
            format!(
                "There is no congestion control 'cubik'; there are {}.",
                names()
            )
        );
        assert_eq!(
            error("reno", &[("beta", 0.5)]),
            "'reno' has no parameter 'beta'; it has none."
        );
        assert_eq!(
            error("retcp", &[("gamma", 0.5)]),
            "'retcp' has no parameter 'gamma'; it has alpha, beta."
        );
        assert_eq!(
            error("retcp", &[("alpha", 0.5)]),
            "'alpha' of 'retcp' must be a number from 1 to 64, not 0.5."
        );
        assert_eq!(
            error("cubic", &[("hystart", 0.5)]),
            "'hystart' of 'cubic' must be a whole number from 0 to 1, not 0.5."
        );
    }
}
