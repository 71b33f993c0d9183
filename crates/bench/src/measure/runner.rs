//! Runs one slice: client threads that start together, each doing its share of operations, closed
//! loop or open. It neither chooses the slices nor uses the figures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::client_time::{ClientTime, ThreadTime};
use crate::measure::cpu_time::{CpuReading, CpuTime, sample_cpu};
use crate::measure::failures::{Allowance, Failures};
use crate::measure::latency_histogram::Latencies;
use crate::study::machine::Busy;
use crate::workload::exact_sleep::exact_sleep;
use crate::workload::{Client, Done};
use sealstone_store::{Counters, OpenStore, StoreError, Target};

/// The work of one thread: clients one after the other, each with the number of operations it does.
pub type Work = Vec<(Box<dyn Client>, u64)>;

/// Outcome of one slice.
#[derive(Clone, Default)]
pub struct SliceOutcome {
    /// Operations done.
    pub operations: u64,
    /// Rows and bytes touched.
    pub done: Done,
    /// Wall seconds from the common start until the last client ended.
    pub elapsed_s: f64,
    /// CPU time of the process in that time.
    pub cpu: CpuTime,
    /// CPU time that the store's own processes used in that time, part of `cpu`.
    pub servers_cpu: CpuTime,
    /// Utilisation of the whole machine in that time, other programs included.
    pub machine: Busy,
    /// Readings of the CPU time within the slice.
    pub readings: Vec<CpuReading>,
    /// Latencies of all clients.
    pub latencies: Latencies,
    /// Counters of the store for that time.
    pub counters: Counters,
    /// In an open loop: operations a second that the clients kept up with.
    pub kept_per_s: f64,
    /// Use that the client threads made of that time.
    pub threads: ClientTime,
    /// Ended early by `stop`: the figures are not of a whole slice.
    pub interrupted: bool,
}

/// Error of a slice that gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A client's operation failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The system refused a thread.
    #[error(
        "cannot start client thread {number} of {clients}: {source}\ntry fewer threads, or raise \
         `ulimit -u`"
    )]
    Thread {
        /// Number of the thread, from 1.
        number: usize,
        /// The requested threads.
        clients: usize,
        /// Cause of the failure.
        source: std::io::Error,
    },
}

/// Runs slices, and keeps the memory of their recorders from one to the next.
#[derive(Default)]
pub struct Runner {
    recorders: Vec<Latencies>,
    /// Number of operations of the next slice that may fail.
    pub allowed: u64,
    /// The time at which the next slice is over, even with work left; none: when all work is done.
    pub until: Option<Instant>,
    /// The failed operations of the last slice, even if more failed than may; they count in nothing
    /// else.
    pub failed: Failures,
}

impl Runner {
    /// Runs `work`, one thread each, on `store` until all of it is done or `stop` is set.
    ///
    /// With `target` (operations a second, all clients together) operation k of client i is due at
    /// a time fixed before the slice begins, however long earlier operations took; its latency
    /// counts from there.
    ///
    /// # Errors
    /// The first error of any client that is beyond what `allowed` lets pass; it ends the others
    /// after their current operation.
    pub fn run_slice(
        &mut self,
        store: &OpenStore,
        work: Vec<Work>,
        target: Option<f64>,
        stop: &AtomicBool,
    ) -> Result<SliceOutcome, RunError> {
        let clients = work.len();
        let recorders = &mut self.recorders;
        recorders.resize_with(recorders.len().max(clients), Latencies::default);
        let (gate, allowance, until) = (Gate::default(), Allowance::new(self.allowed), self.until);
        let (servers, operations) = (store.upkeep().servers(), store.target());
        let (failed, sampled) = (AtomicBool::new(false), AtomicBool::new(false));
        let end_now = || failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);

