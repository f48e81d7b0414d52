// SPDX-License-Identifier: MIT OR Apache-2.0
package etalon.rehdfs;

import java.util.Comparator;

/**
 * Orders names as people number them: {@code /rack2} before {@code /rack10}. Runs of decimal digits
 * compare as numbers, everything else by character; names that differ in leading zeros only compare
 * by {@link String#compareTo}, so that the order is total.
 */
final class NaturalOrder implements Comparator<String> {
  static final NaturalOrder INSTANCE = new NaturalOrder();

  private NaturalOrder() {}

  @Override
  public int compare(String a, String b) {
    int i = 0;
    int j = 0;
    while (i < a.length() && j < b.length()) {
      int order;
      if (isDigit(a.charAt(i)) && isDigit(b.charAt(j))) {
        int endA = endOfDigits(a, i);
        int endB = endOfDigits(b, j);
        order = compareNumbers(a.substring(i, endA), b.substring(j, endB));
        i = endA;
        j = endB;
      } else {
        order = Character.compare(a.charAt(i++), b.charAt(j++));
      }
      if (order != 0) {
        return order;
      }
    }
    int order = Integer.compare(a.length() - i, b.length() - j);
    return order != 0 ? order : a.compareTo(b);
  }

  /** Compares by value, whatever the number of digits. */
  private static int compareNumbers(String a, String b) {
    String x = withoutLeadingZeros(a);
    String y = withoutLeadingZeros(b);
    int order = Integer.compare(x.length(), y.length());
    return order != 0 ? order : x.compareTo(y);
  }

  private static String withoutLeadingZeros(String digits) {
    int start = 0;
    while (start < digits.length() - 1 && digits.charAt(start) == '0') {
      start++;
    }
    return digits.substring(start);
  }

  private static int endOfDigits(String text, int from) {
    int end = from;
    while (end < text.length() && isDigit(text.charAt(end))) {
      end++;
    }
    return end;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
