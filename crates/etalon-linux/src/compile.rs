// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan as the kernel takes it: the experiment for its driver, and what its first process does.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use etalon_scenario::address::{self, MOST_HOSTS};
use etalon_scenario::{
    CC_NAME_MAX, Capture, Estimator, Flow, Init, MOST_PORTS, MOST_SUBFLOWS, Program, SERVER_PORT,
    SUBFLOW_PORT, Scenario, Setup, Tcp, Transport, client_port,
};
use etalon_schedule::Controller;
use etalon_units::{Span, Time};

use crate::names::with_addresses;
use crate::ports::check_ports;
use crate::{Image, LinuxError, Mode, Options};
use crate::{parameters, routes};

/// Bounds of Linux's delayed acknowledgements, for which it has no setting.
const DELAYED_ACK: [Span; 2] = [Span::from_millis(40), Span::from_millis(200)];
/// TDNs for which the kernel's TDTCP has room in its segments' control blocks.
const MOST_TDNS: usize = 4;
/// Beside the kernel's image: what tells the estimator of demand what programs write, and what asks for circuits before collectives
/// of MPI, in programs with this variable.
const REPORTS: &str = "libadu.so";
const ASKS: &str = "libask.so";
const ASK_VARIABLE: &str = "ETALON_ASK=";
const PRELOAD: &str = "LD_PRELOAD=";
/// Network namespaces beside the hosts', for programs that make some.
const MADE_BY_PROGRAMS: u32 = 1024;
/// Bytes of a captured packet: the longest IPv4 and TCP headers, in whole records.
pub(crate) const SNAP: u16 = 128;

/// The setup of `plan`, and the part of its first process in bytes.
pub(crate) fn compile(
    plan: &Scenario,
    image: &Image,
    options: &Options,
) -> Result<(Setup, Vec<u8>), LinuxError> {
    check(plan, image)?;
    let mut scenario = plan.clone();
    scenario
        .programs
        .splice(..0, options.programs.iter().cloned());
    let (racks, per_rack) = (scenario.hosts.racks, scenario.hosts.per_rack);
    for argument in scenario.programs.iter_mut().flat_map(|p| &mut p.command) {
        *argument = with_addresses(argument, racks, per_rack);
    }
    for program in &mut scenario.programs {
        preload(program, image)?;
    }
    scenario.check().map_err(|e| LinuxError::plan(e.0))?;
    if options.call == Span::ZERO || options.call.max(options.polling) > LONGEST {
        return Err(LinuxError::plan(format!(
            "A system call takes 1 ns to {LONGEST}, and a poll waits at most as long; not {} and {}.",
            options.call, options.polling
        )));
    }
    let init = init(&scenario, image, options)?;
    let init = init.encode(&scenario).map_err(|e| LinuxError::plan(e.0))?;
    // Programs that are tried out end by themselves, or when their user says so.
    scenario.end_when_done &= options.mode == Mode::Run;
    let traced = options.trace.as_ref();
    let setup = Setup {
        end: match options.mode {
            Mode::Shell => Time::MAX,
            Mode::Run | Mode::Exec => plan.end(),
        },
        capture: traced
            .filter(|trace| trace.pcapng.is_some())
            .map(|trace| Capture {
                start: trace.start,
                end: trace.end,
                snap: SNAP,
            }),
        scenario,
    };
    Ok((setup, init))
}

/// The longest that a system call takes, or a poll waits: the bound in patch 0021.
const LONGEST: Span = Span(1_000_000_000);
/// For what programs may be, such as a network of switches with their controller; MiB.
const FOR_PROGRAMS: u32 = 1792;

/// The kernel's memory in MiB: for so many hosts and flows several times what was seen to be used. `beside` are programs that are not
/// the plan's.
pub(crate) fn memory_mib(plan: &Scenario, beside: &[Program]) -> u32 {
    let hosts = plan.hosts.count();
    // Who decides during the run may open as many flows as there are ports.
    let outside = match plan.generators.is_empty() {
        true => plan.jobs.iter().map(etalon_jobs::pairs_of).sum(),
        false => MOST_PORTS as u64,
    };
    let flows = plan.flows.len() as u32 + outside.min(MOST_PORTS as u64) as u32;
    // The decomposition of dense demand takes a KiB for each pair of racks.
    let computing = plan
        .control()
        .map_or(0, |_| u32::from(plan.hosts.racks).pow(2) / 1024);
    let programs = if plan.programs.is_empty() && beside.is_empty() {
        0
    } else {
        FOR_PROGRAMS
    };
    (256 + hosts + flows / 32 + computing + programs).next_multiple_of(256)
}

