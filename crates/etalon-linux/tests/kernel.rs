// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs on a real kernel: `cargo build -p etalon-linux --example run`, which a test starts, then
//! `ETALON_KERNEL=<image of HZ 250> cargo test -p etalon-linux --test kernel -- --ignored`.

#[path = "kernel/computed_weeks.rs"]
mod computed_weeks;
#[path = "../../libadu/tests/preloaded/installed.rs"]
mod installed;
#[path = "kernel/processors.rs"]
mod processors;
#[path = "kernel/programs.rs"]
mod programs;
#[path = "kernel/trees.rs"]
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use etalon_linux::{Image, Mode, Options, Run, run};
use etalon_measure::results::{Column, Table};
use etalon_measure::{Control, TraceRequest};
use etalon_scenario::{Marking, Network, Program, Resize, Scenario};
use etalon_units::{Rate, Span, Time};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use programs::bash;
use serde_json::{Value, json};

fn image() -> Image {
    let path = std::env::var("ETALON_KERNEL").expect("ETALON_KERNEL names a kernel's image");
    Image {
        path: path.into(),
        hz: 250,
    }
}

fn tcp() -> Value {
    json!({"hz": 250, "min_rto_ns": 200_000_000u64, "initial_cwnd": 10, "min_delayed_ack_ns": 40_000_000,
        "max_delayed_ack_ns": 200_000_000, "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
        "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3})
}

fn bulk(cc: &str, flows: u16) -> Value {
    (0..flows)
        .map(|i| {
            json!({"src_rack": 0, "src_host": i, "dst_rack": 1, "dst_host": i, "cc": cc, "start_ns": 0})
        })
        .collect()
}

/// The mimicked strobe of NSDI'20.
fn strobe(weeks: u64, cc: &str) -> Scenario {
    plan(&strobe_json(weeks, cc))
}

fn strobe_json(weeks: u64, cc: &str) -> Value {
    let day =
        |sources: [i32; 3]| json!({"sources": sources, "day_ns": 180_000, "night_ns": 20_000});
    let mut days = vec![day([1, 2, 0]); 23];
    days.push(day([2, 0, 1]));
    json!({"seed": 1, "tdf": 20, "duration_ns": weeks * 4_800_000, "warmup_ns": 9_600_000,
        "hosts": {"racks": 3, "per_rack": 16, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 2000, "jitter_ns": 1000},
        "network": {"rdcn": {
            "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
                "internal_queue": 3, "hold_queue": 5},
            "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000}],
            "voq": {"packets": 16}}},
        "schedule": {"configurations": days},
        "tcp": tcp(), "flows": bulk(cc, 16), "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

/// [`strobe`] with late and lost notifications, and flows of all transports in turn.
fn notified(weeks: u64) -> Scenario {
    let mut plan = strobe_json(weeks, "cubic");
    plan["network"]["rdcn"]["notify"] = json!({"before_ns": 5000, "delay_ns": 700, "jitter_ns": 9000, "lost_ppm": 50_000, "each_ns": 0});
    let tdtcp = json!({"tdtcp": {"relaxed": true, "pipe": "own", "rtt": "matched", "update": "pull", "options": true,
        "pace_burst": false}});
    let mptcp =
        json!({"mptcp": {"subflows": 2, "scheduler": "tdm", "acks": "pinned", "reinject": true}});
    let transports = [json!("tcp"), tdtcp, mptcp];
    for (index, flow) in plan["flows"]
        .as_array_mut()
        .expect("flows")
        .iter_mut()
        .enumerate()
    {
        flow["transport"] = transports[index % 3].clone();
    }
    self::plan(&plan)
}

/// One queue of 100 packets at 10 Gb/s, RTT 60 us.
fn dumbbell(flows: &Value) -> Scenario {
    plan(
        &json!({"seed": 1, "tdf": 1, "duration_ns": 50_000_000, "warmup_ns": 0,
        "hosts": {"racks": 2, "per_rack": 4, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 0, "jitter_ns": 1000},
        "network": {"dumbbell": {
            "stages": [{"rate_bps": 10_000_000_000u64, "queue_packets": 100, "delay_ns": 30_000}],
            "return_stages": [{"rate_bps": null, "queue_packets": null, "delay_ns": 30_000}]}},
        "tcp": tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3}}),
    )
}

fn plan(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).expect("a good plan")
}

fn ran(plan: &Scenario, options: &Options) -> Run {
    match run(plan, &image(), &Control::default(), options) {
        Ok(run) => run,
        Err(e) => panic!("{e}\n{}", e.console),
    }
}

fn integers<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::Integers(values))) => values,
        _ => panic!("no column {name}"),
    }
}

