// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.net.InnerNode;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/**
 * The racks of a cluster at one instant, in {@linkplain NaturalOrder natural order}. Racks whose
 * data nodes are all dead are not in the topology, therefore not in the ring. Immutable.
 */
final class RackRing {
  static final RackRing EMPTY = new RackRing(Collections.<Node>emptyList());

  private final List<Node> nodes;
  private final List<String> racks;
  private final Map<String, Integer> positions;

  private RackRing(List<Node> nodes) {
    this.nodes = nodes;
    this.racks = new ArrayList<>(nodes.size());
    for (Node node : nodes) {
      racks.add(NodeBase.getPath(node));
    }
    racks.sort(NaturalOrder.INSTANCE);
    this.positions = new HashMap<>();
    for (String rack : racks) {
      positions.put(rack, positions.size());
    }
  }

  /**
   * The ring of the topology as it is now: this one if no rack came or went, which costs one pass
   * over the racks and no sorting.
   *
   * @param depth levels from the root to a rack: 1 for {@code /rack}, 2 for {@code /row/rack}
   */
  RackRing refreshed(NetworkTopology topology, int depth) {
    List<Node> level = innerNodesBelow(topology, NodeBase.ROOT);
    for (int d = 1; d < depth; d++) {
      List<Node> below = new ArrayList<>();
      for (Node node : level) {
        below.addAll(innerNodesBelow(topology, NodeBase.getPath(node)));
      }
      level = below;
    }
    return sameNodes(level) ? this : new RackRing(level);
  }

  /** A copy made under the topology's lock, as racks may come and go at any time. */
  private static List<Node> innerNodesBelow(NetworkTopology topology, String path) {
    List<Node> children = topology.getDatanodesInRack(path);
    children.removeIf(node -> !(node instanceof InnerNode));
    return children;
  }

  /** By identity: a rack that went and came back is another node, and comparing is cheap. */
  private boolean sameNodes(List<Node> others) {
    if (nodes.size() != others.size()) {
      return false;
    }
    for (int i = 0; i < others.size(); i++) {
      if (nodes.get(i) != others.get(i)) {
        return false;
      }
    }
    return true;
  }

  /** The rack that {@code rack} replicates to, or null if it is unknown or alone. */
  String target(String rack, RackMapping mapping) {
    Integer position = positions.get(rack);
    if (position == null || racks.size() < 2) {
      return null;
    }
    return racks.get(mapping.target(position, racks.size()));
  }
}
