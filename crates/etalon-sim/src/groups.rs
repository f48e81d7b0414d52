// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flows that MPTCP carries, found by flow and by host.

use std::ops::{Index, IndexMut};

use etalon_scenario::Scenario;

use crate::subflows::{ALONE, Group};

#[derive(Debug)]
pub(crate) struct Groups {
    all: Vec<Group>,
    /// By flow: its group, or `ALONE`, and which subflow it is.
    of_flow: Vec<(u32, u8)>,
    /// By host: its ends that send ACKs only while their TDN is there, by group.
    pinned: Vec<Vec<u32>>,
}

impl Groups {
    /// These groups, of a plan's flows and the subflows that come after them.
    pub(crate) fn new(all: Vec<Group>, plan: &Scenario) -> Groups {
        let last = all.iter().flat_map(|group| &group.flows).max();
        let mut of_flow = vec![(ALONE, 0); last.map_or(0, |&flow| flow as usize + 1)];
        let mut pinned = vec![Vec::new(); plan.hosts.count() as usize];
        for (number, group) in (0..).zip(&all) {
            for (subflow, &flow) in (0..).zip(&group.flows) {
                of_flow[flow as usize] = (number, subflow);
                if group.pins_acks() {
                    let server = plan.flows[group.flows[0] as usize].dst();
                    pinned[plan.hosts.index(server) as usize].push(2 * flow + 1);
                }
            }
        }
        Groups {
            all,
            of_flow,
            pinned,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.iter()
    }

    /// A flow's group, and which of its subflows the flow is.
    pub(crate) fn of(&self, flow: u32) -> Option<(u32, u8)> {
        let found = self.of_flow.get(flow as usize).copied();
        found.filter(|&(group, _)| group != ALONE)
    }

    /// The group whose first subflow a flow is.
    pub(crate) fn of_first(&self, flow: u32) -> Option<&Group> {
        let (group, subflow) = self.of(flow)?;
        (subflow == 0).then(|| &self.all[group as usize])
    }

    /// The ends of a host that send ACKs only while their TDN is there.
    pub(crate) fn pinned(&self, host: u32) -> &[u32] {
        &self.pinned[host as usize]
    }
}

impl Index<usize> for Groups {
    type Output = Group;

    fn index(&self, group: usize) -> &Group {
        &self.all[group]
    }
}

impl IndexMut<usize> for Groups {
    fn index_mut(&mut self, group: usize) -> &mut Group {
        &mut self.all[group]
    }
}
