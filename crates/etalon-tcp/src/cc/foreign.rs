// SPDX-License-Identifier: MIT OR Apache-2.0
//! A congestion control that is not of this crate: a user's, in whatever language.

use core::fmt;

use super::CongestionControl;

/// What a congestion control of another crate must be able to do, beside [`CongestionControl`], to stand among the registered ones.
pub trait ForeignControl: CongestionControl {
    /// Another one in its first state, for another path.
    fn fresh(&self) -> Box<dyn ForeignControl>;

    /// Its name.
    fn name(&self) -> &'static str;

    /// It belongs to this flow from now on: for messages.
    fn belongs_to(&mut self, flow: u32);
}

/// A foreign congestion control. Behind two pointers, so that those of this crate take no more room because of it.
pub struct Foreign(Box<Box<dyn ForeignControl>>);

impl Foreign {
    /// Wraps one.
    #[must_use]
    pub fn new(control: Box<dyn ForeignControl>) -> Foreign {
        Foreign(Box::new(control))
    }

    /// The control itself.
    #[must_use]
    pub fn control(&self) -> &dyn ForeignControl {
        &**self.0
    }

    /// The control itself.
    pub fn control_mut(&mut self) -> &mut dyn ForeignControl {
        &mut **self.0
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Foreign {
        Foreign::new(self.0.fresh())
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
