// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processors runs take.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// The processors that a process may use, and its process group, which is the run's.
fn placed(pid: &str) -> Option<(String, String)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let group = stat.rsplit(')').next()?.split_whitespace().nth(2)?;
    Some((group.to_string(), allowed.trim().to_string()))
}

/// How many runs of this machine have claimed a processor.
fn claims() -> usize {
    let sockets = fs::read_to_string("/proc/net/unix").expect("/proc/net/unix");
    sockets.matches("@etalon-processor-").count()
}

#[test]
#[ignore = "needs a kernel"]
fn a_run_keeps_to_one_processor_and_another_run_to_another() {
    let folder = Folder::new("processors");
    let image = folder.image();
    let plan = strobe(200, "cubic");
    let sleeps = Options {
        programs: vec![bash((0, 0), "sleep 1000")],
        ..Options::default()
    };
    let controls = [Control::default(), Control::default()];
    let mut seen = BTreeMap::<String, BTreeSet<String>>::new();
    let mut alone = claims() == 0;
    std::thread::scope(|scope| {
        for control in &controls {
            scope.spawn(|| run(&plan, &image, control, &sleeps).expect("a part"));
        }
        while controls.iter().any(|one| one.progress() < 0.01) {
            for (group, allowed) in processes(&image.path).iter().filter_map(|pid| placed(pid)) {
                seen.entry(group).or_default().insert(allowed);
            }
            alone &= claims() <= 2;
            std::thread::sleep(Duration::from_millis(2));
        }
        // What was there for a moment only, between fork and exec, is no run.
        let left: BTreeSet<_> = processes(&image.path)
            .iter()
            .filter_map(|pid| placed(pid))
            .map(|(group, _)| group)
            .collect();
        seen.retain(|group, _| left.contains(group));
        for control in &controls {
            control.stop();
        }
    });
    let only: Vec<Vec<&String>> = seen.values().map(|those| those.iter().collect()).collect();
    let [one, other] = &only[..] else {
        panic!("two runs: {seen:?}");
    };
    assert_eq!((one.len(), other.len()), (1, 1), "{seen:?}");
    for allowed in [one[0], other[0]] {
        assert!(allowed.parse::<u32>().is_ok(), "{seen:?}");
    }
    // Beside the runs of other tests, these two may have to share.
    if alone && std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        assert_ne!(one, other);
    }
}
