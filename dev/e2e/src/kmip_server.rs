//! Real KMIP servers with certificates that strangers lack; a proxy that delays or cuts; and a TLS
//! server that answers junk, since no real one does.
//!
//! Not here: starting and ending a server (`sealstone_servers`), the requests (`kmip_cases`,
//! `tests/`).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use sealstone_servers::{
    Authority, CertificateUse, Instance, LabError, PYKMIP_PROGRAM, PyKmip, PyKmipOptions,
    ServerKind, cache_directory, log_tail, port_answers,
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Longest time that a server may take to start.
const START: Duration = Duration::from_secs(30);

/// A directory with an authority, a server's and a client's certificate (`ca`, `server`, `client`),
/// and the same of a stranger (`other-ca`, `other-client`), each as `NAME.pem` and `NAME-key.pem`.
pub struct Certificates {
    dir: TempDir,
}

impl Certificates {
    /// Makes them all.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn make() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let authority = |name| Authority::make(dir.path(), name).expect("an authority");
        let ca = authority("ca");
        ca.sign("server", CertificateUse::Server).expect("a certificate");
        ca.sign("client", CertificateUse::Client).expect("a certificate");
        authority("other-ca").sign("other-client", CertificateUse::Client).expect("a certificate");
        Self { dir }
    }

    /// Returns the path of the file `name`, such as `ca.pem`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the query of an address with the client `client` and the authority `ca`.
    #[must_use]
    pub fn query(&self, client: &str, ca: &str) -> String {
        let path = |name: String| self.path(&name).display().to_string();
        format!(
            "cert={}&key={}&ca={}",
            path(format!("{client}.pem")),
            path(format!("{client}-key.pem")),
            path(format!("{ca}.pem"))
        )
    }

    /// Returns an address of the key `key` on the server at `port`, with `more` in its query, such
    /// as `&retries=0`.
    #[must_use]
    pub fn url(&self, port: u16, key: &str, more: &str) -> String {
        format!("kmip://127.0.0.1:{port}/{key}?{}{more}", self.query("client", "ca"))
    }
}

/// Kind of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PyKMIP: versions 1.0 to 2.0, no Re-key.
    PyKmip,
    /// The server of github.com/ovh/kmip-go: versions 1.0 to 1.4, with Re-key.
    Go,
}

impl Kind {
    /// Returns the program that starts the server on this machine, or the reason why it cannot be
    /// started.
    ///
    /// # Errors
    /// The reason, for a SKIP.
    pub fn find(self) -> Result<PathBuf, String> {
        static PYKMIP: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        static GO: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match self {
            Self::PyKmip => PYKMIP
                .get_or_init(|| {
                    PYKMIP_PROGRAM.find(None).map_err(|error| {
                        error.to_string().lines().next().unwrap_or_default().into()
                    })
                })
                .clone(),
            Self::Go => GO.get_or_init(build_go).clone(),
        }
    }
}

/// Returns a server of `kind` that was started for `test`, with certificates for its clients; where
/// there is none, prints SKIP.
///
/// # Panics
/// If it does not come up, with its output.
#[must_use]
pub fn started(kind: Kind, test: &str) -> Option<(Certificates, Server)> {
    match kind.find() {
        Ok(program) => {
            let certificates = Certificates::make();
            let server = Server::start(kind, &program, &certificates);
            Some((certificates, server))
        }
        Err(reason) => {
            println!("SKIP: {test}: {reason}");
            None
        }
    }
}

/// Builds the server in Go, outside the clone.
fn build_go() -> Result<PathBuf, String> {
    let target = cache_directory().join("kmip-go/kmip-go");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kmip-go");
    let run =
        Command::new("go").args(["build", "-o"]).arg(&target).arg(".").current_dir(folder).output();
    match run {
        Err(error) => Err(format!("no go here ({error}); sh dev/setup.sh kmip installs it")),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            // our own fault is a failure, not a skip
            assert!(!said.contains("main.go:"), "dev/e2e/kmip-go does not build:\n{said}");
            Err(format!("go cannot build the server: {}", said.lines().last().unwrap_or_default()))
        }
        Ok(_) => Ok(target),
    }
}

/// The server in Go, as it is started: only tests have it.
#[derive(Debug)]
struct GoServer;

/// Program and certificates of the server in Go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GoOptions {
    program: PathBuf,
    certificates: PathBuf,
}

impl ServerKind for GoServer {
    type Options = GoOptions;
    const NAME: &'static str = "the key server in Go";
    const RECORD: &'static str = "kmip-go.toml";
    const LOG: &'static str = "kmip-go.out";
    const OUTPUT: &'static str = "kmip-go.out";
    const STOP: &'static [Signal] = &[Signal::SIGKILL];
    const STOP_LIMIT: Duration = Duration::from_secs(10);
    const UNABLE: &'static str = "see what go build says in dev/e2e/kmip-go";

    fn command(_dir: &Path, port: u16, options: &GoOptions) -> Result<Command, LabError> {
        let mut command = Command::new(&options.program);
        command.arg(format!("127.0.0.1:{port}"));
        command.args(
            ["server.pem", "server-key.pem", "ca.pem"].map(|name| options.certificates.join(name)),
        );
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        // servers of a test are never taken over
        dir.to_owned()
    }

    fn start_limit(_options: &GoOptions) -> Duration {
        START
    }

    fn is_ready(port: u16, _log: &str) -> bool {
        port_answers(port)
    }

    fn is_port_taken(_log: &str, output: &str) -> bool {
        output.contains("address already in use")
    }

