// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is made of a kernel's log, the ways in which it ends, and what is said of them: with kernels that are none.

mod common;

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use common::{Fake, Written, plan};
use etalon_events::{Counter, Event};
use etalon_linux::{Cause, LinuxError, Options, Output, Run, run};
use etalon_measure::Control;
use etalon_measure::results::Column;
use etalon_scenario::{Program, Scenario};
use etalon_units::{Span, Time};

fn start(fake: &Fake) -> Result<Run, LinuxError> {
    run(
        &plan(),
        &fake.image,
        &Control::default(),
        &Options::default(),
    )
}

/// Half an experiment, from a packet in the warm-up to one at 4 ms.
fn half() -> Written {
    Written::default()
        .packet(400_000, 500_000, 1)
        .say(1_000_000, Event::Begin)
        .packet(3_990_000, 4_000_000, 8949)
}

fn whole() -> Written {
    let counter = |which, value| Event::Counter {
        which,
        flow: 0,
        value,
    };
    Written::default()
        .packet(400_000, 500_000, 1)
        .say(1_000_000, Event::Begin)
        .say(1_000_000, counter(Counter::Received, 8948))
        .say(1_000_000, counter(Counter::Retransmits, 2))
        .packet(3_990_000, 4_000_000, 8949)
        .say(
            5_000_000,
            Event::Done {
                flow: 0,
                bytes: 1_000_000,
            },
        )
        .say(10_000_000, counter(Counter::Received, 1_000_000))
        .say(10_000_000, counter(Counter::Retransmits, 5))
        .say(10_000_000, counter(Counter::Ssthresh, 0x7fff_ffff))
        .say(10_000_000, counter(Counter::Srtt, 80))
        .say(10_000_000, Event::End { complete: true })
}

fn integers<'a>(run: &'a Run, name: &str) -> &'a [i64] {
    let column = run.results.flows.iter().find(|(n, _)| *n == name);
    match column {
        Some((_, Column::Integers(values))) => values,
        _ => panic!("no column {name}"),
    }
}

#[test]
fn a_whole_log_becomes_results_of_the_measured_time() {
    let fake = Fake::new("whole", &whole().0, "echo booting; cat $LOG >&4");
    let run = start(&fake).expect("a run");
    assert_eq!(run.console, "booting\n");
    let meta = &run.results.meta;
    assert!(!meta.partial);
    assert_eq!((meta.simulated_ns, meta.packets_delivered), (10_000_000, 1));
    for (name, value) in [
        ("bytes_delivered", 1_000_000 - 8948),
        ("packet_bytes", 8948),
        ("retransmits", 3),
        ("rtos", -1), // not told
        ("ssthresh", -1),
        ("srtt_ns", 40_000), // 80 us of host time, twice as fast
        ("end_ns", 5_000_000),
    ] {
        assert_eq!(integers(&run, name), [value], "{name}");
    }
}

#[test]
fn the_same_log_gives_the_same_digest_however_it_arrives() {
    let fakes = [
        Fake::new("at-once", &whole().0, "cat $LOG >&4"),
        Fake::new("by-the-byte", &whole().0, "dd if=$LOG bs=7 status=none >&4"),
    ];
    let [one, two] = fakes.map(|fake| start(&fake).expect("a run").results.meta.digest);
    assert_eq!(one, two);
}

#[test]
fn a_panic_is_told_with_the_time_reached_and_the_console() {
    let script = "cat $LOG >&4; echo '[ 1.0] Kernel panic - not syncing: oh no'; exit 1";
    let fake = Fake::new("panic", &half().0, script);
    let error = start(&fake).expect_err("dead");
    assert_eq!(error.cause, Cause::Kernel);
    assert_eq!(
        error.message,
        "The kernel panicked: oh no. It had reached 4ms of 10ms."
    );
    assert!(error.console.contains("not syncing"));
    let partial = error.partial.expect("half a run");
    assert!(partial.results.meta.partial);
    assert_eq!(partial.results.meta.simulated_ns, 4_000_000);
    assert_eq!(integers(&partial, "packet_bytes"), [8948]);
    assert_eq!(integers(&partial, "retransmits"), [-1]);
}

