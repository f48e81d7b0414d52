// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.time.Clock;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/**
 * HDFS's default placement, except that the remote rack of a block is a function of the rack of its
 * first replica instead of random. This is reHDFS of section 6.1 of "Overcoming End-to-End
 * Challenges in Reconfigurable Datacenter Networks" (Mukerjee, Kim and Seshan, 2018).
 *
 * <ul>
 *   <li>Replica 1: the writer's data node (default policy); where that cannot be, a node of its
 *       rack, else of the rack that its rack maps to.
 *   <li>Replica 2: the rack that the rack of replica 1 maps to.
 *   <li>Replica 3: the rack of replica 2 (default policy).
 *   <li>Each further replica: the rack that the rack of the replica before it maps to.
 * </ul>
 *
 * <p>Every hop of a write pipeline therefore stays in a rack or follows the {@link RackMapping}. A
 * lost replica is copied within the rack of its source, or to the rack that this maps to.
 *
 * <p>Only the scope in which a node is looked for is narrowed. Which nodes are good (in service,
 * not stale, slow, busy or full, of the required storage type, not excluded, not too many in a
 * rack) is left to the default policy, and so is the whole choice when the rack has no good node.
 * What makes a block well placed and which excess replica goes are also the default's: two racks
 * suffice. A block placed by a fallback or by an earlier mapping is thus as good as any other, and
 * nothing is copied because the mapping changed.
 */