        let result = thread::scope(|scope| {
            let mut threads = Vec::with_capacity(clients);
            for (number, (work, recorder)) in work.into_iter().zip(recorders.iter_mut()).enumerate()
            {
                recorder.clear(target.is_some());
                let (gate, failed, end_now, allowance) = (&gate, &failed, &end_now, &allowance);
                let client = move || {
                    // before the start, which it must not delay
                    let before = ThreadTime::now();
                    let begin = gate.wait()?;
                    let pace = target.map(|rate| Pace::new(begin, rate, number, clients));
                    let mut result =
                        run_client(operations, work, (pace, until), recorder, end_now, allowance);
                    if let Ok(outcome) = &mut result {
                        outcome.time = ClientTime::of(
                            outcome.end.duration_since(begin),
                            before,
                            ThreadTime::now(),
                        );
                    }
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    Some(result)
                };
                match thread::Builder::new()
                    .name(format!("client {number}"))
                    .spawn_scoped(scope, client)
                {
                    Ok(thread) => threads.push(thread),
                    Err(source) => {
                        gate.open(None);
                        return Err(RunError::Thread { number: number + 1, clients, source });
                    }
                }
            }
            gate.wait_for(clients);
            let counters = store.counters();
            let machine = Busy::now();
            let servers_cpu = CpuTime::of_all(&servers);
            let (begin, cpu) = (Instant::now(), CpuTime::with(&servers));
            let sampler = sample_cpu(scope, &servers, begin, cpu, &sampled);
            gate.open(Some(begin));

            let ends = threads
                .into_iter()
                .map(|thread| joined(thread).expect("the gate was opened with a start"));
            let ends: Vec<_> = ends.collect();
            let mut outcome = SliceOutcome {
                cpu: CpuTime::with(&servers).since(cpu),
                servers_cpu: CpuTime::of_all(&servers).since(servers_cpu),
                counters: store.counters().since(counters),
                machine: Busy::now().since(machine),
                ..SliceOutcome::default()
            };
            sampled.store(true, Ordering::Release);
            sampler.thread().unpark();
            outcome.readings = joined(sampler);
            let ends = ends.into_iter().collect::<Result<Vec<_>, _>>()?;
            let end = ends.iter().map(|client| client.end).max().unwrap_or(begin);
            outcome.elapsed_s = end.duration_since(begin).as_secs_f64();
            Ok((outcome, ends))
        });
        self.failed = allowance.into_passed();
        let (mut outcome, ends) = result?;
        for (client, recorder) in ends.iter().zip(&self.recorders) {
            outcome.operations += client.operations;
            outcome.threads.add(client.time);
            outcome.done.rows += client.done.rows;
            outcome.done.bytes += client.done.bytes;
            outcome.interrupted |= !client.finished;
            outcome.latencies.merge(recorder);
        }
        if let Some(rate) = target {
            let backlogs = ends.iter().map(|client| &client.backlog);
            outcome.kept_per_s = backlogs.fold(Backlog::default(), Backlog::plus).kept_per_s(rate);
        }
        Ok(outcome)
    }
}

/// Returns the result of `thread`; a panic in it continues in this one.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Outcome of one client thread.
struct ClientOutcome {
    operations: u64,
    done: Done,
    end: Instant,
    time: ClientTime,
    finished: bool,
    backlog: Backlog,
}

/// Lateness of requests in the first and the second half of a slice. In a store that keeps up, a
/// request may wait for the previous request, but later requests must not wait longer than earlier
/// requests.
#[derive(Clone, Copy, Debug, Default)]
struct Backlog {
    /// Requests, seconds after the start at which they were due, and seconds that they were late,
    /// in sum.
    halves: [(f64, f64, f64); 2],
}

impl Backlog {
    fn add(&mut self, second: bool, due_s: f64, late_s: f64) {
        let (requests, due, late) = &mut self.halves[usize::from(second)];
        *requests += 1.0;
        *due += due_s;
        *late += late_s;
    }

    fn plus(mut self, other: &Self) -> Self {
        for (own, other) in self.halves.iter_mut().zip(other.halves) {
            *own = (own.0 + other.0, own.1 + other.1, own.2 + other.2);
        }
        self
    }

    /// Operations a second that were kept up with when `rate` were due. A store with a capacity c
    /// below the rate r falls behind by r / c - 1 seconds in each second.
    fn kept_per_s(&self, rate: f64) -> f64 {
        let mean = |(requests, due, late): (f64, f64, f64)| (due / requests, late / requests);
        let [(from_s, late_then_s), (to_s, late_now_s)] = self.halves.map(mean);
        let growth = (late_now_s - late_then_s) / (to_s - from_s);
        if growth.is_finite() { rate / (1.0 + growth.max(0.0)) } else { rate }
    }
}

