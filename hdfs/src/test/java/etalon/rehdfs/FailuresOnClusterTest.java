// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static etalon.rehdfs.RackedCluster.host;
import static etalon.rehdfs.RackedCluster.hostsOf;
import static etalon.rehdfs.RackedCluster.racksOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.junit.jupiter.api.Test;

/** What happens to writes and to blocks when nodes and racks fail, fill up, leave and join. */
class FailuresOnClusterTest {
  @Test
  void aDeadNodeIsReplacedOnceAndItsReturnLeavesNoExcess() throws Exception {
    try (RackedCluster cluster = new RackedCluster(new RackedCluster.Layout(4, 2))) {
      Path path = cluster.write(1, 1, 3, 6);
      // Rack 2 has two nodes: every block has a replica on each.
      List<DataNodeProperties> dead = cluster.kill(host(2, 1));
      DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
      cluster.awaitSettled();
      for (LocatedBlock block : cluster.blocks(path)) {
        assertEquals(3, racksOf(block).size());
        assertTrue(racksOf(block).containsAll(List.of(1, 2)), racksOf(block).toString());
        assertFalse(hostsOf(block).contains(host(2, 1)));
      }
      cluster.assertHealthy();

      assertTrue(cluster.mini.restartDataNode(dead.get(0), true));
      cluster.mini.waitActive();
      cluster.awaitSettled();
      for (LocatedBlock block : cluster.blocks(path)) {
        assertEquals(3, racksOf(block).size());
      }
      cluster.assertHealthy();
      cluster.assertWrites(1, 1, 2, 2);
    }
  }

  @Test
  void theRingClosesOverADeadRackAndOpensWhenItReturns() throws Exception {
    try (RackedCluster cluster = new RackedCluster(new RackedCluster.Layout(4, 3))) {
      Path first = cluster.write(1, 1, 3, 4);
      Path second = cluster.write(2, 1, 3, 4);
      List<DataNodeProperties> dead = cluster.kill(host(2, 1), host(2, 2), host(2, 3));
      cluster.assertWrites(1, 1, 3, 3);
      cluster.assertWrites(4, 1, 1, 4);
      for (Path path : List.of(first, second)) {
        DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
      }
      cluster.awaitSettled();
      for (LocatedBlock block : cluster.blocks(first)) {
        // One replica was left, in rack 1: a copy in its new target rack, a copy beside it.
        assertEquals(Set.of(1, 3), new HashSet<>(racksOf(block)));
      }
      for (LocatedBlock block : cluster.blocks(second)) {
        // Two were left in rack 3: the other rack is the one that rack 3 maps to.
        assertEquals(List.of(3, 3, 4), racksOf(block));
      }
      cluster.assertHealthy();

      for (DataNodeProperties node : dead) {
        assertTrue(cluster.mini.restartDataNode(node, true));
      }
      cluster.mini.waitActive();
      cluster.awaitSettled();
      cluster.assertHealthy();
      cluster.assertWrites(1, 1, 2, 2);
    }
  }

  @Test
  void aWriteSurvivesARackThatDiedUnnoticed() throws Exception {
    try (RackedCluster cluster =
        new RackedCluster(
            new RackedCluster.Layout(4, 2),
            DFSConfigKeys.DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL_KEY,
            "600000")) {
      cluster.stop(host(2, 1));
      cluster.stop(host(2, 2));
      Path path = cluster.write(1, 1, 3, 3);
      for (LocatedBlock block : cluster.blocks(path)) {
        assertFalse(racksOf(block).contains(2), racksOf(block).toString());
        assertEquals(host(1, 1), onlyHostIn(1, block));
      }
    }
  }

  @Test
  void aPipelineThatLosesItsRemoteRackIsRepaired() throws Exception {
    try (RackedCluster cluster = new RackedCluster(new RackedCluster.Layout(4, 2))) {
      Path path = new Path("/from/" + host(1, 1) + "/open");
      try (FSDataOutputStream out = cluster.fs.create(path, (short) 3)) {
        out.write(new byte[1000]);
        out.hflush();
        cluster.kill(host(2, 1), host(2, 2));
        out.write(new byte[1000]);
        out.hflush();
      }
      DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
      cluster.awaitSettled();
      LocatedBlock block = cluster.blocks(path).get(0);
      assertEquals(2000, block.getBlockSize());
      assertTrue(racksOf(block).contains(1));
      assertFalse(racksOf(block).contains(2));
      cluster.assertHealthy();
    }
  }

  @Test
  void aFullRackTakesNothingAndNobodyWaits() throws Exception {
    RackedCluster.Layout layout = new RackedCluster.Layout(4, 2).capacity(2, 1024);
    try (RackedCluster cluster = new RackedCluster(layout)) {
      for (LocatedBlock block : cluster.blocks(cluster.write(1, 1, 3, 8))) {
        assertEquals(host(1, 1), onlyHostIn(1, block));
        assertFalse(racksOf(block).contains(2));
      }
      for (LocatedBlock block : cluster.blocks(cluster.write(2, 1, 3, 2))) {
        assertEquals(List.of(3, 4, 4), racksOf(block));
      }
      cluster.awaitSettled();
      cluster.assertHealthy();
    }
  }

