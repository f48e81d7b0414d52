// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses in programs' commands: `{r1h3}` is the address of host `r1h3`, for programs that resolve no names.

use etalon_scenario::address;

/// `argument` with the address of each host that it names in braces, in a network of so many racks and
/// hosts; other text in braces stays as it is.
pub(crate) fn with_addresses(argument: &str, racks: u16, per_rack: u16) -> String {
    let mut text = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some((before, from)) = rest.split_once('{') {
        text.push_str(before);
        let named = from.split_once('}');
        match named.and_then(|(name, after)| Some((address_of(name, racks, per_rack)?, after))) {
            Some((address, after)) => {
                text.push_str(&address);
                rest = after;
            }
            None => {
                text.push('{');
                rest = from;
            }
        }
    }
    text + rest
}

fn address_of(name: &str, racks: u16, per_rack: u16) -> Option<String> {
    let (rack, number) = name.strip_prefix('r')?.split_once('h')?;
    let (rack, number) = (rack.parse().ok()?, number.parse().ok()?);
    let there = rack < racks && number < per_rack;
    Some(address::ip(rack, number).filter(|_| there)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_braces_become_addresses_and_nothing_else_does() {
        let address = |rack, number| address::ip(rack, number).expect("an address").to_string();
        for (given, expected) in [
            ("{r1h3}", address(1, 3)),
            (
                "tcp://{r0h0}:80/{r2h1}",
                format!("tcp://{}:80/{}", address(0, 0), address(2, 1)),
            ),
            ("{{r1h3}}", format!("{{{}}}", address(1, 3))),
            ("r1h3", "r1h3".to_owned()),
            (
                "{r3h0} {r0h4} {rh} {r1h} {}{",
                "{r3h0} {r0h4} {rh} {r1h} {}{".to_owned(),
            ),
            ("awk '{print $1}'", "awk '{print $1}'".to_owned()),
        ] {
            assert_eq!(with_addresses(given, 3, 4), expected);
        }
    }
}
