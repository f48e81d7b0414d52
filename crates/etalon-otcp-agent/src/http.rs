// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/1.1 answers from bytes (RFC 9112): head, then a body by length, in chunks, or up to the end. No I/O.

/// The largest head, and the longest line of a chunk, in bytes.
const MAX_HEAD: usize = 16 * 1024;
const MAX_CHUNK_LINE: usize = 1024;
const MAX_HEADERS: usize = 64;

/// The head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// `Content-Type`, without parameters, in lower case.
    pub content_type: String,
    /// Whether the controller itself says that it has no routes yet (`OTCP-Routes: none`); others answer 503, too.
    pub has_no_routes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// So much of the body is to come.
    Length(u64),
    /// The line before a chunk.
    ChunkLine,
    Chunk(u64),
    /// The line's end after a chunk.
    ChunkEnd,
    Trailer,
    UntilClosed,
    Done,
}

/// Decodes one answer as it comes.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    /// What is not whole yet: a head or a line.
    rest: Vec<u8>,
    head: Option<Head>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            state: State::Head,
            rest: Vec::new(),
            head: None,
        }
    }
}

impl Decoder {
    /// The head, once it has come.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// True if the answer is whole.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The other side closed: true if the answer is whole by that.
    pub fn close(&mut self) -> bool {
        if self.state == State::UntilClosed {
            self.state = State::Done;
        }
        self.is_done()
    }

    /// Takes bytes as they came, and appends what is the body's to `body`.
    pub fn push(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) -> Result<(), String> {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.in_head(bytes)?,
                State::Length(left) => {
                    let (taken, rest) = split(bytes, left);
                    body.extend_from_slice(taken);
                    self.state = match left - taken.len() as u64 {
                        0 => State::Done,
                        left => State::Length(left),
                    };
                    rest
                }
                State::Chunk(left) => {
                    let (taken, rest) = split(bytes, left);
                    body.extend_from_slice(taken);
                    self.state = match left - taken.len() as u64 {
                        0 => State::ChunkEnd,
                        left => State::Chunk(left),
                    };
                    rest
                }
                State::ChunkLine | State::ChunkEnd | State::Trailer => self.in_line(bytes)?,
                State::UntilClosed => {
                    body.extend_from_slice(bytes);
                    &[]
                }
                // What follows the answer was not asked for.
                State::Done => &[],
            };
        }
        Ok(())
    }

    fn in_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let before = self.rest.len();
        self.rest
            .extend_from_slice(&bytes[..bytes.len().min(MAX_HEAD + 1 - before)]);
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response
            .parse(&self.rest)
            .map_err(|e| format!("this is not an HTTP answer: {e}"))?;
        let httparse::Status::Complete(length) = parsed else {
            return if self.rest.len() > MAX_HEAD {
                Err(format!("the answer's head is larger than {MAX_HEAD} bytes"))
            } else {
                Ok(&[])
            };
        };
        let (head, framing) = read_head(&response)?;
        self.state = framing;
        self.head = Some(head);
        self.rest.clear();
        Ok(&bytes[length - before..])
    }

    /// A line of the framing of chunks.
    fn in_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let Some(end) = bytes.iter().position(|b| *b == b'\n') else {
            self.rest.extend_from_slice(bytes);
            return if self.rest.len() > MAX_CHUNK_LINE {
                Err("a chunk's line is too long".into())
            } else {
                Ok(&[])
            };
        };
        self.rest.extend_from_slice(&bytes[..=end]);
        if self.rest.len() > MAX_CHUNK_LINE {
            return Err("a chunk's line is too long".into());
        }
        let empty = self.rest == b"\r\n" || self.rest == b"\n";
        self.state = match self.state {
            State::ChunkEnd if empty => State::ChunkLine,
            State::ChunkEnd => return Err("a chunk does not end where it should".into()),
            State::Trailer if empty => State::Done,
            State::Trailer => State::Trailer,
            _ => match httparse::parse_chunk_size(&self.rest) {
                Ok(httparse::Status::Complete((_, 0))) => State::Trailer,
                Ok(httparse::Status::Complete((_, size))) => State::Chunk(size),
                _ => return Err("a chunk's size cannot be read".into()),
            },
        };
        self.rest.clear();
        Ok(&bytes[end + 1..])
    }
}

