//! Hostile servers, and programs that are no servers: they never answer, send a byte now and then,
//! claim endless messages, request the password in the clear or a file, and quote data and
//! addresses in their errors. Each is a small TCP server here; each must soon end in one clear
//! error that leaks nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_stores::{
    MongoDb, MongoDbOptions, Mysql, MysqlOptions, Postgres, PostgresOptions, Redis, RedisOptions,
    TableOptions, connect_table,
};

/// Longest time that a client may wait for a server that never answers: the limits of connecting,
/// and what a busy machine adds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Password that the clients have, and that no server and no message may contain.
const PASSWORD: &str = "geheimnis";
/// Personal data that the servers mention.
const PERSON: &str = "870605-1234567";

/// A server, and all that was sent to it.
struct Hostile {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

/// Starts one that does `talk` on each connection.
fn hostile(talk: impl Fn(&mut Peer) -> Option<()> + Send + Sync + 'static) -> Hostile {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (talk, ours) = (Arc::new(talk), Arc::clone(&heard));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (talk, heard) = (Arc::clone(&talk), Arc::clone(&ours));
            thread::spawn(move || {
                let mut peer = Peer { stream, heard };
                // a client that leaves is the expected outcome
                let _ = talk(&mut peer);
                let _ = peer.stream.shutdown(Shutdown::Write);
                while peer.hear().is_some() {}
            });
        }
    });
    Hostile { port, heard }
}

impl Hostile {
    fn heard(&self, what: &str) -> bool {
        self.heard.lock().unwrap().windows(what.len()).any(|window| window == what.as_bytes())
    }
}

/// The server's end of a connection.
struct Peer {
    stream: TcpStream,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Peer {
    /// Returns the next bytes that arrive; none when the client has left.
    fn hear(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 4096];
        let count = self.stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        self.heard.lock().unwrap().extend_from_slice(&bytes[..count]);
        Some(bytes[..count].to_vec())
    }

    fn say(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()
    }

    /// Sends `bytes` repeatedly, one at a time.
    fn drip(&mut self, bytes: &[u8]) -> Option<()> {
        for byte in bytes.iter().cycle() {
            self.say(&[*byte])?;
            thread::sleep(Duration::from_millis(200));
        }
        None
    }

    /// Sends nothing, until the client leaves.
    fn hang(&mut self) -> Option<()> {
        while self.hear().is_some() {}
        None
    }
}

/// Returns the error of `connect` on `server`, which must come soon, be two lines, and leak
/// nothing.
fn refusal<T>(server: &Hostile, connect: impl FnOnce(u16) -> Result<T, String>) -> String {
    let begin = Instant::now();
    let Err(error) = connect(server.port) else { panic!("it was let in") };
    assert!(begin.elapsed() < PATIENCE, "{:?}: {error}", begin.elapsed());
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(
        !error.contains(PASSWORD) && !error.contains(PERSON) && !error.contains('\x1b'),
        "{error}"
    );
    assert!(error.len() < 1000, "{error}");
    error
}

fn postgres(port: u16, more: &str) -> Result<Postgres, String> {
    let uri = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/d{more}");
    Postgres::connect(&PostgresOptions { uri, ..PostgresOptions::default() })
        .map_err(|error| error.to_string())
}

fn mysql(port: u16, more: &str) -> Result<Mysql, String> {
    let uri = format!("mysql://me:{PASSWORD}@127.0.0.1:{port}/d{more}");
    Mysql::connect(&MysqlOptions { uri, ..MysqlOptions::default() })
        .map_err(|error| error.to_string())
}

fn redis(port: u16) -> Result<Redis, String> {
    let uri = format!("redis://me:{PASSWORD}@127.0.0.1:{port}");
    Redis::connect(&RedisOptions { uri, ..RedisOptions::default() })
        .map_err(|error| error.to_string())
}

fn mongodb(port: u16, more: &str) -> Result<MongoDb, String> {
    let uri = format!("mongodb://me:{PASSWORD}@127.0.0.1:{port}/d{more}");
    MongoDb::connect(&MongoDbOptions { uri, ..MongoDbOptions::default() })
        .map_err(|error| error.to_string())
}