/// What Linux cannot do.
fn check(plan: &Scenario, image: &Image) -> Result<(), LinuxError> {
    let refuse = |why: String| Err(LinuxError::plan(why));
    if let Some((control, rdcn)) = plan.computed() {
        Controller::new(control, rdcn, plan.seed).map_err(|e| LinuxError::plan(e.to_string()))?;
    }
    let tcp = &plan.tcp;
    if tcp.hz != image.hz {
        return refuse(format!(
            "The kernel {} has {} timer ticks a second, the plan asks for tcp.hz = {}: take a kernel of that rate.",
            image.path.display(),
            image.hz,
            tcp.hz
        ));
    }
    if [tcp.min_delayed_ack, tcp.max_delayed_ack] != DELAYED_ACK {
        return refuse(
            "Linux delays acknowledgements by 40 ms to 200 ms and has no setting for it: \
             leave tcp.min_delayed_ack and tcp.max_delayed_ack at these."
                .to_owned(),
        );
    }
    routes::check(tcp).map_err(LinuxError::plan)?;
    if plan.flows.len() > MOST_PORTS {
        return refuse(format!(
            "The plan has {} flows; on Linux there are ports for at most {MOST_PORTS}.",
            plan.flows.len()
        ));
    }
    if plan.hosts.per_rack > MOST_HOSTS {
        return refuse(format!(
            "The plan has {} hosts in a rack; there are addresses for at most {MOST_HOSTS}.",
            plan.hosts.per_rack
        ));
    }
    check_outside(plan).map_err(LinuxError::plan)?;
    for (index, flow) in plan.flows.iter().enumerate() {
        check_flow(plan, index, flow).map_err(LinuxError::plan)?;
    }
    Ok(())
}

/// What Linux cannot do of jobs and generators, in words.
fn check_outside(plan: &Scenario) -> Result<(), String> {
    let has_any = !plan.jobs.is_empty() || !plan.generators.is_empty();
    if has_any && !plan.programs.is_empty() {
        return Err(
            "On Linux, jobs and generators cannot run beside programs: split the plan in two."
                .to_owned(),
        );
    }
    if !plan.dfsio.is_empty() {
        return Err("Linux has no model of HDFS: run Hadoop itself.".to_owned());
    }
    let by_tcp = |transport: &Transport| *transport == Transport::Tcp;
    if !plan.generators.iter().all(|one| by_tcp(&one.transport)) {
        return Err("On Linux, TCP carries what generators send.".to_owned());
    }
    for (index, job) in plan.jobs.iter().enumerate() {
        if !matches!(*job.transport, Transport::Tcp | Transport::Mptcp(_)) {
            return Err(format!(
                "Job {index}: on Linux, TCP or MPTCP carries what jobs send."
            ));
        }
        check_subflows(plan, &format!("Job {index}"), &job.transport)?;
    }
    for kind in plan.kinds() {
        if kind.cc.is_empty() || kind.cc.len() > CC_NAME_MAX {
            return Err(format!(
                "The kernel has no congestion control '{}'.",
                kind.cc
            ));
        }
    }
    Ok(())
}

/// What Linux cannot do of the subflows of `whose` connections, in words.
fn check_subflows(plan: &Scenario, whose: &str, transport: &Transport) -> Result<(), String> {
    let subflows = transport.subflows();
    if subflows > MOST_SUBFLOWS {
        return Err(format!(
            "{whose}: on Linux MPTCP has at most {MOST_SUBFLOWS} subflows, not {subflows}."
        ));
    }
    if matches!(transport, Transport::Mptcp(_)) && knows_demand_from_hosts(plan) {
        return Err(format!(
            "{whose}: on Linux demand is not known of what MPTCP has to send: take schedule.estimator = \"voq\"."
        ));
    }
    Ok(())
}

