// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.BlockType;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicies;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockStoragePolicySuite;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.FSClusterStats;
import org.apache.hadoop.hdfs.server.blockmanagement.StorageTypeStats;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.util.Time;

/**
 * What a NameNode knows of a cluster, without data nodes: descriptors in a topology, and the policy
 * loaded by class name as the NameNode loads it. Racks are {@code /rack1}, {@code /rack2}, ...
 */
final class FakeCluster {
  static final long BLOCK = 1 << 20;

  private static final long CAPACITY = 1000 * BLOCK;

  final DFSNetworkTopology topology;
  final BlockPlacementPolicy policy;
  private final Configuration conf = new Configuration();
  private final BlockStoragePolicySuite storagePolicies =
      BlockStoragePolicySuite.createDefaultSuite();
  private final List<List<DatanodeDescriptor>> racks = new ArrayList<>();
  private boolean avoidStale;
  private int nodes;

  /** A cluster of racks with nodes that have one disk each. */
  FakeCluster(int numRacks, int nodesPerRack, String... keysAndValues) {
    conf.setClass(
        DFSConfigKeys.DFS_BLOCK_REPLICATOR_CLASSNAME_KEY,
        BlockPlacementPolicyReHDFS.class,
        BlockPlacementPolicy.class);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    topology = DFSNetworkTopology.getInstance(conf);
    for (int rack = 1; rack <= numRacks; rack++) {
      for (int node = 0; node < nodesPerRack; node++) {
        addNode(rack, StorageType.DISK);
      }
    }
    policy =
        new BlockPlacementPolicies(conf, new Stats(), topology, null)
            .getPolicy(BlockType.CONTIGUOUS);
  }

  DatanodeDescriptor addNode(int rack, StorageType type) {
    nodes++;
    DatanodeDescriptor node =
        DFSTestUtil.createDatanodeStorageInfo(
                "s" + nodes,
                "10.0." + nodes / 250 + "." + (1 + nodes % 250),
                "/rack" + rack,
                "host" + nodes,
                type,
                null)
            .getDatanodeDescriptor();
    setRemaining(node, CAPACITY);
    node.setLastUpdateMonotonic(Time.monotonicNow());
    topology.add(node);
    while (racks.size() < rack) {
      racks.add(new ArrayList<>());
    }
    racks.get(rack - 1).add(node);
    return node;
  }

  void removeRack(int rack) {
    rack(rack).forEach(topology::remove);
    rack(rack).clear();
  }

  List<DatanodeDescriptor> rack(int rack) {
    return racks.get(rack - 1);
  }

  DatanodeDescriptor node(int rack, int index) {
    return rack(rack).get(index);
  }

  void setAvoidStale(boolean avoid) {
    avoidStale = avoid;
  }

  /** Leaves less than a block. */
  static void fill(DatanodeDescriptor node) {
    setRemaining(node, BLOCK - 1);
  }

  private static void setRemaining(DatanodeDescriptor node, long remaining) {
    for (DatanodeStorageInfo storage : node.getStorageInfos()) {
      storage.setUtilizationForTesting(
          CAPACITY, CAPACITY - remaining, remaining, CAPACITY - remaining);
    }
  }

  /** The pipeline of a new block. */
  List<DatanodeStorageInfo> write(int replicas, Node writer) {
    return choose(replicas, writer, List.of(), Set.of(), "HOT", EnumSet.noneOf(AddBlockFlag.class));
  }

  /** The targets beside the replicas that exist. */
  List<DatanodeStorageInfo> copy(
      int replicas, DatanodeDescriptor source, List<DatanodeStorageInfo> existing) {
    return choose(replicas, source, existing, Set.of(), "HOT", null);
  }

  List<DatanodeStorageInfo> choose(
      int replicas,
      Node writer,
      List<DatanodeStorageInfo> existing,
      Set<Node> excluded,
      String storagePolicy,
      EnumSet<AddBlockFlag> flags) {
    DatanodeStorageInfo[] targets =
        policy.chooseTarget(
            "/file",
            replicas,
            writer,
            new ArrayList<>(existing),
            false,
            new HashSet<>(excluded),
            BLOCK,
            storagePolicies.getPolicy(storagePolicy),
            flags);
    assertEquals(
        targets.length,
        Arrays.stream(targets).map(t -> node(t)).distinct().count(),
        "nodes differ");
    return List.of(targets);
  }

  /** One more node for a pipeline that lost some, to which its client adds it. */
  List<DatanodeStorageInfo> repair(
      Node writer, List<DatanodeStorageInfo> existing, Set<Node> failed) {
    DatanodeStorageInfo[] targets =
        policy.chooseTarget(
            "/file",
            1,
            writer,
            new ArrayList<>(existing),
            true,
            new HashSet<>(failed),
            BLOCK,
            storagePolicies.getDefaultPolicy(),
            null);
    return List.of(targets);
  }

  static DatanodeDescriptor node(DatanodeStorageInfo storage) {
    return storage.getDatanodeDescriptor();
  }

  /** Numbers of the racks of a pipeline, in its order. */
  static List<Integer> racksOf(List<DatanodeStorageInfo> storages) {
    List<Integer> numbers = new ArrayList<>();
    for (DatanodeStorageInfo storage : storages) {
      String location = node(storage).getNetworkLocation();
      numbers.add(Integer.valueOf(location.substring("/rack".length())));
    }
    return numbers;
  }

  private final class Stats implements FSClusterStats {
    @Override
    public int getTotalLoad() {
      return 0;
    }

    @Override
    public boolean isAvoidingStaleDataNodesForWrite() {
      return avoidStale;
    }

    @Override
    public int getNumDatanodesInService() {
      return topology.getNumOfLeaves();
    }

    @Override
    public double getInServiceXceiverAverage() {
      return 10;
    }

    @Override
    public double getInServiceXceiverAverageForVolume() {
      return 10;
    }

    @Override
    public Map<StorageType, StorageTypeStats> getStorageTypeStats() {
      return Map.of();
    }
  }
}
