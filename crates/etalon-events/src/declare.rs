// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from the declarations of events.

/// Declares [`Event`](crate::Event): its kinds, grouped by [`Source`](crate::Source), and all that is derived from them.
///
/// A kind has a number (its record's), a name (its trace's), fields with their places in a record, and, if it is part of a
/// run's digest, the pair and the number that are mixed into that.
macro_rules! events {
    (
        $(#[$meta:meta])*
        pub enum Event {
            $($source:ident {
                $(
                    $(#[$doc:meta])*
                    $name:ident = $kind:literal $label:expr
                    $(, { $($field:ident: $type:ty = $place:ident),* $(,)? })?
                    $(, mixes $pair:expr, $value:expr)?;
                )*
            })*
        }
    ) => {
        $(#[$meta])*
        pub enum Event {
            $($($(#[$doc])* $name $({ $($field: $type),* })?,)*)*
        }

        #[allow(unused_variables)] // each derivation needs some of the fields
        impl Event {
            /// Name and number of each kind.
            pub const KINDS: &'static [(&'static str, u8)] = &[$($((stringify!($name), $kind),)*)*];

            /// The kinds whose records are followed by data, a bit each.
            pub(crate) const WITH_DATA: u64 =
                0 $($($($(| ($crate::place::$place::IS_DATA as u64) << $kind)*)?)*)*;

            /// The number of its kind, which is its record's.
            #[must_use]
            #[inline(always)] // a constant where the event is known
            pub const fn kind(&self) -> u8 {
                match *self {
                    $($(Event::$name { .. } => $kind,)*)*
                }
            }

            /// What it is called in traces.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $($(Event::$name { $($($field),*)? } => $label,)*)*
                }
            }

            /// Who says so.
            #[must_use]
            #[inline]
            pub const fn source(self) -> Source {
                match self {
                    $($(Event::$name { .. } => Source::$source,)*)*
                }
            }

            /// What a digest mixes of it, if anything.
            #[inline(always)] // a constant where the event is known
            pub(crate) fn mixed(&self) -> Option<($crate::Pair, u64)> {
                match *self {
                    $($(Event::$name { $($($field),*)? } => $crate::declare::optional!($($pair, $value)?),)*)*
                }
            }

            /// The record that says so, at `time`.
            #[must_use]
            #[inline]
            pub fn at(self, time: Time) -> Record {
                let mut record = Record { time, ..Record::default() };
                match self {
                    $($(Event::$name { $($($field),*)? } => {
                        record.kind = $kind;
                        $($($crate::place::$place::put(&mut record, $field);)*)?
                    })*)*
                }
                record
            }

            /// What `record` says.
            ///
            /// # Errors
            /// [`RecordError`] if it is of no known kind, or has a number in it that stands for nothing.
            #[inline]
            pub fn of(record: &Record) -> Result<Event, RecordError> {
                Ok(match record.kind {
                    $($($kind => Event::$name {
                        $($($field: $crate::place::$place::get(record)?),*)?
                    },)*)*
                    _ => return Err(RecordError),
                })
            }

            /// The rack pair that it concerns.
            #[must_use]
            #[inline]
            pub fn pair(self) -> Option<$crate::Pair> {
                $crate::declare::pick!(self, pair, $($($name { $($($field)*)? })*)*)
            }

            /// The queue that it concerns.
            #[must_use]
            #[inline]
            pub fn queue(self) -> Option<$crate::QueueId> {
                $crate::declare::pick!(self, queue, $($($name { $($($field)*)? })*)*)
            }

            /// The plane that it concerns.
            #[must_use]
            #[inline]
            pub fn plane(self) -> Option<$crate::Plane> {
                $crate::declare::pick!(self, plane, $($($name { $($($field)*)? })*)*)
            }

            /// How many bytes it concerns.
            #[must_use]
            #[inline]
            pub fn bytes(self) -> Option<u64> {
                $crate::declare::pick!(self, bytes, $($($name { $($($field)*)? })*)*)
            }

            /// The first number in it that is none of these.
            #[must_use]
            #[inline]
            pub fn value(self) -> Option<u64> {
                $crate::declare::pick!(self, value, $($($name { $($($field)*)? })*)*)
            }
        }
    };
}
pub(crate) use events;

/// An option of a pair of values.
macro_rules! optional {
    () => {
        None
    };
    ($a:expr, $b:expr) => {
        Some(($a, $b))
    };
}
pub(crate) use optional;

/// The field that has the name `$wanted`, if an event has one.
macro_rules! pick {
    ($self:ident, $wanted:ident, $($name:ident { $($field:ident)* })*) => {
        match $self {
            $(Event::$name { $($field),* } => {
                let picked = None;
                $(let picked = picked.or($crate::declare::field!($wanted $field $field));)*
                picked
            })*
        }
    };
}
pub(crate) use pick;

/// A field if it is the wanted one: fields go by their names, and `value` is any number without one of these.
macro_rules! field {
    (pair pair $field:ident) => {
        Some($field)
    };
    (queue queue $field:ident) => {
        Some($field)
    };
    (plane plane $field:ident) => {
        Some($field)
    };
    (bytes bytes $field:ident) => {
        Some($crate::place::Word::word($field))
    };
    (value pair $field:ident) => {
        None
    };
    (value queue $field:ident) => {
        None
    };
    (value plane $field:ident) => {
        None
    };
    (value bytes $field:ident) => {
        None
    };
    (value packet $field:ident) => {
        None
    };
    (value $name:ident $field:ident) => {
        Some($crate::place::Word::word($field))
    };
    ($wanted:ident $name:ident $field:ident) => {
        None
    };
}
pub(crate) use field;
