// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that a program makes, counted by tracing it.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::estimator::Estimator;
use crate::run::{bare, preloaded};
use crate::sink::Sink;

/// `struct ptrace_syscall_info`, of which the first byte and the fourth word matter here.
#[repr(C, align(8))]
struct Info([u64; 11]);

const ENTRY: u64 = 1;

/// The system calls that the command makes between each two calls of `getppid`.
fn traced(mut command: Command) -> Vec<Vec<i64>> {
    let trace_me = || {
        // SAFETY: no memory is involved, and it may be called between fork and exec.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure calls what may be called between fork and exec.
    unsafe { command.pre_exec(trace_me) };
    // It is waited for by its number.
    #[allow(clippy::zombie_processes)]
    let child = command
        .stdin(Stdio::null())
        .spawn()
        .expect("a program that may be traced (ptrace)");
    let pid = child.id() as libc::pid_t;
    let wait = || {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        status
    };
    assert!(libc::WIFSTOPPED(wait()), "the program stops at exec");
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    // SAFETY: the options are a number.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
    let (mut counts, mut open) = (Vec::new(), false);
    loop {
        // SAFETY: goes on to the next entry or exit of a system call.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, 0) };
        let status = wait();
        if libc::WIFEXITED(status) {
            assert_eq!(libc::WEXITSTATUS(status), 0, "the program failed");
            return counts;
        }
        let mut info = Info([0; 11]);
        // SAFETY: `info` lives through the call, and its size is given.
        unsafe {
            libc::ptrace(
                libc::PTRACE_GET_SYSCALL_INFO,
                pid,
                size_of::<Info>(),
                &raw mut info,
            )
        };
        if info.0[0].to_ne_bytes()[0] != ENTRY.to_ne_bytes()[0] {
            continue;
        }
        let number = info.0[3] as i64;
        if number == libc::SYS_getppid {
            open = !open;
            if open {
                counts.push(Vec::new());
            }
        } else if open {
            counts.last_mut().expect("begun").push(number);
        }
    }
}

#[test]
fn a_program_without_sockets_makes_its_own_system_calls_only() {
    let without = traced(bare("files", 0));
    assert_eq!(without[0].len(), 201);
    let estimator = Estimator::start();
    assert_eq!(
        traced(preloaded(bare("files", 0), &estimator.address)),
        without
    );
    estimator.stop();
}

/// The numbers of docs/libadu.md.
#[test]
fn system_calls_of_a_write() {
    use libc::{SYS_close as CLOSE, SYS_sendfile as SENDFILE, SYS_write as WRITE};
    const ASKED: i64 = libc::SYS_getsockopt;
    const TOLD: i64 = libc::SYS_sendmsg;
    let (sink, estimator) = (Sink::that_does_not_read(), Estimator::start());
    let ten = |calls: &[i64]| calls.repeat(10);
    let without = traced(bare("costs", sink.port));
    let one = vec![WRITE];
    let file = vec![SENDFILE];
    assert_eq!(
        without,
        [
            one.clone(),
            ten(&one),
            file.clone(),
            file,
            one.clone(),
            ten(&one),
            vec![CLOSE]
        ]
    );
    let with = traced(preloaded(bare("costs", sink.port), &estimator.address));
    // Which socket, whether TCP, and its two ends. The process's number is asked for once.
    let (peer, local) = (libc::SYS_getpeername, libc::SYS_getsockname);
    assert_eq!(
        with[0],
        [ASKED, ASKED, peer, local, libc::SYS_getpid, TOLD, WRITE]
    );
    assert_eq!(with[1], ten(&[ASKED, TOLD, WRITE]));
    let fstat = with[2][0];
    assert_eq!(with[2], [fstat, ASKED, TOLD, SENDFILE]);
    assert_eq!(with[3], [fstat, libc::SYS_lseek, ASKED, TOLD, SENDFILE]);
    assert_eq!(with[4], [ASKED, WRITE], "a Unix socket");
    assert_eq!(
        with[5],
        ten(&[ASKED, TOLD, WRITE, TOLD]),
        "a write that is refused"
    );
    assert_eq!(with[6], [libc::SYS_getpid, TOLD, CLOSE]);
    sink.stop();
    estimator.stop();
}

#[test]
fn without_an_estimator_there_is_no_system_call_more() {
    let sink = Sink::that_does_not_read();
    let without = traced(bare("costs", sink.port));
    let mut command = preloaded(bare("costs", sink.port), "");
    command.env_remove("ETALON_ADU");
    assert_eq!(traced(command), without);
    sink.stop();
}
