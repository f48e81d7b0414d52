// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLS with one's own authority, both sides showing certificates.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::controller::{Controller, Stream, document, route};
use crate::installed::installed;
use crate::lab::Lab;

/// An authority and certificates of it, made by openssl.
fn certificates(folder: &Path) {
    let script = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout other.key -out other.pem
        for name in server client; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
            printf 'subjectAltName=IP:127.0.0.1' > $name.ext
            openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.pem
        done";
    let made = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .output()
        .expect("a shell");
    assert!(made.status.success(), "{made:?}");
}

/// What a controller that wants certificates makes of a connection.
fn server(folder: &Path) -> Arc<ServerConfig> {
    let chain = |name| {
        CertificateDer::pem_file_iter(folder.join(name))
            .unwrap()
            .map(Result::unwrap)
    };
    let mut roots = RootCertStore::empty();
    chain("ca.pem").for_each(|certificate| roots.add(certificate).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            chain("server.pem").collect(),
            PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap(),
        );
    Arc::new(config.unwrap())
}

#[test]
fn both_sides_show_certificates() {
    let Some(lab) = Lab::new() else { return };
    let folder = lab.folder.path().to_owned();
    if installed("openssl", "openssl").is_none() {
        return;
    }
    certificates(&folder);
    let config = server(&folder);
    let controller = Controller::wrapped(
        &lab.host,
        Arc::new(move |socket: TcpStream| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).ok()?;
            let mut socket = socket;
            tls.complete_io(&mut socket).ok()?;
            Some(Box::new(StreamOwned::new(tls, socket)) as Box<dyn Stream>)
        }),
    );
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let url = format!("https://{}", controller.address);
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (ca, other, cert, key) = (
        file("ca.pem"),
        file("other.pem"),
        file("client.pem"),
        file("client.key"),
    );
    std::fs::write(folder.join("token"), "secret\n").unwrap();
    let ours = ["--ca", &*ca, "--cert", &cert, "--key", &key];

    let stranger = lab.agent(&url, &["--ca", &other, "--cert", &cert, "--key", &key]);
    stranger.says("invalid peer certificate");
    drop(stranger);
    let nobody = lab.agent(&url, &["--ca", &ca]);
    nobody.says("tries again");
    assert!(
        controller.requests().is_empty(),
        "nothing is told to whom one does not know"
    );
    drop(nobody);

    let agent = lab.agent(&url, &[&ours[..], &["--token", &file("token")]].concat());
    agent.says("applied 7.1: 1 destinations; changed 1 routes and 1 BPF entries");
    assert!(controller.requests()[0].contains("\r\nAuthorization: Bearer secret\r\n"));
    // A document larger than a record and than what is read at once.
    let mut routes: Vec<String> = (0..900)
        .map(|i| route(&format!("10.78.{}.{}/32", i / 256, i % 256), 20_000, 2))
        .collect();
    routes.sort();
    controller.publish(&document(2, 60, &routes));
    agent.says("applied 7.2: 900 destinations");
}
