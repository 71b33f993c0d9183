//! Connections: one for each client thread, which keeps it from operation to operation. Not here:
//! making them (`connection`).

use std::cell::RefCell;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use redis::cluster::{ClusterConnection, ClusterPipeline};
use redis::{Cmd, Connection, ConnectionLike, RedisResult, Value};

use super::layout::bytes;
use super::resp::{self, Resp, Texts};

/// A connection to a server, or connections to the nodes of a cluster.
pub(super) enum Link {
    Plain(Box<Resp>),
    /// A connection of the crate, with a send buffer.
    Driver(Box<Connection>, Vec<u8>),
    Cluster(Box<ClusterConnection>),
}

impl Link {
    /// Sends `command`, and returns the answer.
    ///
    /// # Errors
    /// A connection that broke, or what the server answered.
    pub(super) fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        let answer = match self {
            Self::Plain(resp) => {
                let mut answer = Ok(Value::Nil);
                resp.ask(slice::from_ref(command), |came| answer = came.and_then(resp::value))?;
                answer
            }
            Self::Driver(connection, packed) => {
                packed.clear();
                command.write_packed_command(packed);
                connection.req_packed_command(packed)
            }
            Self::Cluster(connection) => connection.req_command(command),
        };
        answer?.extract_error()
    }

    /// Sends all `commands` before it reads any answer; returns the answers in their order.
    ///
    /// # Errors
    /// As [`Link::ask`], for the first that failed.
    pub(super) fn ask_all(&mut self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        match commands {
            [] => return Ok(Vec::new()),
            [command] => return self.ask(command).map(|answer| vec![answer]),
            _ => {}
        }
        let answers = match self {
            Self::Plain(resp) => {
                let mut answers = Vec::with_capacity(commands.len());
                resp.ask(commands, |answer| answers.push(answer.and_then(resp::value)))?;
                return answers.into_iter().collect();
            }
            Self::Driver(connection, packed) => {
                packed.clear();
                commands.iter().for_each(|command| command.write_packed_command(packed));
                connection.req_packed_commands(packed, 0, commands.len())?
            }
            Self::Cluster(connection) => {
                let mut pipeline = ClusterPipeline::with_capacity(commands.len());
                for command in commands {
                    pipeline.add_command(command.clone());
                }
                pipeline.query(connection)?
            }
        };
        answers.into_iter().map(Value::extract_error).collect()
    }

    /// As [`Link::ask_all`], of commands whose answers are hashes: gives the names and values of
    /// each to `each`, or `None` for an answer that is no hash.
    ///
    /// # Errors
    /// As [`Link::ask_all`]; `each` may have been called for answers before the failed one.
    pub(super) fn hashes(
        &mut self,
        commands: &[Cmd],
        each: &mut dyn FnMut(Option<Names<'_>>),
    ) -> RedisResult<()> {
        if let Self::Plain(resp) = self {
            let mut outcome = Ok(());
            resp.ask(commands, |answer| match answer {
                Ok(answer) if outcome.is_ok() => each(resp::texts(answer).map(Names::Raw)),
                Err(error) if outcome.is_ok() => outcome = Err(error),
                // read, so that the next command gets its own answer
                _ => {}
            })?;
            return outcome;
        }
        for answer in self.ask_all(commands)? {
            each(answer.as_sequence().map(|values| Names::Values(values.iter())));
        }
        Ok(())
    }
}

/// Alternating names and values of a hash.
#[derive(Clone, Debug)]
pub(super) enum Names<'a> {
    Raw(Texts<'a>),
    Values(slice::Iter<'a, Value>),
}

impl<'a> Iterator for Names<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match self {
            Self::Raw(texts) => texts.next(),
            Self::Values(values) => values.next().map(bytes),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self {
            Self::Raw(texts) => texts.len(),
            Self::Values(values) => values.len(),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Names<'_> {}

/// The connections of one store.
#[derive(Debug)]
pub(super) struct Links {
    store: u64,
    idle: Arc<Idle>,
}

/// Connections whose thread has ended.
#[derive(Default)]
struct Idle(Mutex<Vec<Link>>);

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connections")
    }
}

impl Idle {
    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection of this thread to one store.
struct Held {
    store: u64,
    link: Option<Link>,
    home: Weak<Idle>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let (Some(link), Some(home)) = (self.link.take(), self.home.upgrade()) {
            home.locked().push(link);
        }
    }
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

impl Links {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { store: NEXT.fetch_add(1, Ordering::Relaxed), idle: Arc::default() }
    }

    /// Returns the connection of this thread, or one that another thread left; `None` if there is
    /// neither.
    pub(super) fn take(&self) -> Option<Link> {
        let held = HELD.with_borrow_mut(|held| {
            held.iter_mut().find(|held| held.store == self.store).and_then(|held| held.link.take())
        });
        held.or_else(|| self.idle.locked().pop())
    }

    /// Makes `link` the connection of this thread again.
    pub(super) fn keep(&self, link: Link) {
        HELD.with_borrow_mut(|held| match held.iter_mut().find(|held| held.store == self.store) {
            Some(Held { link: free @ None, .. }) => *free = Some(link),
            Some(_) => self.idle.locked().push(link),
            None => {
                // of stores that are no more
                held.retain(|held| held.home.strong_count() > 0);
                held.push(Held {
                    store: self.store,
                    link: Some(link),
                    home: Arc::downgrade(&self.idle),
                });
            }
        });
    }

    /// Forgets the connection of this thread and those that no thread holds: their server is gone.
    pub(super) fn forget(&self) {
        while self.take().is_some() {}
    }
}