  @Test
  void decommissioningANodeThenItsRackMovesTheReplicasAndTheWrites() throws Exception {
    try (RackedCluster cluster = new RackedCluster(new RackedCluster.Layout(4, 3))) {
      Path path = cluster.write(1, 1, 3, 6);
      cluster.decommission(host(2, 1));
      awaitDecommissioned(cluster, 1);
      cluster.assertWrites(1, 1, 2, 2);
      assertInService(cluster, path);

      cluster.decommission(host(2, 1), host(2, 2), host(2, 3));
      awaitDecommissioned(cluster, 3);
      cluster.awaitSettled();
      assertInService(cluster, path);
      Path after = cluster.write(1, 1, 3, 4);
      for (LocatedBlock block : cluster.blocks(after)) {
        assertEquals(host(1, 1), onlyHostIn(1, block));
        assertFalse(racksOf(block).contains(2));
      }
      cluster.assertWrites(3, 3, 4, 4);

      cluster.decommission();
      cluster.mini.triggerHeartbeats();
      cluster.awaitSettled();
      cluster.assertHealthy();
      cluster.assertWrites(1, 1, 2, 2);
    }
  }

  @Test
  void aStoragePolicyIsKeptAndTheRingWhereItCanBe() throws Exception {
    RackedCluster.Layout layout = new RackedCluster.Layout(4, 2);
    for (int rack : new int[] {1, 3, 4}) {
      layout.type(rack, StorageType.SSD);
    }
    try (RackedCluster cluster = new RackedCluster(layout)) {
      for (int rack = 1; rack <= 4; rack++) {
        Path parent = new Path("/from/" + host(rack, 1));
        cluster.fs.mkdirs(parent);
        cluster.fs.setStoragePolicy(parent, "ALL_SSD");
      }
      assertOnSsd(cluster, 3, Set.of(List.of(3, 4, 4)));
      // Rack 2 has disks only.
      assertOnSsd(cluster, 1, Set.of(List.of(1, 3, 3), List.of(1, 4, 4)));
    }
  }

  private static void assertOnSsd(RackedCluster cluster, int rack, Set<List<Integer>> allowed)
      throws Exception {
    for (LocatedBlock block : cluster.blocks(cluster.write(rack, 1, 3, 4))) {
      for (StorageType type : block.getStorageTypes()) {
        assertEquals(StorageType.SSD, type);
      }
      assertTrue(allowed.contains(racksOf(block)), racksOf(block).toString());
    }
  }

  @Test
  void aRackThatJoinsIsWrittenToAtOnce() throws Exception {
    try (RackedCluster cluster = new RackedCluster(new RackedCluster.Layout(2, 2))) {
      cluster.assertWrites(2, 1, 1, 2);
      cluster.mini.startDataNodes(
          cluster.conf,
          2,
          true,
          StartupOption.REGULAR,
          new String[] {"/rack10", "/rack10"},
          new String[] {host(10, 1), host(10, 2)},
          null);
      cluster.mini.waitActive();
      cluster.mini.triggerHeartbeats();
      cluster.assertWrites(2, 2, 10, 10);
      cluster.assertWrites(10, 1, 1, 10);
    }
  }

  private static void awaitDecommissioned(RackedCluster cluster, int nodes) throws Exception {
    long deadline = System.nanoTime() + 40_000_000_000L;
    while (true) {
      int done = 0;
      for (DatanodeInfo node : cluster.fs.getDataNodeStats()) {
        done += node.isDecommissioned() ? 1 : 0;
      }
      if (done == nodes) {
        return;
      }
      assertTrue(System.nanoTime() < deadline, done + " of " + nodes + " are decommissioned");
      Thread.sleep(250);
    }
  }

  /** Every block has its replicas on nodes that stay, in two racks. */
  private static void assertInService(RackedCluster cluster, Path path) throws Exception {
    for (LocatedBlock block : cluster.blocks(path)) {
      Set<String> racks = new HashSet<>();
      int live = 0;
      for (DatanodeInfo node : block.getLocations()) {
        if (!node.isDecommissioned()) {
          live++;
          racks.add(node.getNetworkLocation());
        }
      }
      assertEquals(3, live, block.toString());
      assertEquals(2, racks.size(), racks.toString());
    }
  }

  private static String onlyHostIn(int rack, LocatedBlock block) {
    List<String> hosts = new ArrayList<>(hostsOf(block));
    hosts.removeIf(host -> !host.startsWith("h" + rack + "-"));
    assertEquals(1, hosts.size(), hosts.toString());
    return hosts.get(0);
  }
}