fn run_client(
    target: Target<'_>,
    work: Work,
    (mut pace, until): (Option<Pace>, Option<Instant>),
    recorder: &mut Latencies,
    end_now: &dyn Fn() -> bool,
    allowance: &Allowance,
) -> Result<ClientOutcome, StoreError> {
    let mut outcome = ClientOutcome {
        operations: 0,
        done: Done::default(),
        end: Instant::now(),
        time: ClientTime::default(),
        finished: true,
        backlog: Backlog::default(),
    };
    let watched = allowance.watch(target);
    let target = watched.as_ref().map_or(target, |watched| Target::Records(watched));
    let all = work.iter().fold(0u64, |all, (_, operations)| all.saturating_add(*operations));
    'work: for (mut client, operations) in work {
        for _ in 0..operations {
            if end_now() {
                outcome.finished = false;
                break 'work;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break 'work;
            }
            let due = pace.as_mut().map(Pace::wait);
            if let Some(Due { after_s, late, .. }) = due {
                recorder.set_late(late);
                outcome.backlog.add(2 * outcome.operations >= all, after_s, late.as_secs_f64());
            }
            match client.next(target, recorder) {
                Ok(done) => {
                    due.into_iter().for_each(|due| recorder.record_request(due.at));
                    outcome.count(done);
                }
                Err(error) => {
                    let operation = watched.as_ref().map_or("operation", |watched| watched.last());
                    allowance.pass(operation, error)?;
                }
            }
        }
    }
    outcome.end = Instant::now();
    Ok(outcome)
}

impl ClientOutcome {
    fn count(&mut self, done: Done) {
        self.operations += 1;
        self.done.rows += done.rows;
        self.done.bytes += done.bytes;
    }
}

/// The time at which an operation was due.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    /// Seconds after the start.
    after_s: f64,
    /// Time for which it has been due.
    late: Duration,
}

/// The due times of one client in an open loop.
struct Pace {
    begin: Instant,
    interval_s: f64,
    offset_s: f64,
    operation: u64,
}

impl Pace {
    fn new(begin: Instant, rate: f64, client: usize, clients: usize) -> Self {
        exact_sleep();
        let interval_s = clients as f64 / rate;
        Self { begin, interval_s, offset_s: client as f64 / rate, operation: 0 }
    }

    /// Sleeps until the next operation is due.
    fn wait(&mut self) -> Due {
        let after_s = self.offset_s + self.operation as f64 * self.interval_s;
        self.operation += 1;
        let due = self.begin + Duration::from_secs_f64(after_s);
        let now = Instant::now();
        if now < due {
            thread::sleep(due - now);
        }
        Due { at: due, after_s, late: due.elapsed() }
    }
}

/// Holds clients back until all are ready, then releases them at once: a barrier that can also be
/// cancelled.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    ready: usize,
    start: Start,
}

/// The common start of a slice.
#[derive(Clone, Copy, Default)]
enum Start {
    /// Not all clients are ready.
    #[default]
    Awaited,
    /// The slice began then.
    At(Instant),
    /// The slice was called off.
    CalledOff,
}

impl Gate {
    /// Waits until the gate opens. Returns the common start, or none if the slice was called off.
    fn wait(&self) -> Option<Instant> {
        let mut state = self.state.lock().expect("no code that holds this lock panics");
        state.ready += 1;
        self.changed.notify_all();
        loop {
            match state.start {
                Start::Awaited => {}
                Start::At(begin) => return Some(begin),
                Start::CalledOff => return None,
            }
            state = self.changed.wait(state).expect("no code that holds this lock panics");
        }
    }

    fn wait_for(&self, clients: usize) {
        let mut state = self.state.lock().expect("no code that holds this lock panics");
        while state.ready < clients {
            state = self.changed.wait(state).expect("no code that holds this lock panics");
        }
    }

