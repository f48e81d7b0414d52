// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types that the kernel's C code has too: where their fields lie.

/// A `repr(C)` struct that is declared in C as well.
pub trait Layout {
    /// The names of its fields, and their offsets in bytes.
    const FIELDS: &'static [(&'static str, usize)];
}

/// Says where the fields of a struct lie; all of them have to be named. It stands beside the struct, and what is declared in C
/// is asserted from it.
#[macro_export]
macro_rules! layout {
    ($type:ident { $($field:ident),* $(,)? }) => {
        // Every field is named here.
        const _: fn($type) = |value| { let $type { $($field: _),* } = value; };

        impl $crate::Layout for $type {
            const FIELDS: &'static [(&'static str, usize)] =
                &[$((stringify!($field), ::core::mem::offset_of!($type, $field))),*];
        }
    };
}
