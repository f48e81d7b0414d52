// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text to quantity and back.

use etalon_units::{Bytes, ParseError, Rate, Span};
use proptest::prelude::*;

#[test]
fn quantities_are_read_exactly() {
    assert_eq!("180us".parse(), Ok(Span(180_000)));
    assert_eq!("1.44s".parse(), Ok(Span(1_440_000_000)));
    assert_eq!("4 800 us".parse::<Span>(), Err(ParseError::UnknownUnit));
    assert_eq!("0.5ns".parse::<Span>(), Err(ParseError::TooFine));
    assert_eq!("0.50us".parse(), Ok(Span(500)));
    assert_eq!("10Gbps".parse(), Ok(Rate(10_000_000_000)));
    assert_eq!("2.5 Gb/s".parse(), Ok(Rate(2_500_000_000)));
    assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("1.25KiB".parse(), Ok(Bytes(1280)));
    assert_eq!("-3us".parse::<Span>(), Err(ParseError::Negative));
    assert_eq!("3".parse::<Span>(), Err(ParseError::NoUnit));
    assert_eq!("us".parse::<Span>(), Err(ParseError::NoNumber));
    assert_eq!("10Gbps".parse::<Span>(), Err(ParseError::UnknownUnit));
    assert_eq!("99999999999s".parse::<Span>(), Err(ParseError::TooLarge));
}

#[test]
fn quantities_are_written_in_their_natural_unit() {
    assert_eq!(Span(180_000).to_string(), "180us");
    assert_eq!(Span(1_440_000_000).to_string(), "1.44s");
    assert_eq!(Span(0).to_string(), "0ns");
    assert_eq!(Rate(80_000_000_000).to_string(), "80Gbps");
    assert_eq!(Bytes(25_000_000_000).to_string(), "25GB");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(n in any::<u64>()) {
        prop_assert_eq!(Span(n).to_string().parse(), Ok(Span(n)));
        prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n)));
        prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,20}") {
        let _ = text.parse::<Span>();
    }
}
