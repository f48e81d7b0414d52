// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;
import org.junit.jupiter.api.Test;

class RackRingTest {
  private static final RackMapping NEXT = RackMapping.next();

  private final NetworkTopology topology = new NetworkTopology();

  private Node add(String name, String rack) {
    Node node = new NodeBase(name, rack);
    topology.add(node);
    return node;
  }

  /** Each rack maps to the one after it, and the last to the first. */
  private static void assertRing(RackRing ring, String... racks) {
    for (int i = 0; i < racks.length; i++) {
      assertEquals(racks[(i + 1) % racks.length], ring.target(racks[i], NEXT));
    }
  }

  @Test
  void racksFollowEachOtherAsTheyAreNumbered() {
    for (int rack : new int[] {10, 2, 1, 3}) {
      add("n" + rack, "/rack" + rack);
    }
    assertRing(RackRing.EMPTY.refreshed(topology, 1), "/rack1", "/rack2", "/rack3", "/rack10");
  }

  @Test
  void racksBelowRowsFormOneRing() {
    add("n1", "/east/r1");
    add("n2", "/east/r2");
    add("n3", "/west/r1");
    RackRing ring = RackRing.EMPTY.refreshed(topology, 2);
    assertRing(ring, "/east/r1", "/east/r2", "/west/r1");
    assertNull(ring.target("/east", NEXT));
  }

  @Test
  void anUnknownOrALonelyRackHasNoTarget() {
    assertNull(RackRing.EMPTY.refreshed(topology, 1).target("/a", NEXT));
    add("n1", "/a");
    RackRing ring = RackRing.EMPTY.refreshed(topology, 1);
    assertNull(ring.target("/a", NEXT));
    add("n2", "/b");
    assertNull(ring.refreshed(topology, 1).target("/c", NEXT));
  }

  @Test
  void theRingClosesOverARackThatGoesAndOpensForOneThatComes() {
    add("a1", "/a");
    Node b1 = add("b1", "/b");
    Node b2 = add("b2", "/b");
    add("c1", "/c");
    RackRing ring = RackRing.EMPTY.refreshed(topology, 1);
    assertRing(ring, "/a", "/b", "/c");

    topology.remove(b1);
    assertSame(ring, ring.refreshed(topology, 1), "one node of /b is left");
    topology.remove(b2);
    RackRing closed = ring.refreshed(topology, 1);
    assertRing(closed, "/a", "/c");
    assertNull(closed.target("/b", NEXT));

    topology.add(b1);
    add("aa1", "/aa");
    RackRing open = closed.refreshed(topology, 1);
    assertNotSame(closed, open);
    assertRing(open, "/a", "/aa", "/b", "/c");
  }

  @Test
  void aRackReplacedByAnotherIsNoticedThoughTheNumberIsTheSame() {
    add("a1", "/a");
    Node c1 = add("c1", "/c");
    RackRing ring = RackRing.EMPTY.refreshed(topology, 1);
    topology.remove(c1);
    add("d1", "/d");
    assertEquals("/d", ring.refreshed(topology, 1).target("/a", NEXT));
  }
}
