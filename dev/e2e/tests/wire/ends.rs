//! Two ends of a tunnel in separate namespaces, as their users see them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use sealstone_e2e::binary;
use sealstone_wire::WireError;
use sealstone_wire::links::{Links, command, link};
use serde_json::Value;

/// Within which a tunnel is back.
pub(crate) const BACK_WITHIN: Duration = Duration::from_secs(5);

/// Two ends in separate namespaces.
pub(crate) struct Ends {
    pub(crate) links: Links,
    pub(crate) dir: tempfile::TempDir,
}

impl Drop for Ends {
    fn drop(&mut self) {
        // whatever a failed test left running
        for name in ["one", "two"] {
            let _ = self.run(0, &["wire", "down", name]);
            // their guards go with the namespaces
        }
    }
}

impl Ends {
    /// Makes the ends; returns None, and prints the skip, where there are no namespaces.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let links = match Links::new(link("unlimited").expect("a row of the table")) {
            Ok(links) => links,
            Err(WireError::NoNamespaces { found }) => {
                println!("SKIP: {test}: no network namespaces: {found}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        if !Path::new("/dev/net/tun").exists() {
            println!("SKIP: {test}: no /dev/net/tun");
            return None;
        }
        let ends = Self { links, dir: tempfile::tempdir().unwrap() };
        let made = ends.run(0, &["keys", "new", "wire.key", "--id", "wire"]);
        assert!(made.status.success(), "{}", stderr(&made));
        Some(ends)
    }

    /// Runs `sealstone` at one end.
    pub(crate) fn run(&self, end: usize, arguments: &[&str]) -> Output {
        let dir = self.dir.path();
        let run = || {
            let mut command = command(binary::sealstone().to_str().unwrap());
            command.args(arguments).current_dir(dir).env("SEALSTONE_RUNTIME_DIR", dir.join("run"));
            command.output().map_err(|found| WireError::Path { attempted: "run sealstone", found })
        };
        self.links.ends[end].run(run).unwrap()
    }

    /// Starts the tunnel of one end.
    pub(crate) fn up(&self, end: usize, more: &[&str]) -> Output {
        let peer = self.links.address(1 - end, false).to_string();
        let (name, four, six) = self.of(end);
        let addresses = ["--address", &four, "--address", &six];
        let given = ["wire", "up", "--key", "wire.key", "--peer", &peer, "--name", name];
        self.run(end, &[&given[..], &addresses, more].concat())
    }

    pub(crate) fn of(&self, end: usize) -> (&'static str, String, String) {
        let number = end + 1;
        (["one", "two"][end], format!("10.9.0.{number}/24"), format!("fd00:9::{number}/64"))
    }

    pub(crate) fn status(&self, end: usize) -> Value {
        let (name, _, _) = self.of(end);
        let output = self.run(end, &["wire", "status", name, "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
        status["tunnels"][0].clone()
    }

    pub(crate) fn events(&self, end: usize) -> String {
        let status = self.status(end);
        let events =
            status["events"].as_array().unwrap().iter().map(|event| format!("{}\n", event["what"]));
        events.collect()
    }

    pub(crate) fn down(&self, end: usize) {
        let (name, _, _) = self.of(end);
        let output = self.run(end, &["wire", "down", name, "--remove-guard"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with(&format!("tunnel {name} is down\n")), "{said}");
    }

    pub(crate) fn devices(&self, end: usize) -> String {
        let list = || {
            let output = Command::new("ip").args(["-oneline", "link"]).output();
            output.map_err(|found| WireError::Path { attempted: "list devices", found })
        };
        String::from_utf8(self.links.ends[end].run(list).unwrap().stdout).unwrap()
    }

    /// Returns whether data pass from end 0 to end 1 and back, through the tunnel, within
    /// `patience`.
    pub(crate) fn passes(&self, address: &str, patience: Duration) -> bool {
        let address: SocketAddr = address.parse().unwrap();
        let failed = |found| WireError::Path { attempted: "pass data", found };
        let listener = self.links.ends[1]
            .run(|| TcpListener::bind(("::", address.port())).map_err(failed))
            .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                listener.set_nonblocking(true).unwrap();
                let until = Instant::now() + patience + Duration::from_secs(1);
                while Instant::now() < until {
                    let Ok((mut stream, _)) = listener.accept() else {
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    stream.set_nonblocking(false).unwrap();
                    stream.set_read_timeout(Some(patience)).unwrap();
                    let mut data = vec![0; DATA_BYTES];
                    return stream
                        .read_exact(&mut data)
                        .and_then(|()| stream.write_all(&data))
                        .is_ok();
                }
                false
            });
            let ask = || {
                let until = Instant::now() + patience;
                while Instant::now() < until {
                    let Ok(mut stream) =
                        TcpStream::connect_timeout(&address, Duration::from_millis(300))
                    else {
                        std::thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    stream.set_read_timeout(Some(patience)).unwrap();
                    let data: Vec<u8> = (0..DATA_BYTES).map(|at| (at * 7) as u8).collect();
                    let mut back = vec![0; DATA_BYTES];
                    let passed =
                        stream.write_all(&data).and_then(|()| stream.read_exact(&mut back));
                    return Ok(passed.is_ok() && back == data);
                }
                Ok(false)
            };
            self.links.ends[0].run(ask).unwrap()
        })
    }
}

/// Amount of data sent in each direction; the answer waits for all of it, so it fits the buffers of
/// a connection.
const DATA_BYTES: usize = 50_000;

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
