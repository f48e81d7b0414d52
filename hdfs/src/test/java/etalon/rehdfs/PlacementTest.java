// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static etalon.rehdfs.FakeCluster.node;
import static etalon.rehdfs.FakeCluster.racksOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where the policy puts replicas, as the NameNode would ask it; no data node runs. */
class PlacementTest {
  /** Repetitions that a random choice of rack would not survive. */
  private static final int TIMES = 40;

  private static final EnumSet<AddBlockFlag> NO_FLAGS = EnumSet.noneOf(AddBlockFlag.class);

  @ParameterizedTest
  @CsvSource({
    "1, 2, 2",
    "2, 2, 2 3",
    "3, 2, 2 3 3",
    "4, 2, 2 3 3 4",
    "5, 2, 2 3 3 4 5",
    "3, 8, 8 1 1",
    "5, 7, 7 8 8 1 2",
  })
  void thePipelineFollowsTheRing(int replicas, int rack, String expected) {
    FakeCluster cluster = new FakeCluster(8, 4);
    for (int i = 0; i < TIMES; i++) {
      DatanodeDescriptor writer = cluster.node(rack, i % 4);
      List<DatanodeStorageInfo> pipeline = cluster.write(replicas, writer);
      assertEquals(numbers(expected), racksOf(pipeline));
      assertSame(writer, node(pipeline.get(0)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "2, 3, 1 2 2",
    "2, 4, 1 1 2 2",
    "2, 5, 1 1 2 2 2",
    "3, 4, 1 2 2 3",
    "3, 5, 1 1 2 2 3",
  })
  void inASmallRingThePipelineComesBack(int racks, int replicas, String expected) {
    FakeCluster cluster = new FakeCluster(racks, 4);
    for (int i = 0; i < TIMES; i++) {
      assertEquals(numbers(expected), racksOf(cluster.write(replicas, cluster.node(1, 0))));
    }
  }

  @Test
  void oneRackIsPlacedAsByDefault() {
    FakeCluster cluster = new FakeCluster(1, 4);
    assertEquals(List.of(1, 1, 1), racksOf(cluster.write(3, cluster.node(1, 0))));
  }

  @Test
  void moreReplicasThanNodesGiveOneANode() {
    FakeCluster cluster = new FakeCluster(2, 1);
    assertEquals(List.of(1, 2), racksOf(cluster.write(3, cluster.node(1, 0))));
  }

  @Test
  void everyNodeOfTheTargetRackIsUsed() {
    FakeCluster cluster = new FakeCluster(4, 4);
    Set<DatanodeDescriptor> used = new HashSet<>();
    for (int i = 0; i < 5 * TIMES; i++) {
      used.add(node(cluster.write(3, cluster.node(1, 0)).get(1)));
    }
    assertEquals(new HashSet<>(cluster.rack(2)), used);
  }

  @Test
  void aWriterOutsideIsServedFromItsFirstReplica() {
    FakeCluster cluster = new FakeCluster(8, 4);
    Set<Integer> firsts = new HashSet<>();
    for (int i = 0; i < 5 * TIMES; i++) {
      Node writer = i % 2 == 0 ? null : new NodeBase("client", "/elsewhere");
      List<Integer> racks = racksOf(cluster.write(3, writer));
      int first = racks.get(0);
      int next = first % 8 + 1;
      assertEquals(List.of(first, next, next), racks);
      firsts.add(first);
    }
    assertEquals(8, firsts.size(), "first replicas are spread over all racks");
  }

  @Test
  void aWriterThatIsNoDataNodeOfAKnownRackWritesToItsRack() {
    FakeCluster cluster = new FakeCluster(8, 4);
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline = cluster.write(3, new NodeBase("client", "/rack5"));
      assertEquals(List.of(5, 6, 6), racksOf(pipeline));
    }
  }

  @Test
  void racksComeAndGo() {
    FakeCluster cluster = new FakeCluster(4, 3);
    cluster.removeRack(3);
    for (int i = 0; i < TIMES; i++) {
      assertEquals(List.of(2, 4, 4), racksOf(cluster.write(3, cluster.node(2, 0))));
      assertEquals(List.of(4, 1, 1), racksOf(cluster.write(3, cluster.node(4, 0))));
    }
    cluster.addNode(5, StorageType.DISK);
    cluster.addNode(5, StorageType.DISK);
    for (int i = 0; i < TIMES; i++) {
      assertEquals(List.of(4, 5, 5), racksOf(cluster.write(3, cluster.node(4, 0))));
      assertEquals(List.of(5, 1, 1), racksOf(cluster.write(3, cluster.node(5, 0))));
    }
  }

  @Test
  void aRackWithOneGoodNodeTakesOneReplicaAndTheDefaultPlacesTheOther() {
    FakeCluster cluster = new FakeCluster(4, 3);
    cluster.node(2, 0).setDecommissioned();
    FakeCluster.fill(cluster.node(2, 1));
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline = cluster.write(3, cluster.node(1, 0));
      assertEquals(3, pipeline.size());
      assertTrue(pipeline.stream().anyMatch(s -> node(s) == cluster.node(2, 2)));
    }
  }

