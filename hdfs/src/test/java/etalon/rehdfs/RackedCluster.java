// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicy;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.tools.DFSck;

/**
 * Hadoop's MiniDFSCluster with racks {@code /rack1} ... and hosts {@code h1-1} (rack 1, node 1)
 * ..., under the policy, with all of HDFS's periods short.
 */
final class RackedCluster implements AutoCloseable {
  static final int BLOCK = 64 * 1024;

  final Configuration conf = new Configuration();
  final MiniDFSCluster mini;
  final DistributedFileSystem fs;
  private final File directory;
  private final File excludeFile;
  private final List<MiniDFSCluster.DataNodeProperties> stopped = new ArrayList<>();
  private int files;

  /** How many racks and nodes, and what differs from one disk with room. */
  static final class Layout {
    private final int racks;
    private final int nodesPerRack;
    private final StorageType[] typeOfRack;
    private final long[] capacityOfRack;

    Layout(int racks, int nodesPerRack) {
      this.racks = racks;
      this.nodesPerRack = nodesPerRack;
      typeOfRack = new StorageType[racks];
      Arrays.fill(typeOfRack, StorageType.DISK);
      capacityOfRack = new long[racks];
      Arrays.fill(capacityOfRack, 1L << 30);
    }

    Layout type(int rack, StorageType type) {
      typeOfRack[rack - 1] = type;
      return this;
    }

    Layout capacity(int rack, long bytes) {
      capacityOfRack[rack - 1] = bytes;
      return this;
    }
  }

  RackedCluster(Layout layout, String... keysAndValues) throws IOException {
    directory = new File(System.getProperty("test.build.data"), UUID.randomUUID().toString());
    Files.createDirectories(directory.toPath());
    excludeFile = new File(directory, "exclude");
    Files.writeString(excludeFile.toPath(), "");
    conf.setClass(
        DFSConfigKeys.DFS_BLOCK_REPLICATOR_CLASSNAME_KEY,
        WriterFromPathPolicy.class,
        BlockPlacementPolicy.class);
    conf.set(DFSConfigKeys.DFS_HOSTS_EXCLUDE, excludeFile.getPath());
    conf.setLong(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, BLOCK);
    conf.setLong(DFSConfigKeys.DFS_NAMENODE_MIN_BLOCK_SIZE_KEY, BLOCK);
    conf.setInt(DFSConfigKeys.DFS_HEARTBEAT_INTERVAL_KEY, 1);
    conf.setInt(DFSConfigKeys.DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL_KEY, 500);
    conf.setInt(DFSConfigKeys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS_KEY, 1);
    conf.setInt(DFSConfigKeys.DFS_NAMENODE_RECONSTRUCTION_PENDING_TIMEOUT_SEC_KEY, 3);
    conf.setInt(DFSConfigKeys.DFS_NAMENODE_DECOMMISSION_INTERVAL_KEY, 1);
    // Until its next heartbeat a node that has just served another test counts as busy, and is
    // avoided. Busy nodes are PlacementTest's.
    conf.setBoolean(DFSConfigKeys.DFS_NAMENODE_REDUNDANCY_CONSIDERLOAD_KEY, false);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    int nodes = layout.racks * layout.nodesPerRack;
    String[] racks = new String[nodes];
    String[] hosts = new String[nodes];
    StorageType[][] types = new StorageType[nodes][];
    long[][] capacities = new long[nodes][];
    for (int i = 0; i < nodes; i++) {
      int rack = 1 + i / layout.nodesPerRack;
      racks[i] = "/rack" + rack;
      hosts[i] = host(rack, 1 + i % layout.nodesPerRack);
      types[i] = new StorageType[] {layout.typeOfRack[rack - 1]};
      capacities[i] = new long[] {layout.capacityOfRack[rack - 1]};
    }
    mini =
        new MiniDFSCluster.Builder(conf, directory)
            .numDataNodes(nodes)
            .racks(racks)
            .hosts(hosts)
            .storagesPerDatanode(1)
            .storageTypes(types)
            .storageCapacities(capacities)
            .build();
    mini.waitActive();
    mini.triggerHeartbeats();
    fs = mini.getFileSystem();
  }

  @Override
  public void close() throws IOException {
    fs.close();
    mini.shutdown(true);
    FileUtil.fullyDelete(directory);
  }

  static String host(int rack, int node) {
    return "h" + rack + "-" + node;
  }

  /** Writes a file from a node and waits until all its replicas are reported. */
  Path write(int rack, int node, int replicas, int blocks) throws Exception {
    return write("/from/" + host(rack, node), replicas, blocks);
  }

