// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a resolved plan on a kernel: `run IMAGE PLAN.json`; prints the digest of what happened.

use std::error::Error;

use etalon_linux::{Image, Options, run};
use etalon_measure::Control;
use etalon_scenario::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [image, plan] = &arguments[..] else {
        return Err("usage: run IMAGE PLAN.json".into());
    };
    let plan = Scenario::from_json(&std::fs::read_to_string(plan)?)?;
    let image = Image {
        path: image.into(),
        hz: plan.tcp.hz,
    };
    let options = Options {
        verify: true,
        ..Options::default()
    };
    let run = run(&plan, &image, &Control::default(), &options)?;
    println!("{}", run.results.meta.digest);
    Ok(())
}