  @Test
  void aFullRackIsReplacedByRandomOtherRacks() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(2).forEach(FakeCluster::fill);
    assertFallsBack(cluster, 1, 2, Set.of(), "HOT");
    assertEquals(List.of(3, 4, 4), racksOf(cluster.write(3, cluster.node(3, 0))));
  }

  @Test
  void aDecommissioningRackIsReplaced() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(2).forEach(DatanodeInfo::startDecommission);
    assertFallsBack(cluster, 1, 2, Set.of(), "HOT");
  }

  @Test
  void aRackInMaintenanceIsReplaced() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(2).forEach(DatanodeInfo::startMaintenance);
    assertFallsBack(cluster, 1, 2, Set.of(), "HOT");
  }

  @Test
  void anExcludedRackIsReplaced() {
    FakeCluster cluster = new FakeCluster(5, 3);
    assertFallsBack(cluster, 1, 2, new HashSet<>(cluster.rack(2)), "HOT");
  }

  @Test
  void aClientThatCannotReachTwoNodesOfARackIsSparedTheOthers() {
    FakeCluster cluster = new FakeCluster(5, 8);
    DatanodeDescriptor writer = cluster.node(1, 0);
    Set<Node> one = Set.of(cluster.node(2, 0));
    Set<Node> two = Set.of(cluster.node(2, 0), cluster.node(2, 7));
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> again = cluster.choose(3, writer, List.of(), one, "HOT", NO_FLAGS);
      assertEquals(List.of(1, 2, 2), racksOf(again));
      List<DatanodeStorageInfo> pipeline = cluster.write(1, writer);
      assertEquals(Set.of(1, 2), new HashSet<>(racksOf(cluster.repair(writer, pipeline, one))));
      List<DatanodeStorageInfo> repaired = cluster.repair(writer, pipeline, two);
      assertEquals(2, repaired.size());
      assertFalse(racksOf(repaired).contains(2));
    }
    assertFallsBack(cluster, 1, 2, two, "HOT");
    // In the writer's own rack the default policy goes on as it does.
    Set<Node> own = Set.of(cluster.node(1, 1), cluster.node(1, 2));
    List<DatanodeStorageInfo> pipeline = cluster.choose(3, writer, List.of(), own, "HOT", NO_FLAGS);
    assertEquals(List.of(1, 2, 2), racksOf(pipeline));
  }

  @Test
  void aSuspectRackIsUsedWhenTheOthersDoNotSuffice() {
    FakeCluster cluster = new FakeCluster(2, 4);
    Set<Node> failed = Set.of(cluster.node(2, 0), cluster.node(2, 1));
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline =
          cluster.choose(3, cluster.node(1, 0), List.of(), failed, "HOT", NO_FLAGS);
      assertEquals(List.of(1, 2, 2), racksOf(pipeline));
      assertTrue(pipeline.stream().noneMatch(s -> failed.contains(node(s))));
    }
  }

  @Test
  void aCopyIsNotKeptFromARackWhoseNodesTheNameNodeExcludes() {
    FakeCluster cluster = new FakeCluster(5, 4);
    List<DatanodeStorageInfo> existing = cluster.write(1, cluster.node(1, 0));
    Set<Node> leaving = Set.of(cluster.node(2, 0), cluster.node(2, 1));
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> copy =
          cluster.choose(1, cluster.node(1, 0), existing, leaving, "HOT", null);
      assertEquals(List.of(2), racksOf(copy));
    }
  }

  @Test
  void aBusyRackIsReplaced() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(2).forEach(node -> node.setXceiverCount(21));
    assertFallsBack(cluster, 1, 2, Set.of(), "HOT");
  }

  @Test
  void staleNodesAreAvoidedIfTheNameNodeAvoidsThem() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(2).forEach(node -> node.setLastUpdateMonotonic(-1_000_000_000L));
    assertEquals(List.of(1, 2, 2), racksOf(cluster.write(3, cluster.node(1, 0))));
    cluster.setAvoidStale(true);
    assertFallsBack(cluster, 1, 2, Set.of(), "HOT");
  }

  @Test
  void whenOnlyStaleNodesAreLeftTheyAreUsedAndTheRingHolds() {
    FakeCluster cluster = new FakeCluster(5, 3);
    for (int rack = 1; rack <= 5; rack++) {
      cluster.rack(rack).forEach(node -> node.setLastUpdateMonotonic(-1_000_000_000L));
    }
    cluster.setAvoidStale(true);
    assertEquals(List.of(1, 2, 2), racksOf(cluster.write(3, cluster.node(1, 0))));
  }

  @Test
  void aRackWithoutTheStorageTypeIsReplaced() {
    FakeCluster cluster = new FakeCluster(0, 0);
    for (int rack : new int[] {1, 2, 3, 4}) {
      for (int i = 0; i < 3; i++) {
        cluster.addNode(rack, rack == 2 ? StorageType.DISK : StorageType.SSD);
      }
    }
    assertFallsBack(cluster, 1, 2, Set.of(), "ALL_SSD");
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline =
          cluster.choose(3, cluster.node(3, 0), List.of(), Set.of(), "ALL_SSD", NO_FLAGS);
      assertEquals(List.of(3, 4, 4), racksOf(pipeline));
    }
  }

  @Test
  void storageTypesOfAMixedPolicyAreFoundInTheTargetRack() {
    FakeCluster cluster = new FakeCluster(0, 0);
    for (int rack = 1; rack <= 3; rack++) {
      for (int i = 0; i < 3; i++) {
        cluster.addNode(rack, StorageType.DISK);
      }
      cluster.addNode(rack, StorageType.SSD);
    }
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline =
          cluster.choose(3, cluster.node(1, 0), List.of(), Set.of(), "ONE_SSD", NO_FLAGS);
      assertEquals(List.of(1, 2, 2), racksOf(pipeline));
      assertEquals(1, pipeline.stream().filter(s -> s.getStorageType() == StorageType.SSD).count());
    }
  }

  /** No replica in a rack that cannot take one; the others spread over what is left. */
  private static void assertFallsBack(
      FakeCluster cluster, int writerRack, int bad, Set<Node> excluded, String storagePolicy) {
    Set<Integer> used = new HashSet<>();
    for (int i = 0; i < 5 * TIMES; i++) {
      DatanodeDescriptor writer = cluster.node(writerRack, 0);
      List<DatanodeStorageInfo> pipeline =
          cluster.choose(3, writer, List.of(), excluded, storagePolicy, NO_FLAGS);
      assertEquals(3, pipeline.size());
      assertSame(writer, node(pipeline.get(0)));
      List<Integer> racks = racksOf(pipeline);
      assertFalse(racks.contains(bad), "placed in the bad rack: " + racks);
      assertEquals(racks.get(1), racks.get(2), "replicas 2 and 3 share a rack");
      used.add(racks.get(1));
    }
    assertTrue(used.size() >= 2, "a random rack, not a fixed one: " + used);
    assertFalse(used.contains(writerRack));
  }

  @Test
  void aFullLocalNodeIsReplacedInItsRack() {
    FakeCluster cluster = new FakeCluster(4, 3);
    FakeCluster.fill(cluster.node(1, 0));
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> pipeline = cluster.write(3, cluster.node(1, 0));
      assertEquals(List.of(1, 2, 2), racksOf(pipeline));
      assertNotSame(cluster.node(1, 0), node(pipeline.get(0)));
    }
  }

  @Test
  void aWriterInAFullRackWritesAlongTheRing() {
    FakeCluster cluster = new FakeCluster(5, 3);
    cluster.rack(1).forEach(FakeCluster::fill);
    for (int i = 0; i < TIMES; i++) {
      assertEquals(List.of(2, 3, 3), racksOf(cluster.write(3, cluster.node(1, 0))));
    }
  }

  @Test
  void theFlagsThatAvoidTheLocalNodeAndRackAreRespected() {
    FakeCluster cluster = new FakeCluster(5, 3);
    DatanodeDescriptor writer = cluster.node(1, 0);
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> noNode =
          cluster.choose(
              3, writer, List.of(), Set.of(), "HOT", EnumSet.of(AddBlockFlag.NO_LOCAL_WRITE));
      assertEquals(List.of(1, 2, 2), racksOf(noNode));
      assertTrue(noNode.stream().noneMatch(s -> node(s) == writer));
      List<DatanodeStorageInfo> noRack =
          cluster.choose(
              3, writer, List.of(), Set.of(), "HOT", EnumSet.of(AddBlockFlag.NO_LOCAL_RACK));
      assertEquals(List.of(2, 3, 3), racksOf(noRack));
    }
  }

  @Test
  void aLostReplicaIsCopiedWithinARackOrAlongTheRing() {
    FakeCluster cluster = new FakeCluster(5, 3);
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> block = cluster.write(3, cluster.node(1, 0));
      // The first is lost: both others are in rack 2, the block needs another rack.
      List<DatanodeStorageInfo> remote = block.subList(1, 3);
      assertEquals(List.of(3), racksOf(cluster.copy(1, node(remote.get(0)), remote)));
      // The third is lost: two racks are left, the copy stays in the rack of its source.
      List<DatanodeStorageInfo> rest = block.subList(0, 2);
      assertEquals(List.of(1), racksOf(cluster.copy(1, node(rest.get(0)), rest)));
      assertEquals(List.of(2), racksOf(cluster.copy(1, node(rest.get(1)), rest)));
      // Two are lost.
      List<DatanodeStorageInfo> one = block.subList(0, 1);
      assertEquals(Set.of(1, 2), new HashSet<>(racksOf(cluster.copy(2, node(one.get(0)), one))));
    }
  }

  @Test
  void raisedReplicationContinuesAlongTheRingFromTheSource() {
    FakeCluster cluster = new FakeCluster(8, 4);
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> block = cluster.write(3, cluster.node(1, 0));
      assertEquals(List.of(3, 4), racksOf(cluster.copy(2, node(block.get(1)), block)));
      // Rack 2 has as many replicas as the default allows a rack: any other.
      List<DatanodeStorageInfo> more = cluster.copy(2, node(block.get(0)), block);
      assertEquals(2, more.size());
      assertFalse(racksOf(more).contains(2));
    }
  }

  @Test
  void aBlockOfAnyMappingIsWellPlacedAndNoReplicaIsMissed() {
    FakeCluster cluster = new FakeCluster(5, 3);
    for (int other = 2; other <= 5; other++) {
      DatanodeInfo[] locations = {
        cluster.node(1, 0), cluster.node(other, 0), cluster.node(other, 1)
      };
      assertTrue(cluster.policy.verifyBlockPlacement(locations, 3).isPlacementPolicySatisfied());
    }
    DatanodeInfo[] oneRack = {cluster.node(1, 0), cluster.node(1, 1), cluster.node(1, 2)};
    assertFalse(cluster.policy.verifyBlockPlacement(oneRack, 3).isPlacementPolicySatisfied());
    List<DatanodeStorageInfo> storages = new ArrayList<>();
    for (DatanodeDescriptor node : cluster.rack(1)) {
      storages.add(node.getStorageInfos()[0]);
    }
    List<DatanodeStorageInfo> repair = cluster.copy(1, cluster.node(1, 0), storages);
    assertEquals(List.of(2), racksOf(repair), "the repair follows the ring");
  }

  @Test
  void anExcessReplicaIsTakenWhereTwoRacksRemain() {
    FakeCluster cluster = new FakeCluster(5, 3);
    for (int i = 0; i < TIMES; i++) {
      List<DatanodeStorageInfo> block = new ArrayList<>(cluster.write(3, cluster.node(1, 0)));
      block.addAll(cluster.copy(1, node(block.get(0)), block));
      List<DatanodeStorageInfo> excess =
          cluster.policy.chooseReplicasToDelete(
              block,
              block,
              3,
              new ArrayList<>(List.of(StorageType.DISK)),
              node(block.get(3)),
              null);
      assertEquals(1, excess.size());
      block.removeAll(excess);
      DatanodeInfo[] left = block.stream().map(FakeCluster::node).toArray(DatanodeInfo[]::new);
      assertTrue(cluster.policy.verifyBlockPlacement(left, 3).isPlacementPolicySatisfied());
    }
  }

  @Test
  void theNameNodeReadsTheMappingAndRefusesNonsense() {
    FakeCluster cluster = new FakeCluster(3, 2, "etalon.rehdfs.mapping", "rotating");
    BlockPlacementPolicyReHDFS policy =
        assertInstanceOf(BlockPlacementPolicyReHDFS.class, cluster.policy);
    assertEquals("rotating", policy.getConf().get(RackMapping.MAPPING_KEY));
    Exception e =
        assertThrows(
            RuntimeException.class,
            () -> new FakeCluster(3, 2, "etalon.rehdfs.mapping", "nearest"));
    assertTrue(e.toString().contains("etalon.rehdfs.mapping must be"), e.toString());
  }

  private static List<Integer> numbers(String text) {
    List<Integer> numbers = new ArrayList<>();
    for (String number : text.split(" ")) {
      numbers.add(Integer.valueOf(number));
    }
    return numbers;
  }
}