public class BlockPlacementPolicyReHDFS extends BlockPlacementPolicyDefault
    implements Configurable {
  /** Replicas that the default policy places in its own way, given the remote rack. */
  private static final int DEFAULT_REPLICAS = 3;

  /**
   * Nodes of one rack that a client found unreachable, from which on it is spared the others. Two
   * leave it two of its four attempts ({@code dfs.client.block.write.retries}).
   */
  private static final int SUSPECT_NODES = 2;

  private final Clock clock;
  private Configuration conf;
  private RackMapping mapping = RackMapping.next();
  private volatile RackRing ring = RackRing.EMPTY;

  /** Used by the NameNode, which then calls {@link #setConf}. */
  public BlockPlacementPolicyReHDFS() {
    this(Clock.systemUTC());
  }

  /** With a clock that turns the rotating mapping. */
  protected BlockPlacementPolicyReHDFS(Clock clock) {
    this.clock = clock;
  }

  /**
   * Reads the mapping. The NameNode calls it once, before anything else.
   *
   * @throws IllegalArgumentException if a key has a value that means nothing
   */
  @Override
  public void setConf(Configuration conf) {
    this.conf = conf;
    if (conf != null) {
      mapping = RackMapping.of(conf, clock);
      LOG.info("reHDFS places replicas by the mapping '{}'", mapping);
    }
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  /**
   * Keeps a client from trying a rack node by node. While a rack is down and the NameNode does not
   * know, the default policy's next attempt is for another random rack; here it would be for the
   * same one until the client gives up. A rack in which a client excludes several nodes is thus
   * left out, if the others suffice.
   */
  @Override
  public DatanodeStorageInfo[] chooseTarget(
      String srcPath,
      int numOfReplicas,
      Node writer,
      List<DatanodeStorageInfo> chosen,
      boolean returnChosenNodes,
      Set<Node> excludedNodes,
      long blocksize,
      BlockStoragePolicy storagePolicy,
      EnumSet<AddBlockFlag> flags) {
    Function<Set<Node>, DatanodeStorageInfo[]> chooseWithout =
        nodes ->
            super.chooseTarget(
                srcPath,
                numOfReplicas,
                writer,
                chosen,
                returnChosenNodes,
                nodes,
                blocksize,
                storagePolicy,
                flags);
    // When the NameNode copies a block, it excludes nodes for its own reasons.
    boolean clientExcludes = chosen.isEmpty() || returnChosenNodes;
    if (clientExcludes && excludedNodes != null && excludedNodes.size() >= SUSPECT_NODES) {
      Set<Node> excludedOrSuspect = withSuspectRacks(excludedNodes, writer);
      if (excludedOrSuspect.size() > excludedNodes.size()) {
        DatanodeStorageInfo[] targets = chooseWithout.apply(excludedOrSuspect);
        if (targets.length == numOfReplicas + (returnChosenNodes ? chosen.size() : 0)) {
          return targets;
        }
      }
    }
    return chooseWithout.apply(excludedNodes);
  }

  /** The excluded nodes, and all of the racks of which several are excluded. */
  private Set<Node> withSuspectRacks(Set<Node> excludedNodes, Node writer) {
    Map<String, Integer> excludedOfRack = new HashMap<>();
    for (Node node : excludedNodes) {
      excludedOfRack.merge(node.getNetworkLocation(), 1, Integer::sum);
    }
    if (writer != null) {
      // The writer's own rack is not chosen by the mapping.
      excludedOfRack.remove(writer.getNetworkLocation());
    }
    Set<Node> nodes = new HashSet<>(excludedNodes);
    for (Map.Entry<String, Integer> rack : excludedOfRack.entrySet()) {
      if (rack.getValue() >= SUSPECT_NODES) {
        nodes.addAll(clusterMap.getDatanodesInRack(rack.getKey()));
      }
    }
    return nodes;
  }

  @Override
  protected Node chooseTargetInOrder(
      int numOfReplicas,
      Node writer,
      Set<Node> excludedNodes,
      long blocksize,
      int maxNodesPerRack,
      List<DatanodeStorageInfo> results,
      boolean avoidStaleNodes,
      boolean newBlock,
      EnumMap<StorageType, Integer> storageTypes)
      throws NotEnoughReplicasException {
    int first = Math.min(numOfReplicas, Math.max(0, DEFAULT_REPLICAS - results.size()));
    Node local = writer;
    if (first > 0) {
      local =
          super.chooseTargetInOrder(
              first,
              writer,
              excludedNodes,
              blocksize,
              maxNodesPerRack,
              results,
              avoidStaleNodes,
              newBlock,
              storageTypes);
    }
    // The pipeline of a new block continues at its last replica, a copy begins at its source.
    Node from = newBlock || first > 0 ? last(results) : writer;
    for (int i = first; i < numOfReplicas; i++) {
      DatanodeStorageInfo chosen =
          chooseInRack(
              targetRack(from),
              excludedNodes,
              blocksize,
              maxNodesPerRack,
              results,
              avoidStaleNodes,
              storageTypes);
      if (chosen == null) {
        chooseRandom(
            NodeBase.ROOT,
            excludedNodes,
            blocksize,
            maxNodesPerRack,
            results,
            avoidStaleNodes,
            storageTypes);
      }
      from = last(results);
    }
    return local;
  }

  @Override
  protected void chooseRemoteRack(
      int numOfReplicas,
      DatanodeDescriptor localMachine,
      Set<Node> excludedNodes,
      long blocksize,
      int maxReplicasPerRack,
      List<DatanodeStorageInfo> results,
      boolean avoidStaleNodes,
      EnumMap<StorageType, Integer> storageTypes)
      throws NotEnoughReplicasException {
    String rack = targetRack(localMachine);
    int missing = numOfReplicas;
    while (missing > 0
        && chooseInRack(
                rack,
                excludedNodes,
                blocksize,
                maxReplicasPerRack,
                results,
                avoidStaleNodes,
                storageTypes)
            != null) {
      missing--;
    }
    if (missing > 0) {
      super.chooseRemoteRack(
          missing,
          localMachine,
          excludedNodes,
          blocksize,
          maxReplicasPerRack,
          results,
          avoidStaleNodes,
          storageTypes);
    }
  }

  @Override
  protected DatanodeStorageInfo chooseLocalRack(
      Node localMachine,
      Set<Node> excludedNodes,
      long blocksize,
      int maxNodesPerRack,
      List<DatanodeStorageInfo> results,
      boolean avoidStaleNodes,
      EnumMap<StorageType, Integer> storageTypes)
      throws NotEnoughReplicasException {
    // The default sends a first replica that its own rack cannot take to any rack.
    if (results.isEmpty() && localMachine != null) {
      String ownRack = localMachine.getNetworkLocation();
      for (String rack : new String[] {ownRack, targetRack(localMachine)}) {
        DatanodeStorageInfo chosen =
            chooseInRack(
                rack,
                excludedNodes,
                blocksize,
                maxNodesPerRack,
                results,
                avoidStaleNodes,
                storageTypes);
        if (chosen != null) {
          return chosen;
        }
      }
    }
    return super.chooseLocalRack(
        localMachine,
        excludedNodes,
        blocksize,
        maxNodesPerRack,
        results,
        avoidStaleNodes,
        storageTypes);
  }

  /** A good storage in a rack, already added to the results; null if there is none or no rack. */
  private DatanodeStorageInfo chooseInRack(
      String rack,
      Set<Node> excludedNodes,
      long blocksize,
      int maxNodesPerRack,
      List<DatanodeStorageInfo> results,
      boolean avoidStaleNodes,
      EnumMap<StorageType, Integer> storageTypes) {
    if (rack == null) {
      return null;
    }
    try {
      return chooseRandom(
          rack, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes, storageTypes);
    } catch (NotEnoughReplicasException e) {
      LOG.debug("No good data node in {}, falling back", rack, e);
      return null;
    }
  }

  /** The rack that the rack of {@code source} maps to now; null if there is none. */
  private String targetRack(Node source) {
    String rack = source.getNetworkLocation();
    RackRing current = ring.refreshed(clusterMap, NodeBase.locationToDepth(rack));
    ring = current;
    return current.target(rack, mapping);
  }

  private static DatanodeDescriptor last(List<DatanodeStorageInfo> results) {
    return results.get(results.size() - 1).getDatanodeDescriptor();
  }
}