#[test]
fn what_a_dying_kernel_says_ends_its_run() {
    for (name, script, message) in [
        (
            "nothing",
            "exit 3",
            "(exit code 3). It had reached nothing of the experiment yet.",
        ),
        ("signal", "kill -ABRT $$", "The kernel died of signal 6."),
        (
            "killed",
            "kill -KILL $$",
            "perhaps because this machine ran out of memory",
        ),
        (
            "memory",
            "echo 'Out of memory: Killed process 7'; exit 1",
            "The emulated machine has 512 MiB of memory",
        ),
        (
            "half",
            "head -c 40 $LOG >&4",
            "in the middle of a log record",
        ),
        (
            "closed",
            "exec 4>&-; exec sleep 100",
            "The kernel closed its log, did not end, and was killed.",
        ),
        ("left behind", "sleep 30 & exit 1", "(exit code 1)"),
    ] {
        let fake = Fake::new(name, &half().0, script);
        let begun = Instant::now();
        let error = start(&fake).expect_err("dead");
        assert_eq!(error.cause, Cause::Kernel, "{name}");
        assert!(error.message.contains(message), "{name}: {}", error.message);
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
    }
}

#[test]
fn a_failure_that_the_kernel_tells_is_the_message() {
    let sentence = "init cannot run it: no such file.";
    let log = half()
        .say(
            4_000_000,
            Event::Failure {
                len: sentence.len() as u16,
            },
        )
        .data(sentence.as_bytes());
    let fake = Fake::new("failure", &log.0, "cat $LOG >&4; exec sleep 100");
    let error = start(&fake).expect_err("failed");
    assert_eq!((error.cause, &error.message[..]), (Cause::Kernel, sentence));
}

#[test]
fn nonsense_in_the_log_is_a_defect_and_not_a_panic() {
    let day = Event::Day { day: 0 };
    let done = |flow| Event::Done { flow, bytes: 1 };
    for (name, log, message) in [
        ("kind", vec![255; 64], "no known kind"),
        ("back", half().say(1, day).0, "time goes back"),
        (
            "flow",
            half().say(4_000_001, done(9)).0,
            "there is no flow 9",
        ),
        (
            "program",
            half()
                .say(
                    4_000_001,
                    Event::Exited {
                        program: 1,
                        status: 0,
                    },
                )
                .0,
            "no program 1",
        ),
        (
            "bytes",
            half()
                .say(4_000_001, Event::Bytes { len: 4 })
                .data(b"abcd")
                .0,
            "bytes of no packet",
        ),
    ] {
        let fake = Fake::new(
            &format!("garbage-{name}"),
            &log,
            "cat $LOG >&4; exec sleep 100",
        );
        let error = start(&fake).expect_err("garbage");
        assert_eq!(error.cause, Cause::Log, "{name}: {}", error.message);
        assert!(error.message.contains(message), "{name}: {}", error.message);
    }
}

#[test]
fn a_kernel_that_waits_for_input_is_not_given_up() {
    let waits = half().say(4_000_000, Event::Waiting { program: 0 });
    let after = &whole().0[half().0.len()..];
    let log = [&waits.0[..], after].concat();
    let script = format!(
        "head -c {0} $LOG >&4; sleep 1; tail -c +$(({0} + 1)) $LOG >&4",
        waits.0.len()
    );
    let fake = Fake::new("waits", &log, &script);
    let options = Options {
        patience: Duration::from_millis(200),
        ..Options::default()
    };
    let told = run(&plan(), &fake.image, &Control::default(), &options).expect("a run");
    assert!(!told.results.meta.partial);
}