    fn said(_log: &str, output: &str) -> Vec<String> {
        log_tail(output, 10)
    }
}

/// A running server. Ends with the value, at once and whatever it was doing.
pub struct Server {
    running: Running,
    /// Port on 127.0.0.1.
    pub port: u16,
    _dir: TempDir,
}

enum Running {
    PyKmip(PyKmip),
    Go(Instance<GoServer>),
}

impl Server {
    /// Starts a server of `kind`, found at `program`, and waits until it listens.
    ///
    /// # Panics
    /// If it does not come up, with its output.
    #[must_use]
    pub fn start(kind: Kind, program: &Path, certificates: &Certificates) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (program, certificates) = (program.to_owned(), certificates.dir.path().to_owned());
        let started = match kind {
            Kind::PyKmip => {
                let certificates = Some(certificates);
                let options = PyKmipOptions {
                    program: Some(program),
                    certificates,
                    ..PyKmipOptions::default()
                };
                PyKmip::start(dir.path(), options)
                    .map(|server| (server.port(), Running::PyKmip(server)))
            }
            Kind::Go => Instance::start(dir.path(), GoOptions { program, certificates })
                .map(|server| (server.port(), Running::Go(server))),
        };
        let (port, running) = started.unwrap_or_else(|error| panic!("{error}"));
        Self { running, port, _dir: dir }
    }

    /// Ends the server at once, as a power cut does.
    ///
    /// # Panics
    /// If it does not end.
    pub fn kill(&mut self) {
        let ended = match &mut self.running {
            Running::PyKmip(server) => server.kill(),
            Running::Go(server) => server.kill(),
        };
        ended.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Returns a port on 127.0.0.1 on which nothing listens.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    sealstone_servers::free_port().expect("a free port")
}

/// A proxy before a server: passes bytes on, with a delay if set, or not at all.
pub struct Proxy {
    /// Port on 127.0.0.1.
    pub port: u16,
    delay_ms: Arc<AtomicU64>,
    /// Bytes that the server may still send before the connection is cut.
    allowed_bytes: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    /// Listens on its own port and passes everything on to `to`.
    ///
    /// # Panics
    /// If it cannot listen.
    #[must_use]
    pub fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = Self {
            port: listener.local_addr().expect("an address").port(),
            delay_ms: Arc::default(),
            allowed_bytes: Arc::new(AtomicU64::new(u64::MAX)),
            connections: Arc::default(),
            ended: Arc::default(),
        };
        let (delay_ms, allowed_bytes) = (proxy.delay_ms.clone(), proxy.allowed_bytes.clone());
        let (connections, ended) = (proxy.connections.clone(), proxy.ended.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                connections.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let ends =
                    (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
                thread::spawn(move || {
                    pass(client, server, &AtomicU64::new(0), &AtomicU64::new(u64::MAX))
                });
                let (delay_ms, allowed_bytes) = (delay_ms.clone(), allowed_bytes.clone());
                thread::spawn(move || pass(ends.1, ends.0, &delay_ms, &allowed_bytes));
            }
        });
        proxy
    }

    /// Holds back each piece from the server for this long from now on.
    pub fn delay(&self, delay: Duration) {
        self.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Cuts the connection after this many more bytes from the server, once; later connections are
    /// left alone.
    pub fn cut_after(&self, bytes: u64) {
        self.allowed_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the number of connections so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Passes bytes on until either side ends.
fn pass(mut from: TcpStream, mut to: TcpStream, delay_ms: &AtomicU64, allowed_bytes: &AtomicU64) {
    let mut buffer = [0; 4096];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        thread::sleep(Duration::from_millis(delay_ms.load(Ordering::Relaxed)));
        let allowed = allowed_bytes.load(Ordering::Relaxed);
        let passed = bytes.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        if passed < bytes {
            allowed_bytes.store(u64::MAX, Ordering::Relaxed);
        } else if allowed != u64::MAX {
            allowed_bytes.store(allowed - passed as u64, Ordering::Relaxed);
        }
        if to.write_all(&buffer[..passed]).is_err() || passed < bytes {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// A TLS server that answers every request with the same bytes, whatever the request.
pub struct Junk {
    /// Port on 127.0.0.1.
    pub port: u16,
    requests: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Junk {
    /// Listens on its own port. `answers` are sent in order, the last one repeatedly.
    ///
    /// # Panics
    /// If it cannot listen.
    #[must_use]
    pub fn start(certificates: &Certificates, answers: Vec<Vec<u8>>) -> Self {
        let config = server_config(certificates);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (requests, ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counted, over) = (requests.clone(), ended.clone());
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let session = ServerConnection::new(config.clone()).expect("a session");
                let mut stream = StreamOwned::new(session, socket);
                let mut request = [0; 65536];
                while let Ok(1..) = stream.read(&mut request) {
                    let turn = counted.fetch_add(1, Ordering::Relaxed) as usize;
                    if stream.write_all(&answers[turn.min(answers.len() - 1)]).is_err() {
                        break;
                    }
                }
            }
        });
        Self { port, requests, ended }
    }

    /// Returns the number of requests received.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Junk {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn server_config(certificates: &Certificates) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let one = |name| CertificateDer::from_pem_file(certificates.path(name)).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(one("ca.pem")).expect("an authority");
    let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
    let key = PrivateKeyDer::from_pem_file(certificates.path("server-key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(clients.build().expect("a verifier"))
        .with_single_cert(vec![one("server.pem")], key)
        .expect("a certificate with its key");
    Arc::new(config)
}