    fn open(&self, begin: Option<Instant>) {
        let start = begin.map_or(Start::CalledOff, Start::At);
        self.state.lock().expect("no code that holds this lock panics").start = start;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Recorder;
    use sealstone_store::MemoryStore;

    /// A client whose operation number `stall_at` takes 200 ms, while the others take no time.
    struct Stalling {
        operation: u64,
        stall_at: Option<u64>,
    }

    impl Client for Stalling {
        fn next(&mut self, _: Target<'_>, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
            let start = Instant::now();
            if Some(self.operation) == self.stall_at {
                thread::sleep(Duration::from_millis(200));
            }
            self.operation += 1;
            recorder.record("read", start);
            Ok(Done { rows: 1, bytes: 10 })
        }
    }

    fn stalling(clients: usize, operations: u64, stall_at: Option<u64>) -> Vec<Work> {
        let client = |number| -> Work {
            let stall_at = stall_at.filter(|_| number == 0);
            vec![(Box::new(Stalling { operation: 0, stall_at }), operations)]
        };
        (0..clients).map(client).collect()
    }

    fn run(work: Vec<Work>, target: Option<f64>) -> SliceOutcome {
        let stop = AtomicBool::new(false);
        Runner::default()
            .run_slice(&OpenStore::records(MemoryStore::new()), work, target, &stop)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn all_work_of_all_clients_is_done_and_counted() {
        let mut runner = Runner::default();
        let stop = AtomicBool::new(false);
        for clients in [1, 3, 50] {
            let work = stalling(clients, 40, None);
            let outcome = runner
                .run_slice(&OpenStore::records(MemoryStore::new()), work, None, &stop)
                .unwrap();
            let all = clients as u64 * 40;
            assert_eq!(
                (outcome.operations, outcome.done.rows, outcome.done.bytes),
                (all, all, all * 10)
            );
            assert_eq!(outcome.latencies.response()["read"].count, all);
            assert!(outcome.elapsed_s > 0.0 && !outcome.interrupted);
        }
    }

    #[test]
    fn a_stall_hides_in_a_closed_loop_and_shows_in_an_open_one() {
        // 400 operations at 1000 a second; the 200 ms stall at the hundredth makes about 200 of
        // them late
        let closed = run(stalling(1, 400, Some(100)), None);
        let open = run(stalling(1, 400, Some(100)), Some(1_000.0));
        let slow = 50_000.0;
        let closed = &closed.latencies.response()["read"];
        assert!(closed.p95_us < slow && closed.max_us >= 200_000.0, "{closed:?}");
        let (response, service) = (open.latencies.response(), open.latencies.service());
        assert!(response["read"].p95_us >= slow, "{response:?}");
        assert!(service["read"].p95_us < slow, "{service:?}");
    }

    #[test]
    fn an_open_loop_keeps_its_rate_over_all_clients() {
        let outcome = run(stalling(4, 100, None), Some(2_000.0));
        // the last of 400 operations is due 199.5 ms after the start
        assert!((0.19..0.6).contains(&outcome.elapsed_s), "{}", outcome.elapsed_s);
    }

    #[test]
    fn a_request_counts_from_when_it_was_due() {
        let outcome = run(stalling(1, 400, Some(100)), Some(1_000.0));
        let requests = outcome.latencies.requests();
        assert_eq!(requests.count(), 400);
        // requests due at the begin of the stall of 200 ms waited longest, and half of all waited
        assert!(requests.quantile_us(0.9).unwrap() > 100_000.0, "{:?}", requests.quantile_us(0.9));
        assert_eq!(run(stalling(1, 10, None), None).latencies.requests().count(), 0);
    }

    /// A client whose operations take a millisecond each.
    struct Slow;

    impl Client for Slow {
        fn next(&mut self, _: Target<'_>, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
            let start = Instant::now();
            thread::sleep(Duration::from_millis(1));
            recorder.record("read", start);
            Ok(Done { rows: 1, bytes: 10 })
        }
    }

    #[test]
    fn a_rate_that_is_not_kept_is_found_by_the_growing_backlog() {
        let slow = |clients: usize| {
            (0..clients).map(|_| -> Work { vec![(Box::new(Slow), 200)] }).collect()
        };
        // two clients can do at most 2000 a second
        let behind = run(slow(2), Some(4_000.0));
        assert!((200.0..=2_050.0).contains(&behind.kept_per_s), "{}", behind.kept_per_s);
        let kept = run(stalling(2, 200, None), Some(1_000.0));
        assert!((900.0..=1_000.0).contains(&kept.kept_per_s), "{}", kept.kept_per_s);
        assert_eq!(run(slow(1), None).kept_per_s, 0.0);
        // steady lateness is no backlog: half a second late throughout, then a tenth of the time
        // more and more
        let mut steady = Backlog::default();
        let mut growing = Backlog::default();
        for at in 0..100 {
            let due_s = f64::from(at) / 100.0;
            steady.add(at >= 50, due_s, 0.5);
            growing.add(at >= 50, due_s, 0.1 * due_s);
        }
        assert!((steady.kept_per_s(100.0) - 100.0).abs() < 1e-9);
        assert!((growing.kept_per_s(110.0) - 100.0).abs() < 1e-6, "{}", growing.kept_per_s(110.0));
    }

    #[test]
    fn stop_ends_clients_between_operations() {
        let stop = AtomicBool::new(true);
        let outcome = Runner::default()
            .run_slice(
                &OpenStore::records(MemoryStore::new()),
                stalling(2, 1_000, None),
                None,
                &stop,
            )
            .unwrap();
        assert!(outcome.interrupted && outcome.operations == 0);
    }

    #[test]
    fn the_first_error_ends_the_others() {
        struct Failing;
        impl Client for Failing {
            fn next(&mut self, _: Target<'_>, _: &mut dyn Recorder) -> Result<Done, StoreError> {
                Err(StoreError::engine("disk full"))
            }
        }
        let mut work = stalling(3, u64::MAX, None);
        work.push(vec![(Box::new(Failing), 1)]);
        let stop = AtomicBool::new(false);
        let error = Runner::default()
            .run_slice(&OpenStore::records(MemoryStore::new()), work, None, &stop)
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "disk full");
    }

    #[test]
    fn a_slice_with_an_end_is_over_then_and_whole() {
        let stop = AtomicBool::new(false);
        let until = Some(Instant::now() + Duration::from_millis(50));
        let mut runner = Runner { until, ..Runner::default() };
        let outcome = runner
            .run_slice(
                &OpenStore::records(MemoryStore::new()),
                stalling(2, u64::MAX, None),
                None,
                &stop,
            )
            .unwrap();
        assert!(
            !outcome.interrupted && outcome.operations > 0 && outcome.elapsed_s < 5.0,
            "{}",
            outcome.elapsed_s
        );
    }

    #[test]
    fn operations_that_may_fail_are_counted_and_nothing_else_is() {
        /// Every tenth read fails.
        struct Shaky(u64);
        impl Client for Shaky {
            fn next(
                &mut self,
                target: Target<'_>,
                recorder: &mut dyn Recorder,
            ) -> Result<Done, StoreError> {
                let start = Instant::now();
                let table = sealstone_store::Table { id: 1, name: "t".into(), fields: Vec::new() };
                let store = target.records("a test")?;
                store.read(&table, b"k", None, &mut sealstone_store::Record::new())?;
                self.0 += 1;
                if self.0.is_multiple_of(10) {
                    return Err(StoreError::engine("busy"));
                }
                recorder.record("read", start);
                Ok(Done { rows: 1, bytes: 10 })
            }
        }
        let shaky = || -> Vec<Work> {
            (0..3).map(|_| -> Work { vec![(Box::new(Shaky(0)), 100)] }).collect()
        };
        let (store, stop) = (OpenStore::records(MemoryStore::new()), AtomicBool::new(false));
        let mut runner = Runner { allowed: 30, ..Runner::default() };
        let outcome = runner.run_slice(&store, shaky(), None, &stop).unwrap();
        assert_eq!(
            (outcome.operations, runner.failed["read"], outcome.interrupted),
            (270, 30, false)
        );
        assert_eq!((outcome.done.rows, outcome.latencies.response()["read"].count), (270, 270));
        runner.allowed = 29;
        assert!(matches!(runner.run_slice(&store, shaky(), None, &stop), Err(RunError::Store(_))));
    }
}
