// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NaturalOrderTest {
  @Test
  void numbersCompareByValueAndTheRestByCharacter() {
    List<String> sorted =
        List.of(
            "",
            "/2",
            "/10",
            "/a/r9",
            "/a/r10",
            "/b",
            "/b/r1",
            "/r01",
            "/r1",
            "/r1a",
            "/r2",
            "/r10",
            "/r99999999999999999999",
            "/r100000000000000000000");
    Random random = new Random(1);
    for (int i = 0; i < 50; i++) {
      List<String> shuffled = new ArrayList<>(sorted);
      Collections.shuffle(shuffled, random);
      shuffled.sort(NaturalOrder.INSTANCE);
      assertEquals(sorted, shuffled);
    }
  }

  @Test
  void onlyEqualNamesCompareEqual() {
    assertEquals(0, NaturalOrder.INSTANCE.compare("/r007", "/r007"));
    assertTrue(NaturalOrder.INSTANCE.compare("/r007", "/r7") < 0);
    assertTrue(NaturalOrder.INSTANCE.compare("/r0", "/r00") < 0);
  }
}