  Path write(String parent, int replicas, int blocks) throws Exception {
    Path path = new Path(parent, "f" + ++files);
    DFSTestUtil.createFile(fs, path, (long) blocks * BLOCK, (short) replicas, files);
    DFSTestUtil.waitReplication(fs, path, (short) replicas);
    return path;
  }

  List<LocatedBlock> blocks(Path path) throws IOException {
    return DFSTestUtil.getAllBlocks(fs, path);
  }

  /** Numbers of the racks that have a block's replicas, sorted. */
  static List<Integer> racksOf(LocatedBlock block) {
    List<Integer> racks = new ArrayList<>();
    for (DatanodeInfo node : block.getLocations()) {
      racks.add(Integer.valueOf(node.getNetworkLocation().substring("/rack".length())));
    }
    racks.sort(null);
    return racks;
  }

  static List<String> hostsOf(LocatedBlock block) {
    List<String> hosts = new ArrayList<>();
    for (DatanodeInfo node : block.getLocations()) {
      hosts.add(node.getHostName());
    }
    return hosts;
  }

  /**
   * Asserts that a replica of every block is on the writer, and in which racks the replicas are.
   */
  void assertPlaced(Path path, String writer, Integer... racks) throws IOException {
    for (LocatedBlock block : blocks(path)) {
      assertEquals(List.of(racks), racksOf(block), path.toString());
      assertTrue(hostsOf(block).contains(writer), path + " on " + hostsOf(block));
    }
  }

  /** Writes three blocks in three replicas and asserts where they are. */
  void assertWrites(int rack, Integer... racks) throws Exception {
    assertPlaced(write(rack, 1, 3, 3), host(rack, 1), racks);
  }

  DataNode dataNode(String host) {
    for (DataNode node : mini.getDataNodes()) {
      if (node.getDatanodeId().getHostName().equals(host)) {
        return node;
      }
    }
    throw new IllegalArgumentException("no data node " + host);
  }

  /** Stops the processes of data nodes; the NameNode has not noticed. */
  void stop(String... hosts) {
    for (String host : hosts) {
      stopped.add(mini.stopDataNode(dataNode(host).getDatanodeId().getXferAddr()));
    }
  }

  /** Stops data nodes and lets the NameNode notice that they are dead. */
  void kill(String... hosts) throws IOException {
    for (String host : hosts) {
      DataNode node = dataNode(host);
      stop(host);
      mini.setDataNodeDead(node.getDatanodeId());
    }
  }

  /** Starts the data nodes that were stopped, with what they had on disk. */
  void restart() throws IOException {
    for (MiniDFSCluster.DataNodeProperties node : stopped) {
      assertTrue(mini.restartDataNode(node, true));
    }
    stopped.clear();
    mini.waitActive();
  }

  /** Decommissions exactly these nodes, by the exclude file. */
  void decommission(String... hosts) throws IOException {
    StringBuilder lines = new StringBuilder();
    for (String host : hosts) {
      lines.append(dataNode(host).getDatanodeId().getXferAddr()).append('\n');
    }
    Files.writeString(excludeFile.toPath(), lines);
    // Not fs.refreshNodes(): that reads the configuration anew, from files that a test has not.
    blockManager().getDatanodeManager().refreshNodes(conf);
  }

  BlockManager blockManager() {
    return mini.getNamesystem().getBlockManager();
  }

  /** Waits until the NameNode has nothing to copy or delete, and for several rounds more. */
  void awaitSettled() throws Exception {
    BlockManager manager = blockManager();
    long deadline = System.nanoTime() + Duration.ofSeconds(40).toNanos();
    int quiet = 0;
    while (quiet < 6) {
      assertTrue(System.nanoTime() < deadline, "the NameNode still copies or deletes replicas");
      Thread.sleep(500);
      BlockManagerTestUtil.updateState(manager);
      boolean idle =
          manager.getLowRedundancyBlocksCount() == 0
              && manager.getPendingReconstructionBlocksCount() == 0
              && manager.getPendingDeletionBlocksCount() == 0
              && manager.getExcessBlocksCount() == 0
              && manager.getPostponedMisreplicatedBlocksCount() == 0;
      quiet = idle ? quiet + 1 : 0;
    }
  }

  /** Asserts that fsck finds nothing missing, misplaced or in excess. */
  void assertHealthy() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    int status = new DFSck(conf, out).run(new String[] {"/"});
    String report = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, report);
    assertTrue(report.contains("is HEALTHY"), report);
    for (String count : new String[] {"Under-replicated", "Mis-replicated", "Over-replicated"}) {
      assertTrue(report.matches("(?s).*" + count + " blocks:\\s+0 .*"), report);
    }
  }
}
