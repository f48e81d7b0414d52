// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.time.Clock;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;

/**
 * The rack that receives the replicas of a rack: rack {@code i} of {@code N} maps to rack {@code (i
 * + shift) mod N}. At any instant all racks have the same shift, so that every rack sends to one
 * rack and receives from one rack: one configuration of a circuit switch carries all replicas.
 *
 * <p>The shift is 1 ({@code next}), or goes through 1 .. N-1, one step a period ({@code rotating}).
 * It depends on the wall clock only, so that NameNodes of a federation, or before and after a
 * failover, agree as well as their clocks do. Both are in section 6.1 of Mukerjee, Kim and Seshan,
 * "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (2018).
 */
final class RackMapping {
  /** {@code next} or {@code rotating}. */
  static final String MAPPING_KEY = "etalon.rehdfs.mapping";

  /** Time between two shifts of {@code rotating}; at least a millisecond. */
  static final String PERIOD_KEY = "etalon.rehdfs.rotation.period";

  static final String NEXT = "next";
  static final String ROTATING = "rotating";
  static final String PERIOD_DEFAULT = "1s";

  private final long periodMillis;
  private final Clock clock;

  private RackMapping(long periodMillis, Clock clock) {
    this.periodMillis = periodMillis;
    this.clock = clock;
  }

  /** The mapping {@code i -> i + 1 mod N}. */
  static RackMapping next() {
    return new RackMapping(0, Clock.systemUTC());
  }

  /**
   * The mapping whose shift changes every {@code periodMillis}.
   *
   * @throws IllegalArgumentException if the period is not positive
   */
  static RackMapping rotating(long periodMillis, Clock clock) {
    if (periodMillis <= 0) {
      throw new IllegalArgumentException(
          PERIOD_KEY + " must be at least 1ms, not " + periodMillis + "ms");
    }
    return new RackMapping(periodMillis, clock);
  }

  /**
   * The mapping that a configuration asks for.
   *
   * @throws IllegalArgumentException if a key has a value that means nothing; the NameNode then
   *     does not start
   */
  static RackMapping of(Configuration conf, Clock clock) {
    String mapping = conf.getTrimmed(MAPPING_KEY, NEXT);
    switch (mapping) {
      case NEXT:
        return next();
      case ROTATING:
        return rotating(periodMillis(conf), clock);
      default:
        throw new IllegalArgumentException(
            MAPPING_KEY + " must be '" + NEXT + "' or '" + ROTATING + "', not '" + mapping + "'");
    }
  }

  private static long periodMillis(Configuration conf) {
    try {
      return conf.getTimeDuration(PERIOD_KEY, PERIOD_DEFAULT, TimeUnit.MILLISECONDS);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          PERIOD_KEY
              + " must be a time such as '1s' or '500ms', not '"
              + conf.get(PERIOD_KEY)
              + "'",
          e);
    }
  }

  /** The rack that receives what {@code rack} replicates, now, of {@code racks >= 2} racks. */
  int target(int rack, int racks) {
    return (rack + shift(racks)) % racks;
  }

  /** How far the mapping looks around the ring, 1 .. racks-1. */
  int shift(int racks) {
    if (periodMillis == 0) {
      return 1;
    }
    long turn = Math.floorDiv(clock.millis(), periodMillis);
    return 1 + (int) Math.floorMod(turn, (long) (racks - 1));
  }

  @Override
  public String toString() {
    return periodMillis == 0 ? NEXT : ROTATING + " every " + periodMillis + " ms";
  }
}
