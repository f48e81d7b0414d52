// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/**
 * The policy with a clock that tests move, for a cluster in one process: all its data nodes have
 * one address, by which a NameNode cannot tell on which of them a client is. The path of a file
 * tells: {@code /from/HOST/...} is written from HOST, {@code /from/outside/...} from no data node;
 * other paths, and copies of existing blocks, are as the NameNode sees them.
 */
public class WriterFromPathPolicy extends BlockPlacementPolicyReHDFS {
  static final ManualClock CLOCK = new ManualClock();

  private static final String PREFIX = "/from/";

  /** Called by the NameNode. */
  public WriterFromPathPolicy() {
    super(CLOCK);
  }

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
    return super.chooseTarget(
        srcPath,
        numOfReplicas,
        chosen.isEmpty() ? writerOf(srcPath, writer) : writer,
        chosen,
        returnChosenNodes,
        excludedNodes,
        blocksize,
        storagePolicy,
        flags);
  }

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
      EnumSet<AddBlockFlag> flags,
      EnumMap<StorageType, Integer> storageTypes) {
    return super.chooseTarget(
        srcPath,
        numOfReplicas,
        chosen.isEmpty() ? writerOf(srcPath, writer) : writer,
        chosen,
        returnChosenNodes,
        excludedNodes,
        blocksize,
        storagePolicy,
        flags,
        storageTypes);
  }

  private Node writerOf(String path, Node seen) {
    if (!path.startsWith(PREFIX)) {
      return seen;
    }
    String host = path.substring(PREFIX.length(), path.indexOf('/', PREFIX.length()));
    if (host.equals("outside")) {
      return null;
    }
    for (Node node : clusterMap.getLeaves(NodeBase.ROOT)) {
      if (((DatanodeDescriptor) node).getHostName().equals(host)) {
        return node;
      }
    }
    throw new IllegalStateException("no data node " + host + " for " + path);
  }
}