#[test]
fn a_kernel_that_makes_many_hosts_is_given_time_for_them() {
    let mut plan = plan();
    plan.hosts.per_rack = 8;
    let each = Duration::from_millis(100) * plan.hosts.count();
    let fake = Fake::new("boots", &whole().0, "sleep 1000");
    let options = Options {
        patience: Duration::from_millis(100),
        ..Options::default()
    };
    let begun = Instant::now();
    let error = run(&plan, &fake.image, &Control::default(), &options).expect_err("hung");
    assert!(begun.elapsed() > each);
    for part in [
        "while it made the hosts",
        &format!("the plan has {}", plan.hosts.count()),
    ] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_kernel_that_hangs_is_killed_when_patience_ends() {
    let fake = Fake::new(
        "hang",
        &half().0,
        "cat $LOG >&4; echo here; exec sleep 1000",
    );
    let options = Options {
        patience: Duration::from_millis(300),
        ..Options::default()
    };
    let begun = Instant::now();
    let error = run(&plan(), &fake.image, &Control::default(), &options).expect_err("hung");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(
        error.message.contains("nothing for 0.3 s"),
        "{}",
        error.message
    );
    assert!(
        error.message.contains("it had reached 4ms of 10ms"),
        "{}",
        error.message
    );
    assert_eq!(error.console, "here\n");
    assert!(error.partial.is_some());
}

#[test]
fn a_stopped_run_is_partial_and_leaves_no_process() {
    let fake = Fake::new("stop", &half().0, "echo $$; cat $LOG >&4; exec sleep 1000");
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let thread = std::thread::spawn(move || {
        while stopper.progress() == 0.0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        stopper.stop();
    });
    let run = run(&plan(), &fake.image, &control, &Options::default()).expect("a part");
    thread.join().expect("stopped");
    assert!(run.results.meta.partial);
    assert_eq!(run.results.meta.simulated_ns, 4_000_000);
    let pid = run.console.trim();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_flood_on_the_console_does_not_stop_the_log() {
    let script = "yes 'a line of a very talkative kernel' | head -c 20000000; cat $LOG >&4";
    let fake = Fake::new("flood", &whole().0, script);
    let run = start(&fake).expect("a run");
    assert_eq!(run.console.len(), 64 << 10);
}

#[test]
fn the_kernel_has_its_setup_and_no_environment() {
    let script = "unset PATH LOG PWD; head=$(/usr/bin/head -c 7 <&3); /usr/bin/env; echo $head";
    let fake = Fake::new("setup", &[], script);
    let error = start(&fake).expect_err("no log");
    let rest = error.console.replace("_=/usr/bin/env\n", "");
    assert_eq!(rest, "ETALON1\n");
}

#[test]
fn a_kernel_that_is_not_there_or_not_executable_is_said_so() {
    let mut fake = Fake::new("absent", &[], "");
    fake.image.path.pop();
    let error = start(&fake).expect_err("a folder");
    assert_eq!(error.cause, Cause::Boot);
    assert!(error.message.contains("noexec"), "{error}");
    fake.image.path.push("nothing");
    let error = start(&fake).expect_err("nothing");
    assert!(error.message.contains("etalon kernel build"), "{error}");
}

#[test]
fn programs_come_back_with_status_and_output() {
    let log = Written::default()
        .say(
            5,
            Event::Output {
                program: 0,
                stream: 1,
                len: 5,
            },
        )
        .data(b"hello")
        .say(
            7,
            Event::Exited {
                program: 0,
                status: 2 << 8,
            },
        )
        .say(10_000_000, Event::End { complete: true });
    let fake = Fake::new(
        "programs",
        &log.0,
        "tail -c +25 <&3 | strings -n 1 >&2; cat $LOG >&4",
    );
    let options = Options {
        programs: vec![Program {
            rack: 1,
            host: 0,
            command: vec!["echo".into(), "two words".into(), String::new()],
            start: Time(42),
            ..Program::default()
        }],
        folder: Some("/a folder".into()),
        ..Options::default()
    };
    let run = run(&plan(), &fake.image, &Control::default(), &options).expect("a run");
    let [one] = &run.programs[..] else {
        panic!("one program")
    };
    assert_eq!(
        (one.status, one.end_ns, &one.stdout[..]),
        (Some(2), Some(7), &b"hello"[..])
    );
    for lines in [
        "net.ipv4.ip_local_reserved_ports\n5001,40001-40001\n",
        "/a folder\necho\ntwo words\n",
    ] {
        assert!(run.console.contains(lines), "{lines}: {}", run.console);
    }
}

#[test]
fn programs_report_where_demand_is_known_from_hosts() {
    let mut plan = plan();
    let control = serde_json::json!({"scheduler": "solstice", "estimator": {"adu": {"report_ns": 0}}, "window_ns": 2_000_000,
        "min_day_ns": 180_000, "night_ns": 20_000, "threshold_bytes": 1_000_000, "only_big": true,
        "compute_ns": 0, "interval_ns": 0});
    let schedule = plan.schedule.as_mut().expect("a schedule");
    schedule.control = serde_json::from_value(control).expect("a control loop");
    let options = Options {
        programs: vec![Program {
            rack: 1,
            host: 0,
            command: vec!["echo".into()],
            start: Time(0),
            ..Program::default()
        }],
        ..Options::default()
    };
    let log = Written::default().say(10_000_000, Event::End { complete: true });
    let script = "tail -c +25 <&3 | strings -n 1 >&2; cat $LOG >&4";
    let start = |fake: &Fake| run(&plan, &fake.image, &Control::default(), &options);

    let fake = Fake::new("reporting", &log.0, script);
    let library = fake.image.path.with_file_name("libadu.so");
    let refused = start(&fake).expect_err("no library").message;
    assert!(
        refused.starts_with(&format!("There is no {}, which", library.display())),
        "{refused}"
    );
    std::fs::write(&library, "").expect("a library");
    let console = start(&fake).expect("a run").console;
    for line in [
        format!("LD_PRELOAD={}", library.display()),
        "ETALON_ADU=172.31.255.254:5300".to_owned(),
    ] {
        assert!(console.lines().any(|l| l == line), "{line}: {console}");
    }

    for name in ["a space", "a:colon"] {
        let fake = Fake::new(name, &log.0, script);
        std::fs::write(fake.image.path.with_file_name("libadu.so"), "").expect("a library");
        let refused = start(&fake).expect_err("a list").message;
        assert!(refused.contains("a space or a colon"), "{refused}");
    }
}

/// What an MPI program preloads anyway stays, behind what asks for circuits.
#[test]
fn programs_whose_collectives_ask_preload_what_does() {
    let plan = plan();
    let env = vec![
        "ETALON_ASK=ring".to_owned(),
        "LD_PRELOAD=/own.so".to_owned(),
    ];
    let options = Options {
        programs: vec![Program {
            command: vec!["echo".into()],
            env,
            ..Program::default()
        }],
        ..Options::default()
    };
    let log = Written::default().say(10_000_000, Event::End { complete: true });
    let script = "tail -c +25 <&3 | strings -n 1 >&2; cat $LOG >&4";
    let fake = Fake::new("asking", &log.0, script);
    let start = || run(&plan, &fake.image, &Control::default(), &options);
    let library = fake.image.path.with_file_name("libask.so");
    let refused = start().expect_err("no library").message;
    assert!(
        refused.contains("libask.so, which programs preload"),
        "{refused}"
    );
    std::fs::write(&library, "").expect("a library");
    let console = start().expect("a run").console;
    let line = format!("LD_PRELOAD={}:/own.so", library.display());
    assert!(console.lines().any(|l| l.ends_with(&line)), "{console}");
}

/// The log of a program that writes `pieces` pieces of text.
fn talkative(pieces: u64) -> Written {
    let output = Event::Output {
        program: 0,
        stream: 1,
        len: 5,
    };
    let log = (0..pieces).fold(Written::default(), |log, i| {
        log.say(i, output).data(b"hello")
    });
    log.say(10_000_000, Event::End { complete: true })
}

fn heard_by(output: SyncSender<Output>) -> Options {
    Options {
        programs: vec![Program {
            rack: 0,
            host: 0,
            command: vec!["echo".into()],
            start: Time(0),
            ..Program::default()
        }],
        output: Some(output),
        patience: Duration::from_millis(300),
        ..Options::default()
    }
}

#[test]
fn a_listener_that_is_behind_is_waited_for() {
    let fake = Fake::new("behind", &talkative(50).0, "cat $LOG >&4");
    let (sender, receiver) = sync_channel(2);
    let listener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1)); // longer than the kernel may be silent
        receiver.iter().count()
    });
    let run = run(&plan(), &fake.image, &Control::default(), &heard_by(sender)).expect("a run");
    assert_eq!(listener.join().expect("an end"), 50);
    assert_eq!(run.programs[0].stdout.len(), 50 * 5);
}

