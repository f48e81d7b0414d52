// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weeks that are computed from demand, on real hosts.

use etalon_measure::{Example, Results};
use etalon_switch::Matching;

use super::*;

const WEEK: u64 = 2_000_000;
const BIG: i64 = 30_000_000;
const SMALL: i64 = 90_000;

/// Etalon'18's network with four racks, for `weeks` weeks.
fn computed(weeks: u64, estimator: &str, flows: &Value) -> Value {
    let mut plan = strobe_json(weeks, "reno");
    plan["duration_ns"] = json!(weeks * WEEK);
    plan["warmup_ns"] = json!(0);
    plan["hosts"]["racks"] = json!(4);
    plan["hosts"]["per_rack"] = json!(2);
    let estimator = match estimator {
        "adu" => json!({"adu": {"report_ns": 0}}),
        other => json!(other),
    };
    let idle = json!({"sources": [-1, -1, -1, -1], "day_ns": WEEK - 20_000, "night_ns": 20_000});
    let control = json!({"scheduler": "solstice", "estimator": estimator, "window_ns": WEEK,
        "min_day_ns": 180_000, "night_ns": 20_000, "threshold_bytes": 1_000_000,
        "only_big": estimator != json!("voq"), "compute_ns": 100_000, "interval_ns": 0});
    plan["schedule"] = json!({"configurations": [idle], "control": control});
    plan["flows"] = flows.clone();
    plan
}

/// A ring of big flows, one after the other from each rack, and small flows across it.
fn ring() -> Value {
    let flow = |from: u64, to: u64, host: u64, start_ns: u64, bytes: i64| {
        json!({"src_rack": from, "src_host": host, "dst_rack": to, "dst_host": host, "cc": "reno",
            "start_ns": start_ns, "bytes": bytes})
    };
    let mut flows = Vec::new();
    for n in 0..16 {
        let (rack, round) = (n % 4, n / 4);
        let start = round * 12_000_000 + rack * 500_000;
        flows.push(flow(rack, (rack + 1) % 4, round % 2, start, BIG));
        // Many, because each finds its queue empty or not.
        for k in 0..8 {
            let start = round * 11_000_000 + rack * 3_000_000 + k * 430_000;
            flows.push(flow(rack, (rack + 2) % 4, 0, start, SMALL));
        }
    }
    Value::Array(flows)
}

fn largest(run: &etalon_measure::Results) -> Example {
    let computed = run.meta.computed.clone().expect("computed weeks");
    computed.largest.expect("some demand")
}