/// What Linux cannot do of a flow, in words.
fn check_flow(plan: &Scenario, index: usize, flow: &Flow) -> Result<(), String> {
    let tdns = plan.tdns();
    let controls: &[String] = match &*flow.transport {
        Transport::Tdtcp(tdtcp) => &tdtcp.cc,
        _ => &[],
    };
    if !flow.transport.is_tcp() {
        return Err(format!(
            "Flow {index}: Linux has no NDP: run the plan on the simulator."
        ));
    }
    let unknown = |cc: &&String| cc.is_empty() || cc.len() > CC_NAME_MAX;
    if let Some(cc) = controls.iter().chain([&*flow.cc]).find(unknown) {
        return Err(format!(
            "Flow {index}: the kernel has no congestion control '{cc}'."
        ));
    }
    if tdns > MOST_TDNS && matches!(*flow.transport, Transport::Tdtcp(_)) {
        return Err(format!(
            "Flow {index}: on Linux TDTCP has at most {MOST_TDNS} TDNs; the plan's network has {tdns}."
        ));
    }
    check_subflows(plan, &format!("Flow {index}"), &flow.transport)?;
    check_ports(index, &flow.transport)
}

/// What the first process does.
fn init(plan: &Scenario, image: &Image, options: &Options) -> Result<Init, LinuxError> {
    let text = |text: &str| text.as_bytes().to_vec();
    let hosts = plan.hosts.count();
    let mut sysctls = Vec::from(sysctls(&plan.tcp).map(|(key, value)| (text(key), text(&value))));
    if !plan.programs.is_empty() && !plan.flows.is_empty() {
        // The ports of flows' clients are among those that Linux gives to programs.
        let last = client_port(plan.flows.len() - 1);
        let mut ports = format!("{SERVER_PORT},{}-{last}", client_port(0));
        if plan.flows.iter().any(|flow| flow.transport.subflows() > 1) {
            let last = client_port(0) - 1;
            ports = format!("{ports},{SUBFLOW_PORT}-{last}");
        }
        sysctls.push((text("net.ipv4.ip_local_reserved_ports"), text(&ports)));
    }
    sysctls.extend(push(plan));
    let retries = routes::handshake_retries(&plan.tcp);
    sysctls.extend(retries.map(|(key, retries)| (text(key), text(&retries.to_string()))));
    let parameters = module_parameters(&plan.flows)?.into_iter();
    let mut files: Vec<_> = parameters
        .map(|(path, value)| (text(&path), text(&value.to_string())))
        .collect();
    // The kernel's limits depend on its memory. Hosts share that of TCP, as machines of their own do not: near it, buffers
    // stop to grow.
    let most = i32::MAX;
    files.push((
        text("/proc/sys/net/ipv4/tcp_mem"),
        text(&format!("{most} {most} {most}")),
    ));
    files.push((
        text("/proc/sys/user/max_net_namespaces"),
        text(&(hosts + MADE_BY_PROGRAMS).to_string()),
    ));
    if !plan.programs.is_empty() {
        files.extend(costs(options));
    }
    let control = !plan.programs.is_empty() && knows_demand_from_hosts(plan);
    Ok(Init {
        mode: options.mode,
        routes: (0..plan.hosts.racks)
            .map(|rack| routes::of_rack(plan, rack))
            .collect(),
        sysctls,
        files,
        variables: match control {
            true => variables(image)?,
            false => Vec::new(),
        },
        folder: options
            .folder
            .as_ref()
            .filter(|_| !plan.programs.is_empty())
            .map(|folder| folder.as_os_str().as_bytes().to_vec()),
        control,
    })
}

/// What system calls and polls of programs cost. The second file has programs run side by side.
fn costs(options: &Options) -> [(Vec<u8>, Vec<u8>); 2] {
    [
        ("um_polling_ns", options.polling),
        ("um_call_ns", options.call),
    ]
    .map(|(file, span)| {
        let path = format!("/proc/sys/kernel/{file}");
        (path.into_bytes(), span.0.to_string().into_bytes())
    })
}

/// How long hosts take from one connection that is told (TDTCP's push) to the next, on their clocks.
fn push(plan: &Scenario) -> Option<(Vec<u8>, Vec<u8>)> {
    let each = plan.notify()?.each;
    let each = i32::try_from(each.0.saturating_mul(plan.tdf)).unwrap_or(i32::MAX);
    let key = b"net.ipv4.tcp_tdtcp_push_ns".to_vec();
    (each > 0).then(|| (key, each.to_string().into_bytes()))
}

/// Has a program of MPI ask for circuits, if its variables say which: before what it preloads anyway.
fn preload(program: &mut Program, image: &Image) -> Result<(), LinuxError> {
    if !program.env.iter().any(|v| v.starts_with(ASK_VARIABLE)) {
        return Ok(());
    }
    let library = library(image, ASKS)?;
    let before = program.env.iter().rfind(|v| v.starts_with(PRELOAD));
    let before = before.map_or(String::new(), |v| format!(":{}", &v[PRELOAD.len()..]));
    let preloaded = format!("{PRELOAD}{}{before}", library.display());
    program.env.push(preloaded);
    Ok(())
}