fn table(scheme: &str, port: u16) -> Result<(), String> {
    let address = format!("{scheme}://me:{PASSWORD}@127.0.0.1:{port}/d");
    let options = TableOptions { address, ..TableOptions::default() };
    connect_table(&options, "people").map(drop).map_err(|error| error.to_string())
}

/// Returns a message of PostgreSQL.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// Refuses TLS, and reads the login.
fn no_tls(peer: &mut Peer) -> Option<()> {
    const TLS_REQUEST: [u8; 4] = [0x04, 0xd2, 0x16, 0x2f];
    if peer.hear()?.ends_with(&TLS_REQUEST) {
        peer.say(b"N")?;
        peer.hear()?;
    }
    Some(())
}

/// Lets the client in.
fn let_in(peer: &mut Peer) -> Option<()> {
    no_tls(peer)?;
    peer.say(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat())
}

/// Returns an error of PostgreSQL with the code `code`.
fn error(code: &str, text: &str, more: &[(u8, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, value) in
        [(b'S', "FATAL"), (b'V', "FATAL"), (b'C', code), (b'M', text)].iter().chain(more)
    {
        body.push(*field);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    message(b'E', &body)
}

/// Returns a packet of MySQL.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// Returns the first message of a MySQL server, for accounts that log in by `plugin`.
fn greeting(plugin: &str) -> Vec<u8> {
    let mut body = b"\x0a8.0.35\0\x01\0\0\0saltsalt\0".to_vec();
    // protocol 4.1, secure connection, plug-ins, a database, files of the client
    let capabilities: u32 = 0x0000_0200 | 0x0000_8000 | 0x0008_0000 | 0x0000_0008 | 0x0000_0080 | 1;
    let [a, b, c, d] = capabilities.to_le_bytes();
    body.extend([a, b, 0xff, 2, 0, c, d, 21]);
    body.extend([0; 10]);
    body.extend(b"saltsaltsalt\0");
    body.extend(plugin.as_bytes());
    body.push(0);
    packet(0, &body)
}

const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];

fn mysql_error(code: u16, state: &str, text: &str) -> Vec<u8> {
    [&[0xff][..], &code.to_le_bytes(), b"#", state.as_bytes(), text.as_bytes()].concat()
}

#[test]
fn servers_that_never_answer_are_waited_for_no_longer_than_connecting_may_take() {
    let silent = Arc::new(hostile(Peer::hang));
    // one that takes any number of bytes as the beginning of its answer
    let dripping = Arc::new(hostile(|peer| peer.drip(&[1, 0, 0, 0, 10])));
    let dripping_redis = Arc::new(hostile(|peer| peer.drip(b"+")));
    let greets = Arc::new(hostile(|peer| {
        no_tls(peer)?;
        peer.drip(&message(b'N', &[0]))
    }));
    thread::scope(|scope| {
        for server in [&silent, &greets] {
            scope.spawn(move || refusal(server, |port| postgres(port, "")));
            scope.spawn(move || refusal(server, |port| postgres(port, "?sslmode=require")));
            scope.spawn(move || refusal(server, |port| table("postgres", port)));
        }
        for server in [&silent, &dripping] {
            scope.spawn(move || refusal(server, |port| mysql(port, "")));
            scope.spawn(move || refusal(server, |port| mysql(port, "?ssl-mode=REQUIRED")));
            scope.spawn(move || refusal(server, |port| table("mysql", port)));
            scope.spawn(move || refusal(server, |port| mongodb(port, "")));
        }
        for server in [&silent, &dripping_redis] {
            scope.spawn(move || refusal(server, redis));
        }
    });
}

#[test]
fn servers_that_let_in_and_then_say_nothing_are_not_waited_for_without_end() {
    let postgres_server = hostile(|peer| {
        let_in(peer)?;
        peer.hang()
    });
    let mysql_server = hostile(|peer| {
        peer.say(&greeting("mysql_native_password"))?;
        peer.hear()?;
        peer.say(&packet(2, &OK))?;
        peer.hear()?;
        // the beginning of an answer, and then a byte now and then
        peer.say(&[0xff, 0xff, 0, 1])?;
        peer.drip(b"x")
    });
    thread::scope(|scope| {
        scope.spawn(|| {
            let error = refusal(&postgres_server, |port| postgres(port, ""));
            assert!(error.contains("no answer in time\ncheck whether"), "{error}");
        });
        scope.spawn(|| refusal(&postgres_server, |port| table("postgres", port)));
        scope.spawn(|| {
            let error = refusal(&mysql_server, |port| mysql(port, ""));
            assert!(error.contains("no answer in time\ncheck whether"), "{error}");
        });
    });
}

#[test]
fn a_message_that_claims_to_be_endless_takes_no_memory() {
    for (kind, length) in [
        (b'E', 1_u32 << 31),
        (b'E', (1 << 31) - 1),
        (b'N', 1 << 30),
        (b'S', 1 << 29),
        (b'R', 1 << 28),
    ] {
        let server = hostile(move |peer| {
            no_tls(peer)?;
            peer.say(&[kind])?;
            peer.say(&length.to_be_bytes())?;
            // as much of it as the client takes
            loop {
                peer.say(&[b'x'; 1 << 16])?;
            }
        });
        let error = refusal(&server, |port| postgres(port, ""));
        assert!(
            error.contains(&format!(
                "it sent a message of {length} bytes, where 65536 are the most"
            )),
            "{error}"
        );
    }
    // endless small messages, where the driver takes any number of them
    let server = hostile(|peer| {
        no_tls(peer)?;
        peer.say(&message(b'R', &0_u32.to_be_bytes()))?;
        loop {
            peer.say(&message(b'S', b"a\0b\0"))?;
        }
    });
    let error = refusal(&server, |port| postgres(port, ""));
    assert!(error.contains("before it let anybody in"), "{error}");
}

#[test]
fn postgres_gets_no_password_in_the_clear_unless_the_user_agrees() {
    let asks = || {
        hostile(|peer| {
            no_tls(peer)?;
            peer.say(&message(b'R', &3_u32.to_be_bytes()))?;
            peer.hear()?;
            peer.say(&error("28P01", "no", &[]))
        })
    };
    for more in ["", "?sslmode=disable", "?sslmode=prefer"] {
        let server = asks();
        let error = refusal(&server, |port| postgres(port, more));
        assert!(
            error
                .contains("it wants the password in the clear, without TLS\nwrite sslmode=require"),
            "{error}"
        );
        assert!(!server.heard(PASSWORD), "{more}");
    }
    let server = asks();
    assert!(
        refusal(&server, |port| postgres(port, "?require_auth=password"))
            .contains("it refused the user name")
    );
    assert!(server.heard(PASSWORD), "as was agreed");
}

#[test]
fn mysql_gets_no_password_that_anybody_can_read() {
    let switch = |plugin: &'static str| {
        hostile(move |peer| {
            peer.say(&greeting("mysql_native_password"))?;
            peer.hear()?;
            peer.say(&packet(
                2,
                &[&[0xfe][..], plugin.as_bytes(), b"\0saltsaltsaltsaltsalt\0"].concat(),
            ))?;
            peer.hang()
        })
    };
    for plugin in ["mysql_clear_password", "mysql_old_password", "dialog"] {
        let server = switch(plugin);
        refusal(&server, |port| mysql(port, ""));
        assert!(!server.heard(PASSWORD), "{plugin}");
    }
    // an impostor could send its own key
    let server = hostile(|peer| {
        peer.say(&greeting("caching_sha2_password"))?;
        peer.hear()?;
        peer.say(&packet(2, &[1, 4]))?;
        peer.hang()
    });
    let error = refusal(&server, |port| mysql(port, ""));
    assert!(
        error.contains("under a key that it sends itself, without TLS\nwrite ssl-mode=REQUIRED"),
        "{error}"
    );
    assert!(!server.heard(PASSWORD));
}

