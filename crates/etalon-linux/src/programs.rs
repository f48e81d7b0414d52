// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's log says of programs: output and ends.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use etalon_measure::Control;
use etalon_units::Time;

use crate::{Output, ProgramResult};

/// Bytes kept of each of a program's streams.
const MOST_OUTPUT: usize = 64 << 20;
const CUT: &[u8] = b"\n[etalon: what follows 64 MiB of output is left out]\n";
/// Between two tries to tell a listener that is behind.
const SHORT: Duration = Duration::from_millis(1);

/// What became of each program so far.
#[derive(Debug)]
pub(crate) struct Programs<'a> {
    results: Vec<ProgramResult>,
    told: Option<SyncSender<Output>>,
    control: &'a Control,
}

impl<'a> Programs<'a> {
    /// So many programs, of which `told` hears as long as `control` lets the run go on.
    pub(crate) fn new(
        count: usize,
        told: Option<SyncSender<Output>>,
        control: &'a Control,
    ) -> Programs<'a> {
        Programs {
            results: vec![ProgramResult::default(); count],
            told,
            control,
        }
    }

    fn get(&mut self, program: u32) -> Result<&mut ProgramResult, String> {
        let found = self.results.get_mut(program as usize);
        found.ok_or_else(|| format!("there is no program {program}"))
    }

    /// A program ended with a status as wait(2) gives it.
    pub(crate) fn exited(&mut self, now: Time, program: u32, status: u32) -> Result<(), String> {
        let one = self.get(program)?;
        let signal = status & 0x7f;
        let code = match signal {
            0 => status >> 8 & 0xff,
            _ => 128 + signal,
        };
        one.status = Some(code as i32);
        one.end_ns = Some(now.0);
        Ok(())
    }

    /// A program wrote to its standard output (1) or standard error (2).
    pub(crate) fn output(&mut self, program: u32, stream: u8, data: &[u8]) -> Result<(), String> {
        let one = self.get(program)?;
        let to = match stream {
            1 => &mut one.stdout,
            2 => &mut one.stderr,
            _ => return Err(format!("programs have no stream {stream}")),
        };
        if to.len() < MOST_OUTPUT {
            to.extend_from_slice(data);
            if to.len() >= MOST_OUTPUT {
                to.extend_from_slice(CUT);
            }
        }
        self.tell(program, stream, data);
        Ok(())
    }

    /// Tells the listener. If it is behind, the kernel waits for it with us, since nobody reads its log meanwhile.
    fn tell(&mut self, program: u32, stream: u8, data: &[u8]) {
        let Some(told) = &self.told else {
            return;
        };
        let mut piece = Output {
            program,
            stream,
            bytes: data.to_vec(),
        };
        loop {
            match told.try_send(piece) {
                Ok(()) => return,
                Err(TrySendError::Full(back)) if !self.control.stopped() => piece = back,
                // Nobody listens or waits any more: the output is kept nevertheless.
                Err(_) => break,
            }
            thread::sleep(SHORT);
        }
        self.told = None;
    }

    pub(crate) fn into_results(self) -> Vec<ProgramResult> {
        self.results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_as_a_shell_would_say() {
        let control = Control::default();
        let mut programs = Programs::new(2, None, &control);
        programs.output(0, 1, b"one ").expect("stream 1");
        programs.output(0, 1, b"two").expect("stream 1");
        programs.output(0, 2, b"oh").expect("stream 2");
        programs.exited(Time(7), 0, 3 << 8).expect("program 0");
        programs.exited(Time(8), 1, 9).expect("program 1");
        assert!(programs.exited(Time(8), 2, 0).is_err());
        assert!(programs.output(0, 3, b"").is_err());
        let [one, two] = &programs.into_results()[..] else {
            panic!("two programs")
        };
        assert_eq!(
            (&one.stdout[..], &one.stderr[..]),
            (&b"one two"[..], &b"oh"[..])
        );
        assert_eq!((one.status, one.end_ns), (Some(3), Some(7)));
        assert_eq!((two.status, two.end_ns), (Some(137), Some(8)));
    }

    #[test]
    fn output_is_bounded() {
        let control = Control::default();
        let mut programs = Programs::new(1, None, &control);
        for _ in 0..2 * MOST_OUTPUT / 65_536 {
            programs.output(0, 1, &[b'x'; 65_536]).expect("stream 1");
        }
        let stdout = &programs.into_results()[0].stdout;
        assert_eq!(stdout.len(), MOST_OUTPUT + CUT.len());
        assert!(stdout.ends_with(CUT));
    }
}
