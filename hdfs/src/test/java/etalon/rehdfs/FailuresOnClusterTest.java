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
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What happens to writes and to blocks when nodes and racks fail, fill up, leave and join. */
class FailuresOnClusterTest {
  /** 4 racks of 3 nodes, whole again after every test. */
  private static RackedCluster cluster;

  @BeforeAll
  static void start() throws Exception {
    // A client has three attempts, as many as a rack has nodes.
    cluster =
        new RackedCluster(
            new RackedCluster.Layout(4, 3), HdfsClientConfigKeys.BlockWrite.RETRIES_KEY, "2");
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
  }

  @AfterEach
  void repair() throws Exception {
    cluster.restart();
    cluster.decommission();
    cluster.fs.delete(new Path("/from"), true);
    cluster.mini.triggerHeartbeats();
  }

  @Test
  void aDeadNodeIsReplacedOnceAndItsReturnLeavesNoExcess() throws Exception {
    Path path = cluster.write(1, 1, 3, 8);
    cluster.kill(host(2, 1));
    DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
    cluster.awaitSettled();
    for (LocatedBlock block : cluster.blocks(path)) {
      assertEquals(3, racksOf(block).size());
      assertEquals(Set.of(1, 2), new HashSet<>(racksOf(block)), "copied within a rack");
      assertFalse(hostsOf(block).contains(host(2, 1)));
    }
    cluster.assertHealthy();

    cluster.restart();
    cluster.awaitSettled();
    for (LocatedBlock block : cluster.blocks(path)) {
      assertEquals(3, racksOf(block).size());
    }
    cluster.assertHealthy();
  }

  @Test
  void theRingClosesOverADeadRackAndOpensWhenItReturns() throws Exception {
    Path first = cluster.write(1, 1, 3, 4);
    Path second = cluster.write(2, 1, 3, 4);
    cluster.kill(host(2, 1), host(2, 2), host(2, 3));
    cluster.assertWrites(1, 1, 3, 3);
    cluster.assertWrites(4, 1, 1, 4);
    for (Path path : List.of(first, second)) {
      DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
    }
    cluster.awaitSettled();
    for (LocatedBlock block : cluster.blocks(first)) {
      // One replica was left, in rack 1: a copy in its new target rack, a copy in either.
      assertEquals(3, racksOf(block).size());
      assertEquals(Set.of(1, 3), new HashSet<>(racksOf(block)));
    }
    for (LocatedBlock block : cluster.blocks(second)) {
      // Two were left in rack 3: the other rack is the one that rack 3 maps to.
      assertEquals(List.of(3, 3, 4), racksOf(block));
    }
    cluster.assertHealthy();

    cluster.restart();
    cluster.awaitSettled();
    cluster.assertHealthy();
    cluster.assertWrites(1, 1, 2, 2);
  }

  @Test
  void aWriteSurvivesARackThatDiedUnnoticed() throws Exception {
    cluster.stop(host(2, 1), host(2, 2), host(2, 3));
    Path path = cluster.write(1, 1, 3, 3);
    for (LocatedBlock block : cluster.blocks(path)) {
      assertFalse(racksOf(block).contains(2), racksOf(block).toString());
      assertEquals(host(1, 1), onlyHostIn(1, block));
    }
  }

  @Test
  void aPipelineThatLosesItsRemoteRackIsRepaired() throws Exception {
    Path path = new Path("/from/" + host(1, 1) + "/open");
    try (FSDataOutputStream out = cluster.fs.create(path, (short) 3)) {
      out.write(new byte[1000]);
      out.hflush();
      cluster.kill(host(2, 1), host(2, 2), host(2, 3));
      out.write(new byte[1000]);
      out.hflush();
    }
    DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
    LocatedBlock block = cluster.blocks(path).get(0);
    assertEquals(2000, block.getBlockSize());
    assertTrue(racksOf(block).contains(1));
    assertFalse(racksOf(block).contains(2));
  }

  @Test
  void decommissioningANodeThenItsRackMovesTheReplicasAndTheWrites() throws Exception {
    Path path = cluster.write(1, 1, 3, 6);
    cluster.decommission(host(2, 1));
    awaitDecommissioned(1);
    cluster.assertWrites(1, 1, 2, 2);
    assertInService(path);

    cluster.decommission(host(2, 1), host(2, 2), host(2, 3));
    awaitDecommissioned(3);
    cluster.awaitSettled();
    assertInService(path);
    for (LocatedBlock block : cluster.blocks(cluster.write(1, 1, 3, 4))) {
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

  @Test
  void aFullRackTakesNothingAndNobodyWaits() throws Exception {
    RackedCluster.Layout layout = new RackedCluster.Layout(3, 2).capacity(2, 1024);
    try (RackedCluster withFullRack = new RackedCluster(layout)) {
      withFullRack.assertWrites(1, 1, 3, 3);
      for (LocatedBlock block : withFullRack.blocks(withFullRack.write(2, 1, 3, 2))) {
        assertEquals(List.of(1, 1, 3), racksOf(block));
      }
      withFullRack.awaitSettled();
      withFullRack.assertHealthy();
    }
  }

  @Test
  void aStoragePolicyIsKeptAndTheRingWhereItCanBe() throws Exception {
    RackedCluster.Layout layout =
        new RackedCluster.Layout(3, 2).type(1, StorageType.SSD).type(3, StorageType.SSD);
    try (RackedCluster mixed = new RackedCluster(layout)) {
      Path parent = new Path("/from");
      mixed.fs.mkdirs(parent);
      mixed.fs.setStoragePolicy(parent, "ALL_SSD");
      Path onRing = mixed.write(3, 1, 3, 4);
      Path besideDisks = mixed.write(1, 1, 3, 4); // rack 2 has disks only
      mixed.assertPlaced(onRing, host(3, 1), 1, 1, 3);
      mixed.assertPlaced(besideDisks, host(1, 1), 1, 3, 3);
      for (Path path : List.of(onRing, besideDisks)) {
        for (LocatedBlock block : mixed.blocks(path)) {
          assertEquals(Set.of(StorageType.SSD), new HashSet<>(List.of(block.getStorageTypes())));
        }
      }
    }
  }

  @Test
  void aRackThatJoinsIsWrittenToAtOnce() throws Exception {
    try (RackedCluster growing = new RackedCluster(new RackedCluster.Layout(2, 1))) {
      growing.assertPlaced(growing.write(2, 1, 2, 2), host(2, 1), 1, 2);
      growing.mini.startDataNodes(
          growing.conf,
          1,
          true,
          StartupOption.REGULAR,
          new String[] {"/rack10"},
          new String[] {host(10, 1)},
          null);
      growing.mini.waitActive();
      growing.mini.triggerHeartbeats();
      growing.assertPlaced(growing.write(2, 1, 2, 2), host(2, 1), 2, 10);
      growing.assertPlaced(growing.write(10, 1, 2, 2), host(10, 1), 1, 10);
    }
  }

  private static void awaitDecommissioned(int nodes) throws Exception {
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
  private static void assertInService(Path path) throws Exception {
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