#[test]
fn a_stopped_run_does_not_wait_for_its_listener() {
    let fake = Fake::new("deaf", &talkative(50).0, "cat $LOG >&4");
    let (sender, receiver) = sync_channel(2);
    let control = Control::default();
    let begun = Instant::now();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&plan(), &fake.image, &control, &heard_by(sender)));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!run.is_finished(), "nobody waited");
        control.stop();
        run.join().expect("an end").expect("a part")
    });
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(receiver.iter().count(), 2);
    assert_eq!(run.programs[0].stdout.len(), 50 * 5);
}

#[test]
fn hosts_are_told_how_their_tcp_is_set() {
    let fake = Fake::new(
        "tcp",
        &whole().0,
        "tail -c +25 <&3 | strings -n 1 >&2; cat $LOG >&4",
    );
    let console = |plan: &Scenario| {
        let run = run(plan, &fake.image, &Control::default(), &Options::default());
        run.expect("a run").console
    };
    let mut plan = plan();
    let defaults = console(&plan);
    for lines in [
        "net.ipv4.tcp_rmem\n4096 131072 6291456\n",
        "net.ipv4.tcp_sack\n1\n",
        "net.ipv4.tcp_ecn\n2\n",
        "net.ipv4.tcp_moderate_rcvbuf\n1\n",
    ] {
        assert!(defaults.contains(lines), "{lines}: {defaults}");
    }
    assert!(!defaults.contains("reserved_ports"), "{defaults}");

    plan.tcp.sack = false;
    plan.tcp.ecn = true;
    plan.tcp.max_receive_buffer_bytes = plan.tcp.receive_buffer_bytes;
    Arc::make_mut(&mut plan.flows[0].cc_params).insert("beta".into(), 0.5);
    let changed = console(&plan);
    for lines in [
        "net.ipv4.tcp_rmem\n4096 131072 131072\n",
        "net.ipv4.tcp_sack\n0\n",
        "net.ipv4.tcp_ecn\n1\n",
        "net.ipv4.tcp_moderate_rcvbuf\n0\n",
        "/sys/module/tcp_cubic/parameters/beta\n512\n",
    ] {
        assert!(changed.contains(lines), "{lines}: {changed}");
    }
}

