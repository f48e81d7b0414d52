// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static etalon.rehdfs.RackedCluster.host;
import static etalon.rehdfs.RackedCluster.hostsOf;
import static etalon.rehdfs.RackedCluster.racksOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files written through real pipelines to a cluster in which nothing fails: 4 racks of 2 nodes. */
class WritesOnClusterTest {
  private static final int RACKS = 4;
  private static RackedCluster cluster;

  @BeforeAll
  static void start() throws Exception {
    cluster =
        new RackedCluster(
            new RackedCluster.Layout(RACKS, 2),
            RackMapping.MAPPING_KEY,
            RackMapping.ROTATING,
            RackMapping.PERIOD_KEY,
            "10s");
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
  }

  @BeforeEach
  void firstTurn() {
    WriterFromPathPolicy.CLOCK.set(Duration.ZERO);
  }

  /** The rack {@code steps} behind a rack on the ring. */
  private static int after(int rack, int steps) {
    return (rack - 1 + steps) % RACKS + 1;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void fromEveryNode(int replicas) throws Exception {
    for (int rack = 1; rack <= RACKS; rack++) {
      List<Integer> ring =
          List.of(rack, after(rack, 1), after(rack, 1), after(rack, 2), after(rack, 3));
      Integer[] expected = ring.stream().limit(replicas).sorted().toArray(Integer[]::new);
      for (int node = 1; node <= 2; node++) {
        Path path = cluster.write(rack, node, replicas, 2);
        cluster.assertPlaced(path, host(rack, node), expected);
      }
    }
  }

  @Test
  void fromOutsideTheFirstReplicaDecides() throws Exception {
    assertFollowsTheRing("/from/outside");
  }

  @Test
  void fromAClientThatTheNameNodeFindsByItself() throws Exception {
    assertFollowsTheRing("/plain");
  }

  private static void assertFollowsTheRing(String parent) throws Exception {
    Set<Integer> pairs = new HashSet<>();
    for (LocatedBlock block : cluster.blocks(cluster.write(parent, 3, 24))) {
      List<Integer> racks = new ArrayList<>(racksOf(block));
      int remote = racks.get(1); // of a rack that occurs once and one that occurs twice
      racks.removeAll(List.of(remote));
      assertEquals(1, racks.size(), "one replica in another rack: " + racksOf(block));
      assertEquals(after(racks.get(0), 1), remote);
      pairs.add(remote);
    }
    assertTrue(pairs.size() > 1, "first replicas in one rack only");
  }

  @Test
  void theMappingTurnsAndWhatIsWrittenStays() throws Exception {
    List<Path> paths = new ArrayList<>();
    List<List<String>> places = new ArrayList<>();
    for (int turn = 0; turn < RACKS; turn++) {
      WriterFromPathPolicy.CLOCK.set(Duration.ofSeconds(10L * turn + 9));
      int remote = after(3, 1 + turn % (RACKS - 1));
      Integer[] expected = List.of(3, remote, remote).stream().sorted().toArray(Integer[]::new);
      Path path = cluster.write(3, 2, 3, 1);
      cluster.assertPlaced(path, host(3, 2), expected);
      paths.add(path);
      places.add(hostsOf(cluster.blocks(path).get(0)));
    }
    cluster.awaitSettled();
    for (int turn = 0; turn < RACKS; turn++) {
      List<String> now = hostsOf(cluster.blocks(paths.get(turn)).get(0));
      assertEquals(new HashSet<>(places.get(turn)), new HashSet<>(now));
    }
    cluster.assertHealthy();
  }

  @Test
  void withoutTheLocalNode() throws Exception {
    Path path = new Path("/from/" + host(2, 1) + "/not-here");
    EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.NO_LOCAL_WRITE);
    FsPermission permission = FsPermission.getFileDefault();
    try (FSDataOutputStream out =
        cluster.fs.create(
            path, permission, flags, 4096, (short) 3, RackedCluster.BLOCK, null, null)) {
      out.write(new byte[2 * RackedCluster.BLOCK]);
    }
    DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
    for (LocatedBlock block : cluster.blocks(path)) {
      assertEquals(List.of(2, 3, 3), racksOf(block));
      assertFalse(hostsOf(block).contains(host(2, 1)));
    }
  }

  @Test
  void favouredNodesComeFirst() throws Exception {
    InetSocketAddress[] favoured = {
      cluster.dataNode(host(4, 1)).getXferAddress(), cluster.dataNode(host(1, 2)).getXferAddress()
    };
    Path path = new Path("/from/" + host(2, 1) + "/favoured");
    try (FSDataOutputStream out =
        cluster.fs.create(
            path,
            FsPermission.getFileDefault(),
            true,
            4096,
            (short) 3,
            RackedCluster.BLOCK,
            null,
            favoured)) {
      out.write(new byte[2 * RackedCluster.BLOCK]);
    }
    DFSTestUtil.waitReplication(cluster.fs, path, (short) 3);
    for (LocatedBlock block : cluster.blocks(path)) {
      Set<String> expected = Set.of(host(4, 1), host(1, 2), host(2, 1));
      assertEquals(expected, new HashSet<>(hostsOf(block)));
    }
  }

  @Test
  void fewerAndMoreReplicasOfAFile() throws Exception {
    Path path = cluster.write(1, 1, 3, 2);
    cluster.fs.setReplication(path, (short) 5);
    cluster.awaitSettled();
    for (LocatedBlock block : cluster.blocks(path)) {
      assertEquals(5, racksOf(block).size());
    }
    cluster.fs.setReplication(path, (short) 2);
    cluster.awaitSettled();
    for (LocatedBlock block : cluster.blocks(path)) {
      assertEquals(2, new HashSet<>(racksOf(block)).size(), "two replicas in two racks");
    }
    cluster.assertHealthy();
  }
}
