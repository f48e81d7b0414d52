// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of congestion controls, as the kernel knows them: module parameters, integers, one value for all flows.

use crate::LinuxError;

/// The kernel's name of a parameter, and its value there.
struct Setting {
    name: &'static str,
    value: u64,
}

/// The file of the kernel that holds parameter `name` of congestion control `cc`, and what to write into it.
///
/// # Errors
/// A sentence: the kernel's has no such parameter, or it cannot have that value.
pub(crate) fn setting(cc: &str, name: &str, value: f64) -> Result<(String, u64), LinuxError> {
    let refuse = |why: &str| {
        Err(LinuxError::plan(format!(
            "Linux cannot set '{name}' of congestion control '{cc}' to {value}: {why}."
        )))
    };
    let scaled = |name, scale: u32| {
        let value = (value * f64::from(scale)).round();
        (0.0..=f64::from(u32::MAX))
            .contains(&value)
            .then_some(Setting {
                name,
                value: value as u64,
            })
    };
    let known = match (cc, name) {
        ("cubic", "beta") => scaled("beta", 1 << 10),
        ("cubic", "fast_convergence") => scaled("fast_convergence", 1),
        ("cubic", "reno_friendly") => scaled("tcp_friendliness", 1),
        ("cubic", "hystart") => scaled("hystart", 1),
        ("dctcp", "alpha") => scaled("dctcp_alpha_on_init", 1 << 10),
        ("dctcp", "g") => match (0..=10).find(|&n| value == f64::from(1u32 << n).recip()) {
            None => return refuse("it must be a power of one half, from 1 down to 1/1024"),
            Some(shift) => Some(Setting {
                name: "dctcp_shift_g",
                value: shift,
            }),
        },
        ("retcp", "alpha") => scaled("alpha", 1 << 16),
        ("retcp", "beta") => scaled("beta", 1 << 16),
        // The kernel's own, in its own units.
        _ => match OWN.iter().find(|own| (own.0, own.1) == (cc, name)) {
            None => return refuse("the kernel's has no such parameter"),
            Some(_) if value.fract() != 0.0 => return refuse("it must be a whole number"),
            Some(own) => scaled(own.1, 1),
        },
    };
    match known {
        None => refuse("it is out of range"),
        Some(Setting { name, value }) => {
            Ok((format!("/sys/module/tcp_{cc}/parameters/{name}"), value))
        }
    }
}

/// Parameters that only the kernel has.
const OWN: [(&str, &str); 20] = [
    ("bic", "beta"),
    ("bic", "fast_convergence"),
    ("bic", "low_window"),
    ("bic", "max_increment"),
    ("bic", "smooth_part"),
    ("cdg", "backoff_beta"),
    ("cdg", "backoff_factor"),
    ("cdg", "hystart_detect"),
    ("cdg", "use_ineff"),
    ("cdg", "use_shadow"),
    ("cdg", "use_tolerance"),
    ("htcp", "use_bandwidth_switch"),
    ("htcp", "use_rtt_scaling"),
    ("hybla", "rtt0"),
    ("nv", "nv_min_cwnd"),
    ("nv", "nv_pad"),
    ("nv", "nv_reset_period"),
    ("vegas", "alpha"),
    ("vegas", "beta"),
    ("vegas", "gamma"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cc: &str, name: &str, value: f64) -> Option<(String, u64)> {
        setting(cc, name, value).ok()
    }

    #[test]
    fn shared_parameters_are_turned_into_the_kernels_units() {
        for (cc, name, value, file, written_as) in [
            ("cubic", "beta", 0.7, "tcp_cubic/parameters/beta", 717),
            (
                "cubic",
                "reno_friendly",
                0.0,
                "tcp_cubic/parameters/tcp_friendliness",
                0,
            ),
            (
                "dctcp",
                "g",
                0.0625,
                "tcp_dctcp/parameters/dctcp_shift_g",
                4,
            ),
            (
                "dctcp",
                "alpha",
                1.0,
                "tcp_dctcp/parameters/dctcp_alpha_on_init",
                1024,
            ),
            ("retcp", "beta", 0.5, "tcp_retcp/parameters/beta", 32768),
            ("bic", "beta", 819.0, "tcp_bic/parameters/beta", 819),
        ] {
            let file = format!("/sys/module/{file}");
            assert_eq!(written(cc, name, value), Some((file, written_as)));
        }
    }

    #[test]
    fn what_the_kernel_cannot_do_is_refused() {
        for (cc, name, value) in [
            ("cubic", "c", 0.4),
            ("dctcp", "g", 0.1),
            ("bic", "beta", 0.5),
            ("reno", "beta", 0.5),
            ("cubic", "beta", -1.0),
            ("cubic", "beta", f64::NAN),
        ] {
            let error = setting(cc, name, value).expect_err("refused");
            assert!(error.message.contains(cc), "{error}");
        }
    }
}
