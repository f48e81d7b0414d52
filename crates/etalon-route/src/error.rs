// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a network of circuits.

use core::fmt;

/// Why there is no such network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// So many racks are fewer than two, or more than [`MOST_RACKS`](crate::MOST_RACKS).
    Racks(usize),
    /// So many switches cannot share out the matchings of so many racks.
    Deal {
        /// Racks, and as many matchings.
        racks: usize,
        /// Circuit switches.
        switches: usize,
    },
    /// A graph in which each rack has so many neighbours does not exist, or was not found.
    Degree {
        /// Racks.
        racks: usize,
        /// Neighbours of each.
        degree: usize,
    },
    /// A table has another number of entries than slices, racks and switches ask for.
    Shape(usize),
    /// In this slice a switch joins a rack to another, but not the other to it.
    OneWay {
        /// The slice.
        slice: usize,
        /// The switch.
        switch: usize,
        /// The rack.
        rack: usize,
    },
    /// A class of packets has no way between these racks when they come in this slice.
    NoWay {
        /// The class.
        class: usize,
        /// The slice.
        slice: usize,
        /// Where they are.
        from: usize,
        /// Where they go.
        to: usize,
    },
    /// Tables would take so much memory.
    TooLarge {
        /// Bytes.
        bytes: usize,
        /// Bytes at most.
        most: usize,
    },
    /// An entry of a time-flow table cannot be.
    Entry {
        /// Which, from 0.
        index: usize,
        /// Why.
        why: &'static str,
    },
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteError::Racks(racks) => {
                write!(f, "{racks} racks: a network has 2 to {}", crate::MOST_RACKS)
            }
            RouteError::Deal { racks, switches } => write!(
                f,
                "{racks} racks have {racks} matchings, which {switches} switches cannot share out evenly"
            ),
            RouteError::Degree { racks, degree } => write!(
                f,
                "there is no connected graph of {racks} racks with {degree} neighbours each"
            ),
            RouteError::Shape(entries) => write!(
                f,
                "{entries} entries are not slices times racks times switches"
            ),
            RouteError::OneWay {
                slice,
                switch,
                rack,
            } => write!(
                f,
                "slice {slice}: switch {switch} joins rack {rack} to a rack that it does not join to rack {rack}"
            ),
            RouteError::NoWay {
                class,
                slice,
                from,
                to,
            } => write!(
                f,
                "packets of class {class} that are at rack {from} in slice {slice} have no way to rack {to}"
            ),
            RouteError::TooLarge { bytes, most } => write!(
                f,
                "routing tables would take {bytes} bytes or more, and {most} at most are made: take fewer racks, slices or paths"
            ),
            RouteError::Entry { index, why } => {
                write!(f, "entry {index} of the time-flow table: {why}")
            }
        }
    }
}

impl core::error::Error for RouteError {}
