// SPDX-License-Identifier: GPL-2.0
//! The kernel as the driver sees it, as allocator and place to panic.

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::{self, Write};
use core::num::NonZero;
use core::panic::PanicInfo;

use etalon_driver::{Kernel, Milestone};
use etalon_events::Record;
use etalon_units::Time;

unsafe extern "C" {
    fn etalon_alloc(len: usize) -> *mut c_void;
    fn etalon_free(memory: *mut c_void, len: usize);
    fn etalon_panic(message: *const u8, len: usize) -> !;
    fn etalon_log_raw(record: &Record);
    fn etalon_capture(time: u64, handle: u64, snap: u16);
    fn etalon_mark(handle: u64, ce: bool, ece: bool);
    fn etalon_deliver(handle: u64, host: u32);
    fn etalon_discard(handle: u64);
    fn etalon_nic_free(handle: u64, host: u32);
    fn etalon_notification(host: u32, rack: u32, tdn: u32) -> u64;
    fn etalon_milestone(time: u64, which: u32);
    fn etalon_ask(question: &Record, answer: *mut u8, len: usize);
    fn etalon_answer(answer: *mut u8, len: usize);
    fn etalon_message_open(flow: u32);
    fn etalon_message_write(stream: u32, bytes: u64);
    fn etalon_message_close(flow: u32);
    fn etalon_granted(claim: u32, changed: u32);
    fn etalon_fail(time: u64, sentence: *const u8, len: usize);
}

/// The kernel that this is part of.
pub(crate) struct Uml;

impl Kernel for Uml {
    #[inline]
    fn log(&self, record: &Record) {
        // SAFETY: the record is read before the call returns.
        unsafe { etalon_log_raw(record) };
    }

    fn capture(&self, now: Time, handle: u64, snap: u16) {
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_capture(now.0, handle, snap) };
    }

    fn mark(&self, handle: u64, ce: bool, ece: bool) {
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_mark(handle, ce, ece) };
    }

    fn deliver(&self, handle: u64, host: u32) {
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_deliver(handle, host) };
    }

    fn discard(&self, handle: u64) {
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_discard(handle) };
    }

    fn nic_free(&self, handle: u64, host: u32) {
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_nic_free(handle, host) };
    }

    fn notification(&self, host: u32, rack: u16, tdn: u8) -> Option<NonZero<u64>> {
        // SAFETY: any numbers may be given.
        NonZero::new(unsafe { etalon_notification(host, rack.into(), tdn.into()) })
    }

    fn milestone(&self, now: Time, milestone: Milestone) {
        let which = match milestone {
            Milestone::Begin => 0,
            Milestone::End => 1,
        };
        // SAFETY: the kernel takes any packet that it gave, and any time.
        unsafe { etalon_milestone(now.0, which) };
    }

    fn ask(&self, question: &Record) -> Vec<u8> {
        let mut length = [0; 4];
        // SAFETY: there is room for so many bytes.
        unsafe { etalon_ask(question, length.as_mut_ptr(), length.len()) };
        let mut answer = alloc::vec![0; u32::from_le_bytes(length) as usize];
        // SAFETY: there is room for so many bytes.
        unsafe { etalon_answer(answer.as_mut_ptr(), answer.len()) };
        answer
    }

    fn open(&self, flow: u32) {
        // SAFETY: the kernel takes any number, and does nothing at once.
        unsafe { etalon_message_open(flow) };
    }

    fn write(&self, stream: u32, bytes: u64) {
        // SAFETY: the kernel takes any number, and does nothing at once.
        unsafe { etalon_message_write(stream, bytes) };
    }

    fn close(&self, flow: u32) {
        // SAFETY: the kernel takes any number, and does nothing at once.
        unsafe { etalon_message_close(flow) };
    }

    fn granted(&self, claim: u32, changed: u32) {
        // SAFETY: the kernel takes any number, and does nothing at once.
        unsafe { etalon_granted(claim, changed) };
    }

    fn fail(&self, now: Time, sentence: fmt::Arguments<'_>) {
        let mut room = [0; 512];
        let mut text = Sentence::new(&mut room);
        // What is too long is cut.
        let _ = text.write_fmt(sentence);
        let len = text.len;
        // SAFETY: the sentence has `len` bytes.
        unsafe { etalon_fail(now.0, room.as_ptr(), len) }
    }
}

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// What is asked of the kernel, whose memory is aligned to 8 bytes at least, and to its size if that is a power of two.
fn size_of(layout: Layout) -> usize {
    if layout.align() <= 8 {
        return layout.size();
    }
    layout.size().max(layout.align()).next_power_of_two()
}

// SAFETY: see size_of().
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any length may be asked for.
        unsafe { etalon_alloc(size_of(layout)).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it comes from etalon_alloc(), with the same layout.
        unsafe { etalon_free(memory.cast(), size_of(layout)) }
    }
}

/// Text of limited length.
struct Sentence<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Sentence<'_> {
    fn new(room: &mut [u8]) -> Sentence<'_> {
        Sentence { room, len: 0 }
    }
}

impl Write for Sentence<'_> {
    /// Appends what there is room for.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.room[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        if len == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut room = [0; 256];
    let mut sentence = Sentence::new(&mut room);
    // What is too long is cut.
    let _ = write!(sentence, "{info}");
    let len = sentence.len;
    // SAFETY: the message has `len` bytes.
    unsafe { etalon_panic(room.as_ptr(), len) }
}