#[test]
#[ignore = "needs a kernel"]
fn the_same_plan_is_the_same_run_also_beside_another() {
    let plan = strobe(12, "cubic");
    let digest = || ran(&plan, &Options::default()).results.meta.digest;
    let alone = digest();
    assert_eq!(digest(), alone);
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(digest)).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("a run"))
            .collect()
    });
    assert!(
        together.iter().all(|d| *d == alone),
        "{alone}: {together:?}"
    );
    let mut other = plan.clone();
    other.seed = 2;
    assert_ne!(ran(&other, &Options::default()).results.meta.digest, alone);
}

#[test]
#[ignore = "needs a kernel"]
fn the_network_in_the_kernel_is_the_network_outside() {
    let mut marked = strobe(10, "dctcp");
    let mut dynamic = strobe(10, "retcp");
    let mut bypass = strobe(10, "cubic");
    for plan in [&mut marked, &mut dynamic, &mut bypass] {
        let Network::Rdcn(network) = &mut plan.network else {
            panic!("a reconfigurable network")
        };
        match &plan.flows[0].cc[..] {
            "dctcp" => {
                network.marking = Some(Marking {
                    threshold: 5,
                    threshold_big: 10,
                });
            }
            "retcp" => {
                network.ece_in_advance = Some(Span(150_000));
                network.voq.resize = Some(Resize {
                    packets: 50,
                    in_advance: Span(150_000),
                });
            }
            _ => network.ack_bypass = Some(Span(20_000)),
        }
    }
    let options = Options {
        verify: true,
        ..Options::default()
    };
    for (plan, least) in [
        (&strobe(10, "cubic"), 5000),
        (&marked, 5000),
        (&dynamic, 5000),
        (&bypass, 5000),
        (&dumbbell(&bulk("bbr", 4)), 5000),
        (&notified(10), 5000),
    ] {
        let run = ran(plan, &options);
        assert!(
            run.verified.is_some_and(|packets| packets > least),
            "{:?}",
            run.verified
        );
    }
    let run = ran(&marked, &options);
    assert!(integers(&run.results.pairs, "marked")[0] > 0);
}

#[test]
#[ignore = "needs a kernel"]
fn flows_of_some_bytes_end() {
    let flows: Value = (0..40)
        .map(|i| {
            json!({"src_rack": i % 2, "src_host": i % 4, "dst_rack": 1 - i % 2, "dst_host": (i + 1) % 4,
                "cc": "cubic", "start_ns": i * 100_000, "bytes": 1 + 20_000 * i})
        })
        .collect();
    let mut plan = dumbbell(&flows);
    // Long enough for what only a timeout of 200 ms repairs.
    plan.duration = Span(2_000_000_000);
    let run = ran(&plan, &Options::default());
    let flows = &run.results.flows;
    let ends = integers(flows, "end_ns");
    let starts = integers(flows, "start_ns");
    assert!(
        ends.iter().zip(starts).all(|(end, start)| end > start),
        "{ends:?}"
    );
    assert_eq!(integers(flows, "bytes"), integers(flows, "bytes_delivered"));
}

/// Three hosts of a rack, and one of the other, send to the fourth host of the rack at the same time.
fn incast(downlink: Option<u32>) -> Scenario {
    let flow = |rack: u8, host: u8| {
        json!({"src_rack": rack, "src_host": host, "dst_rack": 0, "dst_host": 3, "cc": "reno",
            "start_ns": 0, "bytes": 89_480})
    };
    let mut plan = dumbbell(&json!([flow(0, 0), flow(0, 1), flow(0, 2), flow(1, 0)]));
    plan.hosts.jitter = Span::ZERO;
    plan.hosts.delay = Span(1000);
    plan.hosts.downlink_queue = downlink;
    plan
}

#[test]
#[ignore = "needs a kernel"]
fn flows_within_a_rack_take_the_time_that_they_take_in_the_simulator() {
    let options = Options {
        verify: true,
        ..Options::default()
    };
    // 40 packets of 9014 bytes at 40 Gb/s.
    let together = 40 * 1803;
    for downlink in [None, Some(100)] {
        let plan = incast(downlink);
        let linux = ran(&plan, &options);
        assert!(linux.verified.is_some_and(|packets| packets > 40));
        let sim = etalon_sim::run(&plan, &Control::default()).expect("a run");
        let [linux, sim] = [linux.results, sim].map(|r| integers(&r.flows, "end_ns")[..3].to_vec());
        for (linux, sim) in linux.iter().zip(&sim) {
            assert!((linux - sim).abs() < 5_000, "{linux} and {sim}");
        }
        let last = *linux.iter().max().expect("three");
        assert_eq!(last > together * 3 / 4, downlink.is_some(), "{last}");
    }
    let run = ran(&incast(Some(8)), &options);
    let dropped: i64 = integers(&run.results.pairs, "dropped_downlink")
        .iter()
        .sum();
    assert!(dropped > 0, "{dropped}");
}