#[test]
fn mysql_gets_no_file() {
    let server = hostile(|peer| {
        peer.say(&greeting("mysql_native_password"))?;
        peer.hear()?;
        peer.say(&packet(2, &OK))?;
        peer.hear()?;
        peer.say(&packet(1, b"\xfb/etc/passwd"))?;
        peer.hear()?;
        peer.say(&packet(3, &OK))?;
        peer.hang()
    });
    // it may be taken for a server without a version
    let _ = mysql(server.port, "");
    assert!(!server.heard("root:") && !server.heard("/bin/"), "{:?}", server.heard.lock().unwrap());
}

#[test]
fn mongodb_gets_no_password_in_the_clear() {
    let server = hostile(Peer::hang);
    let error = refusal(&server, |port| mongodb(port, "?authMechanism=PLAIN&authSource=$external"));
    assert!(
        error.contains("authMechanism=PLAIN gives the password in the clear, without TLS"),
        "{error}"
    );
    assert!(!server.heard(PASSWORD));
}

#[test]
fn what_servers_quote_is_not_said() {
    let detail = format!("Key (rrn)=({PERSON}) already exists.");
    let failing = format!("Failing row contains (7, 홍길동, {PERSON}).");
    let quoting = format!("invalid input syntax for type integer: \"{PERSON}\"");
    let chosen = format!("no {PERSON} here");
    for (code, text, more) in [
        (
            "23505",
            "duplicate key value violates unique constraint \"people_rrn\"",
            vec![(b'D', detail.as_str())],
        ),
        (
            "23514",
            "new row for relation \"people\" violates check constraint",
            vec![(b'D', failing.as_str())],
        ),
        ("22P02", quoting.as_str(), vec![]),
        ("P0001", chosen.as_str(), vec![(b'R', "exec_stmt_raise")]),
        ("42501", chosen.as_str(), vec![(b'R', "exec_stmt_raise")]),
        ("XX000", chosen.as_str(), vec![]),
        (
            "28000",
            format!("no pg_hba.conf entry for host \"127.0.0.1\", user \"{PASSWORD}\", {PERSON}")
                .as_str(),
            vec![],
        ),
        ("3D000", format!("database \"{PASSWORD}\" does not exist").as_str(), vec![]),
        (
            "57P01",
            format!("\x1b]0;title\x07\x1b[2J{PERSON}").as_str(),
            vec![(b'H', detail.as_str())],
        ),
    ] {
        let sent = error(code, text, &more);
        let server = hostile(move |peer| {
            no_tls(peer)?;
            peer.say(&sent)
        });
        refusal(&server, |port| postgres(port, ""));
    }
    for (code, state, text) in [
        (1062, "23000", format!("Duplicate entry '{PERSON}' for key 'rrn'")),
        (
            1366,
            "22007",
            format!("Incorrect integer value: '{PERSON}' for column `d`.`t`.`rrn` at row 1"),
        ),
        (1644, "45000", chosen.clone()),
        (1044, "42000", format!("Access denied for user '{PASSWORD}'@'%' to database 'd'")),
        (1049, "42000", format!("Unknown database '{PASSWORD}'")),
        (9999, "HY000", format!("\x1b[31m{PERSON}\x1b[0m")),
    ] {
        let server = hostile(move |peer| {
            peer.say(&greeting("mysql_native_password"))?;
            peer.hear()?;
            peer.say(&packet(2, &mysql_error(code, state, &text)))
        });
        refusal(&server, |port| mysql(port, ""));
    }
    for text in [
        format!("-ERR unknown command 'AUTH', with args beginning with: 'me' '{PASSWORD}'\r\n"),
        format!(
            "-NOPERM User {PASSWORD} has no permissions to run the 'info' command on {PERSON}\r\n"
        ),
        format!("-WEIRD \x1b[2J'{PERSON}'\r\n"),
    ] {
        let server = hostile(move |peer| {
            peer.hear()?;
            peer.say(b"+OK\r\n")?;
            peer.hear()?;
            peer.say(text.as_bytes())
        });
        refusal(&server, redis);
    }
}
