// SPDX-License-Identifier: MIT OR Apache-2.0
//! A time-flow table: for each slice of arrival and each destination the next rack, as its owner has it.

use alloc::vec::Vec;

use etalon_scenario::Entry;

use crate::graph::Graph;
use crate::router::fits;
use crate::router::{At, Next, Router};
use crate::{NONE, RouteError};

#[derive(Debug)]
pub(super) struct Table {
    nodes: usize,
    racks: usize,
    /// By (slice, here, destination).
    next: Vec<u16>,
}

impl Table {
    /// # Errors
    /// [`RouteError::Entry`] for the first entry that cannot be: it is for what there is not, the circuit is not there, is there
    /// earlier, or the way does not end at its destination.
    pub(super) fn new(graph: &Graph, entries: &[Entry]) -> Result<Table, RouteError> {
        let size = graph.slices * graph.nodes * graph.racks;
        fits(size, 2)?;
        let mut next = alloc::vec![NONE; size];
        let mut departure = alloc::vec![0; size];
        let wrong = |index, why| RouteError::Entry { index, why };
        for (index, entry) in entries.iter().enumerate() {
            check(graph, entry).map_err(|why| wrong(index, why))?;
            let place = graph.place(
                entry.arrival as usize,
                entry.here.into(),
                entry.destination.into(),
            );
            if next[place] != NONE {
                return Err(wrong(index, "its slice, rack and destination come twice"));
            }
            next[place] = entry.next;
            departure[place] = entry.departure;
        }
        let table = Table {
            nodes: graph.nodes,
            racks: graph.racks,
            next,
        };
        for (index, entry) in entries.iter().enumerate() {
            table
                .follow(graph, &departure, entry)
                .map_err(|why| wrong(index, why))?;
        }
        Ok(table)
    }

    /// Goes the way of an entry to its end.
    fn follow(&self, graph: &Graph, departure: &[u32], entry: &Entry) -> Result<(), &'static str> {
        let to = usize::from(entry.destination);
        let (mut slice, mut here) = (entry.arrival as usize, usize::from(entry.here));
        for _ in 0..graph.nodes {
            if here == to {
                return Ok(());
            }
            let place = graph.place(slice, here, to);
            if self.next[place] == NONE {
                return Err("its way goes to where no entry leads on");
            }
            here = self.next[place].into();
            slice = departure[place] as usize;
        }
        match here == to {
            true => Ok(()),
            false => Err("its way is a loop"),
        }
    }
}

/// That an entry is for what there is, and its circuit the first to its next rack.
fn check(graph: &Graph, entry: &Entry) -> Result<(), &'static str> {
    let is_slice = |slice: u32| (slice as usize) < graph.slices;
    let is_node = |node: u16| usize::from(node) < graph.nodes;
    if !is_slice(entry.arrival) || !is_slice(entry.departure) {
        return Err("there is no such slice");
    }
    if !is_node(entry.here) || !is_node(entry.next) || usize::from(entry.destination) >= graph.racks
    {
        return Err("there is no such rack");
    }
    if entry.here == entry.destination {
        return Err("it leads from a rack to itself");
    }
    let joins = |slice: u32| {
        graph
            .circuits(slice as usize, entry.here.into())
            .filter(|&(_, peer)| peer == entry.next)
    };
    // Parts that have failed take circuits away; what waits for them waits on.
    if graph.is_whole && !joins(entry.departure).any(|(uplink, _)| uplink == entry.uplink) {
        return Err("there is no such circuit in the slice of departure");
    }
    let slices = graph.slices as u32;
    let mut slice = entry.arrival;
    while slice != entry.departure {
        if joins(slice).next().is_some() {
            return Err("its circuit is there in an earlier slice, in which a packet would leave");
        }
        slice = (slice + 1) % slices;
    }
    Ok(())
}

impl Router for Table {
    fn next(&self, at: &At) -> Next {
        let row = at.slice as usize * self.nodes + usize::from(at.here);
        match self.next[row * self.racks + usize::from(at.destination)] {
            NONE => Next::Nowhere,
            next => Next::Await(next),
        }
    }

    /// What a table leaves out is not for it to judge.
    fn stranded(&self) -> Option<(usize, usize, usize)> {
        None
    }

    fn bytes(&self) -> usize {
        2 * self.next.len()
    }
}