#[test]
#[ignore = "needs a kernel"]
fn a_flow_that_has_connected_sends_at_once() {
    // Beyond a retransmission timeout: the first window is as after a handshake (RFC 2861 halves what has grown).
    let flow = |connect: u64| {
        json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 1, "cc": "reno",
            "connect_ns": connect, "start_ns": 300_000_000, "bytes": 44_740}])
    };
    let time = |connect: u64| {
        let mut plan = dumbbell(&flow(connect));
        plan.duration = Span(310_000_000);
        let linux = ran(&plan, &Options::default()).results;
        let sim = etalon_sim::run(&plan, &Control::default()).expect("a run");
        let [linux, sim] = [linux, sim].map(|r| integers(&r.flows, "end_ns")[0] - 300_000_000);
        assert!((linux - sim).abs() < 1_000, "{linux} and {sim}");
        linux
    };
    let handshake = time(300_000_000) - time(0);
    // Two delays of 30 us, and little more.
    assert!((60_000..64_000).contains(&handshake), "{handshake}");
}

#[test]
#[ignore = "needs a kernel"]
fn a_connection_that_is_killed_before_its_start_sends_nothing() {
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 1, "cc": "reno",
        "connect_ns": 0, "start_ns": 1_000_000, "stop_ns": 900_000, "bytes": 44_740}]);
    let run = ran(&dumbbell(&flow), &Options::default());
    assert_eq!(integers(&run.results.flows, "bytes_delivered")[0], 0);
    assert_eq!(integers(&run.results.flows, "end_ns")[0], -1);
}

#[test]
#[ignore = "needs a kernel"]
fn a_stopped_run_keeps_what_it_has_and_leaves_nothing() {
    let folder = Folder::new("stopped");
    let image = folder.image();
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let thread = std::thread::spawn(move || {
        while stopper.progress() < 0.02 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopper.stop();
    });
    let run = run(
        &strobe(2000, "cubic"),
        &image,
        &control,
        &Options::default(),
    )
    .expect("a part");
    thread.join().expect("stopped");
    assert!(run.results.meta.partial);
    assert!(run.results.meta.packets_delivered > 0);
    assert_eq!(processes(&image.path), Vec::<String>::new());
    assert_eq!(folder.files(), ["kernel"]);
}

