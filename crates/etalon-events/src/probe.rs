//! Who hears of events.

use etalon_units::Time;

use crate::Event;

/// Hears of events as they happen.
///
/// Times never decrease from one call to the next, and events of one instant come in the order in which they happen; but what a
/// schedule did to a rack pair that slept (`Switch::let_idle_pairs_sleep`) is told, with its times, when that wakes.
///
/// An emitter names the event that it emits, so a probe whose `on` is inlined costs what it does of that event, and `()`,
/// which hears nothing, costs nothing.
pub trait Probe {
    /// `event` happens at `time`.
    fn on(&mut self, time: Time, event: Event);
}

impl Probe for () {
    #[inline(always)]
    fn on(&mut self, _: Time, _: Event) {}
}

/// A closure as a probe.
#[derive(Clone, Copy, Debug)]
pub struct Listener<F>(pub F);

impl<F: FnMut(Time, Event)> Probe for Listener<F> {
    #[inline(always)] // the closure decides
    fn on(&mut self, time: Time, event: Event) {
        (self.0)(time, event);
    }
}
