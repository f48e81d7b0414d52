// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that stands until a test moves it. */
final class ManualClock extends Clock {
  private volatile Instant now = Instant.EPOCH;

  void set(Duration sinceEpoch) {
    now = Instant.EPOCH.plus(sinceEpoch);
  }

  @Override
  public Instant instant() {
    return now;
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    return this;
  }
}