#[test]
fn what_linux_cannot_do_is_refused_before_it_starts() {
    let fake = Fake::new("refused", &[], "exit 1");
    let refused = |change: fn(&mut Scenario)| {
        let mut plan = plan();
        change(&mut plan);
        let error = run(&plan, &fake.image, &Control::default(), &Options::default());
        let error = error.expect_err("refused");
        assert_eq!(error.cause, Cause::Plan);
        error.message
    };
    assert!(refused(|p| p.tcp.hz = 1000).contains("250 timer ticks"));
    assert!(refused(|p| p.tcp.max_delayed_ack = Span(1)).contains("tcp.max_delayed_ack"));
    assert!(refused(|p| p.tcp.min_rto = Span(1_500_000)).contains("milliseconds"));
    assert!(refused(|p| p.flows = vec![p.flows[0].clone(); 20_001]).contains("20000"));
    assert!(
        refused(|p| {
            p.flows.push(p.flows[0].clone());
            Arc::make_mut(&mut p.flows[0].cc_params).insert("beta".into(), 0.5);
        })
        .contains("different parameters")
    );
    assert!(
        refused(|p| {
            Arc::make_mut(&mut p.flows[0].cc_params).insert("c".into(), 0.5);
        })
        .contains("no such parameter")
    );
}