fn split(bytes: &[u8], left: u64) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)))
}

fn read_head(response: &httparse::Response<'_, '_>) -> Result<(Head, State), String> {
    let text = |name: &str| {
        response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let content_type = text("content-type")
        .and_then(|v| v.split(';').next())
        .unwrap_or_default();
    let head = Head {
        status: response.code.unwrap_or(0),
        retry_after: text("retry-after").and_then(|v| v.trim().parse().ok()),
        content_type: content_type.trim().to_ascii_lowercase(),
        has_no_routes: text("otcp-routes").is_some_and(|v| v.trim() == "none"),
    };
    let framing = match (text("transfer-encoding"), text("content-length")) {
        (Some(coding), None) if coding.trim().eq_ignore_ascii_case("chunked") => State::ChunkLine,
        (Some(coding), _) => {
            return Err(format!(
                "the answer is coded {coding:?}: expected chunked, without a length"
            ));
        }
        (None, Some(length)) => match length.trim().parse() {
            Ok(0) => State::Done,
            Ok(length) => State::Length(length),
            Err(_) => return Err(format!("the answer's length is {length:?}")),
        },
        (None, None) => State::UntilClosed,
    };
    Ok((
        head,
        if matches!(head_status(response), 204 | 304) {
            State::Done
        } else {
            framing
        },
    ))
}

fn head_status(response: &httparse::Response<'_, '_>) -> u16 {
    response.code.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes what came in these pieces.
    fn decode<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Decoder, Vec<u8>), String> {
        let (mut decoder, mut body) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece, &mut body)?;
        }
        Ok((decoder, body))
    }

    const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\ncontent-length: 5\r\n\r\nhello";
    const CHUNKS: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nA: b\r\n\r\n";

    #[test]
    fn bodies_by_length_in_chunks_and_up_to_the_end() {
        let (decoder, body) = decode([LENGTH]).unwrap();
        assert_eq!((body.as_slice(), decoder.is_done()), (&b"hello"[..], true));
        assert_eq!(decoder.head().unwrap().content_type, "application/json");
        let (decoder, body) = decode([CHUNKS]).unwrap();
        assert_eq!((body.as_slice(), decoder.is_done()), (&b"hello!"[..], true));
        let (mut decoder, body) = decode([&b"HTTP/1.1 200 OK\r\n\r\nhel"[..], b"lo"]).unwrap();
        assert_eq!(
            (body.as_slice(), decoder.is_done(), decoder.close()),
            (&b"hello"[..], false, true)
        );
    }

    #[test]
    fn the_head_says_when_to_come_again() {
        let (decoder, _) =
            decode([&b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"[..]])
                .unwrap();
        assert_eq!(
            decoder.head(),
            Some(&Head {
                status: 503,
                retry_after: Some(7),
                content_type: String::new(),
                has_no_routes: false,
            })
        );
        assert!(decoder.is_done());
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        ] {
            assert!(decode([text.as_bytes()]).is_err(), "{text:?}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MAX_HEAD));
        assert!(decode([long.as_bytes()]).is_err());
        let line = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            "0".repeat(2000)
        );
        assert!(decode([line.as_bytes()]).is_err());
    }

    proptest! {
        /// However the network cuts it, the body is the same.
        #[test]
        fn cuts_do_not_matter(cuts in proptest::collection::vec(0_usize..CHUNKS.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, CHUNKS.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &CHUNKS[pair[0]..pair[1]]);
            let (decoder, body) = decode(pieces).unwrap();
            prop_assert!(decoder.is_done());
            prop_assert_eq!(body, b"hello!");
        }

        #[test]
        fn bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode([bytes.as_slice()]);
            let _ = decode([&CHUNKS[..47], bytes.as_slice()]);
        }
    }
}