/// The completion time of flows of `bytes`, in nanoseconds: the geometric mean. Their median is one of 125 or 160 us by chance, for as many
/// small flows find their queue empty as do not.
fn typical(runs: &[Results], bytes: i64) -> f64 {
    let mut logarithms = Vec::new();
    for run in runs {
        let [sizes, starts, ends] =
            ["bytes", "start_ns", "end_ns"].map(|name| integers(&run.flows, name));
        let of_size = (0..sizes.len()).filter(|&flow| sizes[flow] == bytes && ends[flow] >= 0);
        logarithms.extend(of_size.map(|flow| ((ends[flow] - starts[flow]) as f64).ln()));
    }
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

#[test]
#[ignore = "needs a kernel"]
fn weeks_are_computed_on_linux_as_on_the_simulator() {
    let options = Options {
        verify: true,
        ..Options::default()
    };
    for estimator in ["adu", "voq", "oracle"] {
        let mut value = computed(60, estimator, &ring());
        value["end_when_done"] = json!(true);
        let plan = super::plan(&value);
        let linux = ran(&plan, &options);
        assert_eq!(
            ran(&plan, &Options::default()).results.meta.digest,
            linux.results.meta.digest,
            "{estimator}: the same plan"
        );
        // The differential test has adopted the same weeks.
        assert!(linux.verified > Some(50_000), "{:?}", linux.verified);
        let sim = etalon_sim::run(&plan, &Control::default()).expect("a run");
        for run in [&linux.results, &sim] {
            // The ring, whoever computed the week.
            let ring = Matching::new(vec![Some(3), Some(0), Some(1), Some(2)]).expect("a ring");
            let week = largest(run).week;
            let of_ring = week.configurations().iter().filter(|c| c.matching == ring);
            let days: u64 = of_ring.map(|c| c.day.0).sum();
            assert!(2 * days > WEEK, "{estimator}: {week:?}");
            let all = run.meta.simulated_ns;
            assert!((20 * WEEK..60 * WEEK).contains(&all), "{estimator}: {all}");
        }
        let mut runs = [vec![linux.results], vec![sim]];
        for seed in [2, 3] {
            value["seed"] = json!(seed);
            let plan = super::plan(&value);
            runs[0].push(ran(&plan, &Options::default()).results);
            runs[1].push(etalon_sim::run(&plan, &Control::default()).expect("a run"));
        }
        for class in [BIG, SMALL] {
            let [here, there] = runs.each_ref().map(|runs| typical(runs, class));
            println!("{estimator}, {class} bytes: Linux {here:.0} ns, simulator {there:.0} ns");
            assert!(
                (0.85..1.18).contains(&(here / there)),
                "{estimator}, {class} bytes: {here} {there}"
            );
        }
    }
}

#[test]
#[ignore = "needs a kernel"]
fn a_scheduler_without_a_week_ends_the_run_with_a_sentence() {
    let mut plan = computed(5, "voq", &ring());
    plan["schedule"]["control"]["scheduler"] = json!("strobe");
    plan["schedule"]["control"]["window_ns"] = json!(400_000);
    let refused = run(
        &super::plan(&plan),
        &image(),
        &Control::default(),
        &Options::default(),
    );
    let said = refused.expect_err("no week").message;
    assert!(
        said.contains("3 days and nights need a window of 600us, which is longer than 400us"),
        "{said}"
    );
    plan["schedule"]["control"]["scheduler"] = json!("sostice");
    let refused = run(
        &super::plan(&plan),
        &image(),
        &Control::default(),
        &Options::default(),
    );
    let said = refused.expect_err("no scheduler").message;
    assert!(
        said.starts_with("there is no scheduler 'sostice'"),
        "{said}"
    );
}

/// A program in Python.
fn python((rack, host): (u16, u16), start_ns: u64, script: &str) -> Program {
    Program {
        rack,
        host,
        command: ["python3", "-c", script].map(String::from).to_vec(),
        start: Time(start_ns),
        ..Program::default()
    }
}

/// Reads all that comes on a port until nothing is left, and says how much.
const READER: &str = "
import socket
server = socket.create_server(('', 8000))
connection, _ = server.accept()
got = 0
while data := connection.recv(1 << 20):
    got += len(data)
print(got)
";

/// One write, of parts that are one piece of memory: a process may have only so many pages.
fn writer(to: &str, bytes: u64) -> String {
    let part = bytes.min(1_000_000);
    let parts = bytes / part;
    format!(
        "
import socket
connection = socket.create_connection(('{to}', 8000))
connection.sendmsg([bytes({part})] * {parts})
connection.close()
"
    )
}

#[test]
#[ignore = "needs a kernel"]
fn what_programs_write_is_demanded() {
    let options = Options {
        programs: vec![
            python((1, 0), 0, READER),
            python((3, 0), 0, READER),
            python((0, 0), 1_000_000, &writer("r1h0", 40_000_000)),
            python((2, 0), 1_000_000, &writer("r3h0", 50_000)),
        ],
        verify: true,
        ..Options::default()
    };
    let plan = super::plan(&computed(40, "adu", &json!([])));
    let run = ran(&plan, &options);
    let said: Vec<_> = run.programs.iter().map(|p| &p.stdout[..]).collect();
    assert_eq!(said[..2], [&b"40000000\n"[..], b"50000\n"]);
    for program in &run.programs {
        assert_eq!((program.status, &program.stderr[..]), (Some(0), &b""[..]));
    }
    // One write of 40 MB, less what the packet network carried in less than a week, at 10 Gb/s.
    let Example { demand, week, .. } = largest(&run.results);
    let [src, dst] = [0, 1];
    let asked = demand[src * 4 + dst];
    assert!((37_500_000..=40_000_000).contains(&asked), "{demand:?}");
    let matching = &week.configurations()[0].matching;
    assert_eq!(matching.source_of(1), Some(0));
    // Only the big demand has circuits: of 40 MB at the hosts' 40 Gb/s, most in four or five weeks.
    let pairs = &run.results.pairs;
    let circuit = |src, dst| {
        let of = |row: &usize| {
            (integers(pairs, "src")[*row], integers(pairs, "dst")[*row]) == (src, dst)
        };
        let row = (0..integers(pairs, "src").len()).find(of).expect("a pair");
        integers(pairs, "circuit_payload_bytes")[row]
    };
    assert!(circuit(0, 1) > 35_000_000, "{}", circuit(0, 1));
    assert!(circuit(2, 3) < 50_000, "{}", circuit(2, 3));
    // When all is carried, nothing is demanded any more.
    let computed = run.results.meta.computed.expect("computed weeks");
    assert!(computed.weeks > 35 && computed.days <= 8, "{computed:?}");
    assert_eq!(
        ran(&plan, &options).results.meta.digest,
        run.results.meta.digest
    );
}

#[test]
#[ignore = "needs a kernel"]
fn a_program_that_is_killed_leaves_no_demand() {
    let mut options = Options {
        programs: vec![
            python((1, 0), 0, READER),
            python((0, 0), 1_000_000, &writer("r1h0", 400_000_000)),
            bash(
                (0, 0),
                "sleep 0.1
                for process in /proc/[0-9]*; do
                    read -r name < $process/comm && [ \"$name\" = python3 ] && kill -9 ${process#/proc/}
                done",
            ),
        ],
        ..Options::default()
    };
    let days = |options: &Options| {
        let run = ran(&super::plan(&computed(30, "adu", &json!([]))), options);
        run.results.meta.computed.expect("computed weeks").days
    };
    // At 5 ms of 60; without that 400 MB last longer than the run.
    let killed = days(&options);
    assert!((1..6).contains(&killed), "{killed}");
    options.programs.pop();
    let unharmed = days(&options);
    assert!(unharmed > 25, "{unharmed}");
}

#[test]
#[ignore = "needs a kernel"]
fn programs_do_not_see_a_control_network_that_nobody_needs() {
    let options = Options {
        programs: vec![bash(
            (0, 0),
            "ls /sys/class/net; echo $ETALON_ADU $LD_PRELOAD",
        )],
        ..Options::default()
    };
    let devices = |estimator| {
        let run = ran(&super::plan(&computed(10, estimator, &json!([]))), &options);
        String::from_utf8_lossy(&run.programs[0].stdout).into_owned()
    };
    assert_eq!(devices("voq"), "eth0\nlo\n\n");
    let controlled = devices("adu");
    assert!(
        controlled.starts_with("ctl0\neth0\nlo\n172.31.255.254:5300 /"),
        "{controlled}"
    );
    assert!(controlled.ends_with("/libadu.so\n"), "{controlled}");
}
