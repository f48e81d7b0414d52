// SPDX-License-Identifier: MIT OR Apache-2.0
//! The total order of what happens.

/// What is due. Of all that is due at one instant, what stands first here happens first; of one kind, what concerns the host of
/// the smaller number (`pending.rs`). Both engines take their order from this type's, so that there is
/// no other place to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The warm-up is over, or the experiment.
    Milestone,
    /// The NIC of a host is done with a packet, which cannot be anywhere else before.
    NicFree,
    /// The controller looks at demand, or has a week: before the switch begins one.
    Week,
    /// A host hears which network leads to a rack: before packets that reach it at this instant.
    Notification,
    /// A packet has passed the downlink of its host: a place that it leaves can be taken at this instant.
    Delivery,
    /// Something happens between racks. The network orders that itself: the switch's schedule first, then packets that leave,
    /// links that are free, packets that arrive.
    Network,
    /// A packet of a host reaches its ToR switch.
    Arrival,
    /// Something that only the engine knows of: a flow, a timer, an application.
    Engine,
}

impl Due {
    /// The kinds that concern hosts' NICs and what surrounds the network.
    pub(crate) const OF_AN_EDGE: [Due; Due::Network as usize] = [
        Due::Milestone,
        Due::NicFree,
        Due::Week,
        Due::Notification,
        Due::Delivery,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_has_every_kind_before_the_networks() {
        assert!(Due::OF_AN_EDGE.is_sorted());
        assert!(Due::OF_AN_EDGE.iter().all(|&due| due < Due::Network));
    }

    #[test]
    fn what_happens_at_one_instant_has_an_order() {
        let order = [
            Due::Milestone,
            Due::NicFree,
            Due::Week,
            Due::Notification,
            Due::Delivery,
            Due::Network,
            Due::Arrival,
            Due::Engine,
        ];
        assert!(order.windows(2).all(|two| two[0] < two[1]));
    }
}