/// What has programs report what they write.
fn variables(image: &Image) -> Result<Vec<Vec<u8>>, LinuxError> {
    let library = library(image, REPORTS)?;
    let estimator = format!("{}={}", etalon_adu::ADDRESS_VARIABLE, address::ESTIMATOR);
    Ok(vec![
        [PRELOAD.as_bytes(), library.as_os_str().as_bytes()].concat(),
        estimator.into_bytes(),
    ])
}

/// Whether programs are to report what they write.
fn knows_demand_from_hosts(plan: &Scenario) -> bool {
    let estimator = plan.control().map(|control| control.estimator);
    estimator.is_some_and(|estimator| estimator != Estimator::Voq)
}

/// A library for programs, which lies beside the kernel that it was built with.
fn library(image: &Image, name: &str) -> Result<PathBuf, LinuxError> {
    let path = image.path.with_file_name(name);
    let path = std::path::absolute(path)
        .map_err(|e| LinuxError::boot(format!("The path of {name} is not known: {e}.")))?;
    // What lies there is the emulated machine's own.
    let hidden = ["/dev", "/proc", "/run", "/sys"]
        .iter()
        .any(|folder| path.starts_with(folder));
    if hidden {
        return Err(LinuxError::boot(format!(
            "Programs on emulated hosts do not see {}: keep the kernel elsewhere, \
             XDG_CACHE_HOME=<folder> etalon kernel build.",
            path.display()
        )));
    }
    // LD_PRELOAD is a list, and the loader would skip the pieces of such a path.
    if path
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|b| b" :".contains(b))
    {
        return Err(LinuxError::boot(format!(
            "Programs on emulated hosts cannot preload {}, whose path has a space or a colon: keep the kernel elsewhere, \
             XDG_CACHE_HOME=<folder> etalon kernel build.",
            path.display()
        )));
    }
    if !path.is_file() {
        return Err(LinuxError::boot(format!(
            "There is no {}, which programs preload: build it and its kernel, etalon kernel build.",
            path.display()
        )));
    }
    Ok(path)
}

/// Settings of every host's stack.
fn sysctls(tcp: &Tcp) -> [(&'static str, String); 9] {
    let switch = |on: bool| String::from(if on { "1" } else { "0" });
    // Linux offers half of its buffer, for it counts what the other half costs.
    let receive = u64::from(tcp.receive_buffer_bytes) * 2;
    let most = u64::from(tcp.max_receive_buffer_bytes) * 2;
    [
        ("net.ipv4.tcp_sack", switch(tcp.sack)),
        ("net.ipv4.tcp_timestamps", switch(tcp.timestamps)),
        // 2: who accepts a connection agrees to ECN.
        (
            "net.ipv4.tcp_ecn",
            String::from(if tcp.ecn { "1" } else { "2" }),
        ),
        (
            "net.ipv4.tcp_rmem",
            format!("4096 {receive} {}", receive.max(most)),
        ),
        ("net.ipv4.tcp_moderate_rcvbuf", switch(most > receive)),
        (
            "net.ipv4.tcp_wmem",
            format!("4096 16384 {}", tcp.max_send_buffer_bytes),
        ),
        (
            "net.ipv4.tcp_tso_win_divisor",
            tcp.tso_win_divisor.to_string(),
        ),
        (
            "net.ipv4.tcp_slow_start_after_idle",
            switch(tcp.slow_start_after_idle),
        ),
        // Flows know nothing of those before them, as in the simulator.
        ("net.ipv4.tcp_no_metrics_save", switch(true)),
    ]
}

/// The kernel's files that hold parameters of congestion controls, and their values.
fn module_parameters(flows: &[Flow]) -> Result<BTreeMap<String, u64>, LinuxError> {
    let mut first: BTreeMap<&str, (usize, &Flow)> = BTreeMap::new();
    let mut files = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        let (other, same) = *first.entry(&flow.cc).or_insert((index, flow));
        if same.cc_params != flow.cc_params {
            return Err(LinuxError::plan(format!(
                "Flows {other} and {index} give '{}' different parameters: on Linux they are the kernel's, not a flow's.",
                flow.cc
            )));
        }
        if other == index {
            for (name, &value) in &*flow.cc_params {
                let (path, value) = parameters::setting(&flow.cc, name, value)?;
                files.insert(path, value);
            }
        }
    }
    Ok(files)
}
