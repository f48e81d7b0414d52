// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two hosts in private network namespaces, a cgroup, a controller and the agent, which all go with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, gettid};

use crate::installed::{installed, left_out};

/// Patience with a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

type Work = Box<dyn FnOnce() + Send>;

/// A private network namespace, kept by a thread.
pub struct Space {
    work: Sender<Work>,
    pub tid: Pid,
}

impl Space {
    fn new() -> Option<Self> {
        let (work, inbox) = channel::<Work>();
        let (told, ready) = channel();
        thread::spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).is_ok();
            told.send(made.then(gettid)).unwrap();
            for work in inbox {
                work();
            }
        });
        Some(Self {
            work,
            tid: ready.recv().ok()??,
        })
    }

    /// Does something in the namespace.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (told, result) = channel();
        self.work
            .send(Box::new(move || drop(told.send(work()))))
            .unwrap();
        result.recv().expect("the work did not panic")
    }

    pub fn output(&self, mut command: Command) -> Output {
        self.run(move || command.output().expect("the program runs"))
    }

    /// A line for the shell, which must succeed; what it prints.
    pub fn sh(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-ec", line]);
        let output = self.output(command);
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

/// host (10.77.1.1, fd00:77:1::1) --- peer (10.77.1.2, fd00:77:1::2), and behind the peer 10.78.0.0/16.
pub struct Lab {
    pub host: Space,
    pub peer: Space,
    pub cgroup: Cgroup,
    pub folder: tempfile::TempDir,
}

/// A private cgroup.
pub struct Cgroup(pub PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn cgroup() -> Option<Cgroup> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "otcp-agent-test-{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    );
    let folder = etalon_otcp_agent::kernel::cgroup_root()?.join(name);
    std::fs::create_dir(&folder).ok()?;
    Some(Cgroup(folder))
}

impl Lab {
    /// None, with a sentence, where this is not permitted.
    pub fn new() -> Option<Self> {
        installed("ip", "iproute2")?;
        Self::try_new().map_err(left_out).ok()
    }

    fn try_new() -> Result<Self, &'static str> {
        let no_namespace = "this test needs private network namespaces: root";
        let host = Space::new().ok_or(no_namespace)?;
        let peer = Space::new().ok_or(no_namespace)?;
        let cgroup = cgroup()
            .ok_or("this test needs a private cgroup: root, and cgroup v2 mounted for writing")?;
        let up = "ip link set lo up; echo reno > /proc/sys/net/ipv4/tcp_congestion_control;
                  echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad;
                  echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad";
        host.sh(up);
        peer.sh(up);
        host.sh(&format!(
            "ip link add h0 type veth peer name p0 netns {}",
            peer.tid
        ));
        peer.sh("ip addr add 10.77.1.2/24 dev p0; ip addr add fd00:77:1::2/64 dev p0 nodad; ip link set p0 up;
                 ip addr add 10.78.1.1/32 dev lo; ip addr add 10.79.1.1/32 dev lo");
        host.sh("ip addr add 10.77.1.1/24 dev h0; ip addr add fd00:77:1::1/64 dev h0 nodad; ip link set h0 up;
                 ip route add 10.78.0.0/16 via 10.77.1.2; ip route add 10.79.0.0/16 via 10.77.1.2 metric 50");
        let folder =
            tempfile::tempdir().map_err(|_| "this test needs a folder for temporary files")?;
        Ok(Self {
            host,
            peer,
            cgroup,
            folder,
        })
    }

    /// All that the agent could change here. The IPv6 routes of a new link come late.
    pub fn found(&self) -> String {
        self.host
            .sh("ip -d route show table all; ip -6 -d route show table all")
    }

    /// What [`Self::found`] says once it does not change any more.
    pub fn settled(&self) -> String {
        let mut last = self.found();
        loop {
            thread::sleep(Duration::from_millis(300));
            let now = self.found();
            if now == last {
                return now;
            }
            last = now;
        }
    }

    /// The routes of the agent.
    pub fn ours(&self) -> String {
        self.host
            .sh("ip -d route show proto 79; ip -6 -d route show proto 79")
    }

    /// A program in the cgroup, on the host.
    pub fn in_cgroup(&self, command: &[&str]) -> Command {
        let mut shell = Command::new("sh");
        let procs = self.cgroup.0.join("cgroup.procs");
        shell
            .args([
                "-c",
                &format!("echo $$ > {} && exec \"$@\"", procs.display()),
                "sh",
            ])
            .args(command);
        shell
    }

    /// Starts the agent; `more` follows the usual options.
    pub fn agent(&self, controller: &str, more: &[&str]) -> Agent {
        self.agent_from(&binary(), &[], controller, more)
    }

    /// The same, from a copy, started by a program before it.
    pub fn agent_from(
        &self,
        binary: &Path,
        before: &[&str],
        controller: &str,
        more: &[&str],
    ) -> Agent {
        let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        words.extend([
            text(binary.to_owned()),
            "--controller".into(),
            controller.to_owned(),
            "--host".into(),
            "h1".into(),
        ]);
        words.extend([
            "--cgroup".into(),
            text(self.cgroup.0.clone()),
            "--run".into(),
            text(self.folder.path().join("run")),
        ]);
        words.extend(["--metrics".into(), text(self.folder.path().join("metrics"))]);
        words.extend(more.iter().map(|word| (*word).to_owned()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stderr(Stdio::piped());
        let mut child = self
            .host
            .run(move || command.spawn().expect("the agent starts"));
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, written) = (
            BufReader::new(child.stderr.take().unwrap()),
            Arc::clone(&log),
        );
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                written.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Agent { child, log }
    }

    /// A value of the agent's metrics.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = std::fs::read_to_string(self.folder.path().join("metrics")).ok()?;
        text.lines().find_map(|line| {
            line.strip_prefix("etalon_otcp_agent_")?
                .strip_prefix(name)?
                .trim()
                .parse()
                .ok()
        })
    }
}

/// The program: of this build, or the one in the environment's OTCP_AGENT.
pub fn binary() -> PathBuf {
    std::env::var_os("OTCP_AGENT").map_or_else(
        || env!("CARGO_BIN_EXE_etalon-otcp-agent").into(),
        PathBuf::from,
    )
}

/// An agent that is killed with the test.
pub struct Agent {
    pub child: Child,
    log: Arc<Mutex<String>>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until it has said this.
    pub fn says(&self, text: &str) {
        wait(
            || format!("the agent says {text:?}: {}", self.log()),
            || self.log().contains(text),
        );
    }

    pub fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        let status = self.child.wait().unwrap();
        assert!(
            signal == Signal::SIGKILL || status.success(),
            "{status}: {}",
            self.log()
        );
    }
}

/// Waits until something is true.
pub fn eventually(what: &str, check: impl Fn() -> bool) {
    wait(|| what.to_owned(), check);
}

fn wait(what: impl Fn() -> String, check: impl Fn() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(
            start.elapsed() < PATIENCE,
            "in {PATIENCE:?} not seen: {}",
            what()
        );
        thread::sleep(Duration::from_millis(20));
    }
}
