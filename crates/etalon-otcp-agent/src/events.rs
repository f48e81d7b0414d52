// SPDX-License-Identifier: MIT OR Apache-2.0
//! Server-sent events from bytes (WHATWG HTML, section 9.2). No I/O.

/// The longest line, in bytes: a document and what stands around it.
const MAX_LINE: usize = crate::document::MAX_BYTES + 64;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data.
    pub data: Vec<u8>,
    /// The id that stands with it.
    pub id: Option<String>,
}

/// Decodes a stream as it comes.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
}

impl Decoder {
    /// Takes bytes as they came; returns the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            self.extend(&bytes[..end])?;
            bytes = &bytes[end + 1..];
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            events.extend(self.end_of_line(&line)?);
        }
        self.extend(bytes)?;
        Ok(events)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.line.extend_from_slice(bytes);
        if self.line.len() > MAX_LINE {
            Err("a line of the event stream is too long".into())
        } else {
            Ok(())
        }
    }

    fn end_of_line(&mut self, line: &[u8]) -> Result<Option<Event>, String> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || {
            String::from_utf8(value.to_vec())
                .map_err(|_| "the event stream is not UTF-8".to_owned())
        };
        match &line[..colon] {
            b"event" => self.event.name = text()?,
            b"id" => self.event.id = Some(text()?),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
                if self.event.data.len() > MAX_LINE {
                    return Err("an event is too long".into());
                }
            }
            // Comments, and fields that we do not know.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &[u8] =
        b": hello\nid: 5.17\nevent: routes\ndata: {\"a\":1}\n\nevent: alive\r\ndata:{}\r\n\r\nevent: nothing\n\ndata\nretry: 5\n\n";

    #[test]
    fn events_comments_and_unknown_fields() {
        let events = Decoder::default().push(STREAM).unwrap();
        let event = |name: &str, data: &str, id: Option<&str>| Event {
            name: name.into(),
            data: data.into(),
            id: id.map(str::to_owned),
        };
        assert_eq!(
            events,
            [
                event("routes", "{\"a\":1}", Some("5.17")),
                event("alive", "{}", None),
                event("", "", None)
            ]
        );
    }

    #[test]
    fn lines_and_events_are_limited() {
        let mut decoder = Decoder::default();
        assert!(decoder.push(&vec![b'x'; MAX_LINE + 1]).is_err());
        let mut decoder = Decoder::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; MAX_LINE / 2 - 1], b"\n"].concat();
        assert!(decoder.push(&line).is_ok() && decoder.push(&line).is_ok());
        assert!(decoder.push(&line).is_err());
        assert!(Decoder::default().push(b"event: \xff\n").is_err());
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(cuts in proptest::collection::vec(0_usize..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let mut decoder = Decoder::default();
            let events: Vec<Event> =
                cuts.windows(2).flat_map(|pair| decoder.push(&STREAM[pair[0]..pair[1]]).unwrap()).collect();
            prop_assert_eq!(events, Decoder::default().push(STREAM).unwrap());
        }

        #[test]
        fn bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Decoder::default().push(&bytes);
        }
    }
}
