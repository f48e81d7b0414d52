// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way to the controller: a TCP connection, with TLS or without.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// How long one address may take to answer.
const CONNECT: Duration = Duration::from_secs(5);
const READ: usize = 16 * 1024;

/// Where the controller is: `https://NAME[:PORT]` or `http://NAME[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// With TLS.
    pub tls: bool,
    /// Its name or address, without brackets.
    pub name: String,
    /// Its port.
    pub port: u16,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not where a controller is: expected https://NAME[:PORT]");
        let (tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (name, port) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or_else(wrong)?,
            None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
        };
        let port = match port {
            "" => {
                if tls {
                    443
                } else {
                    80
                }
            }
            port => port
                .strip_prefix(':')
                .and_then(|port| port.parse().ok())
                .ok_or_else(wrong)?,
        };
        let good = !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b));
        if good {
            Ok(Self {
                tls,
                name: name.to_owned(),
                port,
            })
        } else {
            Err(wrong())
        }
    }
}

impl Address {
    /// The value of the header `Host`.
    pub fn host_header(&self) -> String {
        let name = if self.name.contains(':') {
            format!("[{}]", self.name)
        } else {
            self.name.clone()
        };
        format!("{name}:{}", self.port)
    }
}

/// Files for TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The certificate authority that the controller's certificate must be of.
    pub ca: Option<PathBuf>,
    /// The agent's own certificate, with those between it and its authority.
    pub cert: Option<PathBuf>,
    /// The key of it.
    pub key: Option<PathBuf>,
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let told = |e: &dyn std::fmt::Display| {
        format!("{}: {e}: expected certificates in PEM", path.display())
    };
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|e| told(&e))?
        .collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(told(&"it has none")),
        Err(e) => Err(told(&e)),
    }
}

impl TlsFiles {
    /// Reads the files. They may be replaced at any time: each connection reads them again.
    pub fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let ca = self
            .ca
            .as_deref()
            .ok_or("https needs --ca: the certificate of the controller's authority")?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca)? {
            roots
                .add(certificate)
                .map_err(|e| format!("{}: {e}", ca.display()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots);
        let config = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| {
                    format!("{}: {e}: expected a private key in PEM", key.display())
                })?;
                builder
                    .with_client_auth_cert(certificates(cert)?, secret)
                    .map_err(|e| format!("{}: {e}", cert.display()))?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(Arc::new(config))
    }
}

/// A connection being made. Names are looked up and addresses tried in a thread, because that waits.
#[derive(Debug)]
pub struct Dialing {
    result: Receiver<io::Result<TcpStream>>,
    wake: UnixStream,
}

impl AsFd for Dialing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

fn connect(name: &str, port: u16, loopback_only: bool) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, format!("{name} has no address"));
    for address in (name, port).to_socket_addrs()? {
        if loopback_only && !address.ip().is_loopback() {
            last = io::Error::other(format!(
                "http:// to {address}: expected https://, or an address of this host"
            ));
            continue;
        }
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

impl Dialing {
    /// Begins to connect. Without TLS only to loopback, unless `anywhere`.
    pub fn start(address: &Address, anywhere: bool) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let (sender, result) = channel();
        let (name, port, loopback_only) = (
            address.name.clone(),
            address.port,
            !address.tls && !anywhere,
        );
        thread::Builder::new()
            .name("dial".into())
            .stack_size(256 * 1024)
            .spawn(move || {
                // Nobody may be waiting any more; the end of the socket wakes who is.
                let _ = sender.send(connect(&name, port, loopback_only));
                drop(theirs);
            })?;
        Ok(Self { result, wake: ours })
    }

    /// The connection, once it is made.
    pub fn finished(&self) -> Option<io::Result<TcpStream>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err(io::Error::other("the connection was given up")))
            }
        }
    }
}

/// A connection to the controller that does not wait.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
    out: Vec<u8>,
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Link {
    /// Over a connection that was made, to the controller of this name.
    pub fn new(stream: TcpStream, name: &str, tls: Option<Arc<ClientConfig>>) -> io::Result<Self> {
        let tls = match tls {
            None => None,
            Some(config) => {
                let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
                Some(Box::new(
                    ClientConnection::new(config, name).map_err(io::Error::other)?,
                ))
            }
        };
        Ok(Self {
            stream,
            tls,
            out: Vec::new(),
        })
    }

    /// Has bytes sent.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.writer().write_all(bytes),
            None => {
                self.out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// True if it waits for the socket to take more.
    pub fn wants_write(&self) -> bool {
        !self.out.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Writes and reads what can be without waiting. Appends to `received`; false if the other side has closed.
    pub fn pump(&mut self, received: &mut Vec<u8>) -> io::Result<bool> {
        let open = unless_it_waits(self.read(received))?.unwrap_or(true);
        if open {
            unless_it_waits(self.write())?;
        }
        Ok(open)
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                tls.write_tls(&mut self.stream)?;
            }
        }
        while !self.out.is_empty() {
            let taken = self.stream.write(&self.out)?;
            self.out.drain(..taken);
        }
        Ok(())
    }

    /// Once: what is left makes the socket readable again.
    fn read(&mut self, received: &mut Vec<u8>) -> io::Result<bool> {
        let mut buffer = [0; READ];
        let Some(tls) = &mut self.tls else {
            let length = self.stream.read(&mut buffer)?;
            received.extend_from_slice(&buffer[..length]);
            return Ok(length > 0);
        };
        let length = tls.read_tls(&mut self.stream)?;
        let state = tls.process_new_packets().map_err(io::Error::other)?;
        let mut left = state.plaintext_bytes_to_read();
        while left > 0 {
            let taken = tls.reader().read(&mut buffer)?;
            received.extend_from_slice(&buffer[..taken]);
            left -= taken.min(left);
        }
        Ok(length > 0 && !state.peer_has_closed())
    }
}

fn unless_it_waits<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        let address = |text: &str| text.parse::<Address>();
        assert_eq!(
            address("https://otcp.example:8443").unwrap(),
            Address {
                tls: true,
                name: "otcp.example".into(),
                port: 8443
            }
        );
        assert_eq!(address("https://otcp.example/").unwrap().port, 443);
        assert_eq!(address("http://127.0.0.1").unwrap().port, 80);
        let v6 = address("https://[fd00::1]:8443").unwrap();
        assert_eq!(
            (v6.name.as_str(), v6.host_header().as_str()),
            ("fd00::1", "[fd00::1]:8443")
        );
        for text in [
            "",
            "otcp",
            "ftp://x",
            "https://",
            "https://x:y",
            "https://x/path",
            "https://a b",
            "https://[fd00::1",
            "https://u@x",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn plain_http_stays_on_the_host() {
        let refused = connect("192.0.2.1", 9, true).unwrap_err();
        assert!(
            refused.to_string().contains("expected https://"),
            "{refused}"
        );
    }

    #[test]
    fn tls_needs_an_authority() {
        assert!(TlsFiles::default().config().unwrap_err().contains("--ca"));
        let missing = TlsFiles {
            ca: Some("/nonexistent/ca.pem".into()),
            ..TlsFiles::default()
        };
        assert!(
            missing
                .config()
                .unwrap_err()
                .contains("/nonexistent/ca.pem")
        );
    }
}
