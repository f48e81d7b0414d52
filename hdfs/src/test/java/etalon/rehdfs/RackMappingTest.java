// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RackMappingTest {
  private final ManualClock clock = new ManualClock();

  private static Configuration conf(String... keysAndValues) {
    Configuration conf = new Configuration(false);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return conf;
  }

  @Test
  void theDefaultIsTheNextRack() {
    RackMapping mapping = RackMapping.of(conf(), clock);
    clock.set(Duration.ofDays(20_000));
    assertEquals(1, mapping.target(0, 8));
    assertEquals(5, mapping.target(4, 8));
    assertEquals(0, mapping.target(7, 8));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8, 64})
  void atAnyInstantTheMappingIsAPermutationWithoutFixedPoint(int racks) {
    RackMapping mapping = RackMapping.rotating(1000, clock);
    for (int second = 0; second < 2 * racks; second++) {
      clock.set(Duration.ofSeconds(second));
      Set<Integer> targets = new HashSet<>();
      for (int rack = 0; rack < racks; rack++) {
        int target = mapping.target(rack, racks);
        assertNotEquals(rack, target);
        assertTrue(targets.add(target), "two racks send to " + target);
      }
    }
  }

  @Test
  void rotationVisitsEveryOtherRackAndBeginsAgain() {
    RackMapping mapping = RackMapping.of(conf(RackMapping.MAPPING_KEY, "rotating"), clock);
    int[] expected = {3, 0, 1, 3, 0, 1};
    for (int second = 0; second < expected.length; second++) {
      clock.set(Duration.ofSeconds(second));
      assertEquals(expected[second], mapping.target(2, 4), "after " + second + " s");
    }
  }

  @ParameterizedTest
  @CsvSource({"1s,1000", "250ms,250", "2m,120000", "40,40"})
  void theShiftChangesAtMultiplesOfThePeriod(String period, long millis) {
    RackMapping mapping =
        RackMapping.of(
            conf(RackMapping.MAPPING_KEY, " rotating ", RackMapping.PERIOD_KEY, period), clock);
    for (int turn = 0; turn < 14; turn++) {
      clock.set(Duration.ofMillis(turn * millis));
      assertEquals(1 + turn % 7, mapping.shift(8));
      clock.set(Duration.ofMillis((turn + 1) * millis - 1));
      assertEquals(1 + turn % 7, mapping.shift(8));
    }
  }

  @Test
  void aClockBeforeTheEpochGivesAMappingToo() {
    RackMapping mapping = RackMapping.rotating(1000, clock);
    clock.set(Duration.ofMillis(-1));
    assertEquals(3, mapping.shift(4));
  }

  @Test
  void withTwoRacksThereIsNothingToRotate() {
    RackMapping mapping = RackMapping.rotating(1000, clock);
    for (int second = 0; second < 5; second++) {
      clock.set(Duration.ofSeconds(second));
      assertEquals(1, mapping.shift(2));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "random,1s,etalon.rehdfs.mapping must be 'next' or 'rotating'; not 'random'",
    "rotating,0s,etalon.rehdfs.rotation.period must be at least 1ms; not 0ms",
    "rotating,-3s,etalon.rehdfs.rotation.period must be at least 1ms; not -3000ms",
    "rotating,soon,etalon.rehdfs.rotation.period must be a time such as '1s' or '500ms'; not 'soon'"
  })
  void whatMeansNothingIsRefused(String mapping, String period, String message) {
    Configuration conf = conf(RackMapping.MAPPING_KEY, mapping, RackMapping.PERIOD_KEY, period);
    Exception e = assertThrows(IllegalArgumentException.class, () -> RackMapping.of(conf, clock));
    assertEquals(message.replace(";", ","), e.getMessage());
  }
}
