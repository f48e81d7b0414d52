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
        }
    }
}

impl core::error::Error for RouteError {}
