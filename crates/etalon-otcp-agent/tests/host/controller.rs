// SPDX-License-Identifier: MIT OR Apache-2.0
//! A controller as docs/otcp-protocol.md has it, with what a test tells it to say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::lab::Space;

/// Bytes both ways: a socket, or TLS over one.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

type Wrap = Arc<dyn Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + Sync>;

#[derive(Default)]
struct Shared {
    document: Option<String>,
    silent: bool,
    sockets: Vec<TcpStream>,
    streams: Vec<Box<dyn Stream>>,
    /// The heads of requests, as they came.
    requests: Vec<String>,
}

/// Listens on the host's loopback until it is dropped.
pub struct Controller {
    pub address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

/// One route of a document.
pub fn route(prefix: &str, rto_min_us: u32, initial_cwnd: u32) -> String {
    format!(
        r#"{{"prefix":"{prefix}","rto_min_us":{rto_min_us},"rto_init_us":1000000,"max_cwnd":53,"initial_cwnd":{initial_cwnd},"initial_rwnd":53}}"#
    )
    .replace("1000000", &rto_min_us.max(8000).to_string())
}

/// A document for host h1.
pub fn document(version: u64, lifetime_s: u32, routes: &[String]) -> String {
    format!(
        r#"{{"host":"h1","epoch":7,"version":{version},"lifetime_s":{lifetime_s},"routes":[{}]}}"#,
        routes.join(",")
    )
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

impl Controller {
    pub fn new(space: &Space) -> Self {
        Self::wrapped(space, Arc::new(|stream| Some(Box::new(stream))))
    }

    /// Over TLS, or whatever `wrap` makes of a connection.
    pub fn wrapped(space: &Space, wrap: Wrap) -> Self {
        let listener = space.run(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let state = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (state, wrap) = (Arc::clone(&state), Arc::clone(&wrap));
                thread::spawn(move || serve(stream, &state, &wrap));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Publishes a document to whoever listens and comes.
    pub fn publish(&self, document: &str) {
        let mut shared = self.shared.lock().unwrap();
        shared.document = Some(document.to_owned());
        shared.send(&format!("event: routes\ndata: {document}\n\n"));
    }

    /// Says that this version is the newest.
    pub fn alive(&self, version: u64) {
        self.shared.lock().unwrap().send(&format!(
            "event: alive\ndata: {{\"epoch\":7,\"version\":{version}}}\n\n"
        ));
    }

    /// Dies: all connections end, new ones get nothing.
    pub fn silence(&self, silent: bool) {
        let mut shared = self.shared.lock().unwrap();
        shared.silent = silent;
        shared.streams.clear();
        for socket in shared.sockets.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.shared.lock().unwrap().streams.len()
    }

    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap().requests.clone()
    }
}

impl Shared {
    fn send(&mut self, event: &str) {
        let bytes = chunk(event);
        self.streams.retain_mut(|stream| {
            stream
                .write_all(bytes.as_bytes())
                .and_then(|()| stream.flush())
                .is_ok()
        });
    }
}

fn serve(socket: TcpStream, shared: &Mutex<Shared>, wrap: &Wrap) {
    if shared.lock().unwrap().silent {
        return;
    }
    let Ok(copy) = socket.try_clone() else { return };
    let _ = socket.set_read_timeout(Some(Duration::from_secs(10)));
    let Some(stream) = wrap(socket) else { return };
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let mut stream = reader.into_inner();
    let mut shared = shared.lock().unwrap();
    shared.requests.push(head.clone());
    shared.sockets.push(copy);
    let document = shared.document.clone();
    if head.starts_with("GET /v1/hosts/h1/events ") {
        let first = document
            .map(|d| chunk(&format!(": hello\n\nevent: routes\ndata: {d}\n\n")))
            .unwrap_or_default();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        if stream
            .write_all((head.to_owned() + &first).as_bytes())
            .and_then(|()| stream.flush())
            .is_ok()
        {
            shared.streams.push(stream);
        }
    } else {
        let answer = match document {
            Some(d) if head.starts_with("GET /v1/hosts/h1/routes ") => {
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{d}",
                    d.len()
                )
            }
            _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        let _ = stream.write_all(answer.as_bytes());
        let _ = stream.flush();
    }
}