#[test]
#[ignore = "needs a kernel"]
fn a_kernel_that_is_killed_is_said_so() {
    let folder = Folder::new("killed");
    let image = folder.image();
    let path = image.path.clone();
    let killer = std::thread::spawn(move || {
        loop {
            if let Some(pid) = processes(&path).first() {
                std::thread::sleep(Duration::from_millis(700));
                let pid = Pid::from_raw(pid.parse().expect("a number"));
                return kill(pid, Signal::SIGKILL).expect("killed");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let plan = strobe(2000, "cubic");
    let error = run(&plan, &image, &Control::default(), &Options::default()).expect_err("killed");
    killer.join().expect("killed");
    assert!(error.message.contains("The kernel was killed"), "{error}");
    assert!(error.partial.is_some());
    assert_eq!(processes(&image.path), Vec::<String>::new());
}

#[test]
#[ignore = "needs a kernel"]
fn a_parent_that_is_killed_leaves_nothing() {
    let folder = Folder::new("orphan");
    let image = folder.image();
    let plan = folder.0.join("plan.json");
    let mut value = strobe_json(5000, "cubic");
    value["programs"] = json!([{"rack": 2, "host": 3, "start_ns": 1,
        "command": ["sh", "-c", "while true; do sleep 0.01; done"]}]);
    fs::write(&plan, value.to_string()).expect("a plan");
    // Cargo builds examples beside the folder of tests.
    let test = std::env::current_exe().expect("this program");
    let build = test
        .parent()
        .and_then(Path::parent)
        .expect("a build folder");
    // From the kernel's first instructions to the middle of its experiment.
    for wait in [
        0, 1, 3, 10, 20, 40, 80, 120, 160, 200, 250, 300, 400, 600, 1000, 1500,
    ] {
        let mut parent = Command::new(build.join("examples/run"))
            .args([&image.path, &plan])
            .spawn()
            .expect("a parent");
        let begun = Instant::now();
        while processes(&image.path).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no kernel");
        }
        std::thread::sleep(Duration::from_millis(wait));
        parent.kill().expect("killed");
        let status = parent.wait().expect("dead");
        assert_eq!(
            status.code(),
            None,
            "the experiment was over before the kill"
        );
        let mut left = processes(&image.path);
        for _ in 0..100 {
            if left.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            left = processes(&image.path);
        }
        assert_eq!(left, Vec::<String>::new(), "after {wait} ms");
    }
    assert_eq!(folder.files(), ["kernel", "plan.json"]);
}

/// The core's memory grows with interrupts off, here past the largest block of the kernel's allocator.
#[test]
#[ignore = "needs a kernel"]
fn a_queue_may_hold_more_than_a_hundred_thousand_packets() {
    let mut plan = dumbbell(&json!([]));
    let Network::Dumbbell(network) = &mut plan.network else {
        panic!("a dumbbell")
    };
    network.stages[0].rate = Some(Rate(1_000_000));
    network.stages[0].queue_packets = None;
    network.stages[0].delay = Span::from_secs(1); // so that nobody says that nobody listens
    let flood = "dd if=/dev/zero bs=1 count=120000 status=none > /dev/udp/10.0.1.1/9";
    let options = Options {
        programs: vec![bash((0, 0), flood)],
        memory_mib: Some(512),
        verify: true,
        ..Options::default()
    };
    let run = ran(&plan, &options);
    assert_eq!(run.programs[0].status, Some(0), "{:?}", run.programs[0]);
    // All but the few that the link has sent are in the queue.
    assert!(run.verified > Some(119_000), "{:?}", run.verified);
}

/// Where there are no weeks, the watchdog hears of the packets that are.
#[test]
#[ignore = "needs a kernel"]
fn a_program_that_computes_long_and_sends_little_is_not_taken_for_hung() {
    let mut plan = dumbbell(&json!([]));
    plan.duration = Span(10_000_000_000);
    // No child processes: with some behind it, bash makes system calls at every step.
    let compute = "for ((j = 0; j < 50000; j++)); do :; done";
    let begun = Instant::now();
    let native = Command::new("bash").args(["-c", compute]).status();
    assert!(native.expect("bash").success());
    let once = begun.elapsed();
    let patience = Duration::from_secs(3) + 8 * once;
    let mut times = 2 * patience.as_micros() / once.as_micros();
    // What computing takes there is known afterwards only: until it took longer than the patience.
    loop {
        let work = format!(
            "for ((i = 0; i < {times}; i++)); do
                {compute}
                for j in 1 2 3 4 5; do echo > /dev/udp/10.0.1.1/9; done
            done"
        );
        let options = Options {
            programs: vec![bash((0, 0), &work)],
            patience,
            mode: Mode::Exec,
            ..Options::default()
        };
        let begun = Instant::now();
        let run = ran(&plan, &options);
        assert_eq!(run.programs[0].status, Some(0), "{:?}", run.programs[0]);
        if begun.elapsed() > patience {
            return;
        }
        times *= 2;
    }
}

#[test]
#[ignore = "needs a kernel"]
fn a_trace_has_the_packets_and_ends_the_run() {
    let folder = Folder::new("trace");
    let path = folder.0.join("a.pcapng");
    let options = Options {
        trace: Some(TraceRequest {
            start: Time(20_000_000),
            end: Time(20_400_000),
            pcapng: Some(path.clone()),
        }),
        ..Options::default()
    };
    let run = ran(&strobe(10, "cubic"), &options);
    assert_eq!(run.results.meta.simulated_ns, 20_400_000);
    let events = run.events.expect("events");
    let times = integers(&events, "t_ns");
    assert!(times.len() > 50);
    assert!(times.iter().all(|t| (20_000_000..20_400_000).contains(t)));
    let bytes = fs::read(&path).expect("a capture");
    // Every packet's Ethernet type and its IPv4 header without options.
    let packets = bytes.windows(4).filter(|w| *w == [8, 0, 0x45, 0]).count();
    assert!(packets > 50, "{packets}");
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("kernel-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// A copy of the kernel, whose processes can be told from others.
    fn image(&self) -> Image {
        let path = self.0.join("kernel");
        // In a process of its own: what another test starts meanwhile would have the file open for writing.
        let mut copy = Command::new("cp");
        let copied = copy.arg(image().path).arg(&path).status().expect("cp");
        assert!(copied.success(), "no copy");
        Image { path, hz: 250 }
    }

    fn files(&self) -> Vec<String> {
        let all = fs::read_dir(&self.0).expect("a folder");
        let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
        let mut names: Vec<String> = all
            .map(|e| name(e).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Processes of this program, and of what was started by it.
fn processes(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        if fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == path) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort_by_key(|pid| pid.parse::<u32>().unwrap_or(u32::MAX));
    found
}
