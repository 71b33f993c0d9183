//! The keys, the cipher and the mode of one run of a server: fetched when it starts, and looked
//! after by a thread. Not here: the server (`ffi`), and what a call enciphers (`context`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use sealstone_cipher::module::title;
use sealstone_cipher::{Backend, Cipher, Provider};
use sealstone_file::counts::{self, Keeper, Tally};
use sealstone_keys::{KeyError, KeySource, source};
use sealstone_seal::tablespace::{PageMode, ServerVersion, TablespaceError, TablespaceKeys};

use crate::check::trial::{self, Trial};
use crate::check::written_in;
use crate::error::PluginError;
use crate::fingerprints::{self, Fingerprints};
use crate::settings::Settings;

/// Writes a line for the server's log.
pub type Log = dyn Fn(Level, &str) + Send + Sync;

/// Weight of a line in the server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something to know.
    Note,
    /// Something to look after.
    Warning,
    /// Something that was refused.
    Error,
}

/// Moment at which a server loads the plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The server starts, and has opened none of its files yet.
    ServerStart,
    /// The server runs. It holds its files by locks that are gone as soon as any part of the
    /// process closes them (fcntl(2), POSIX), so none of them is opened.
    Install,
}

/// Version up to which everything counts as recorded where this run keeps no record.
const UNRECORDED: u32 = u32::MAX;

/// Keys of one run of a server, for many threads at once.
pub struct Plugin {
    held: Arc<Held>,
    tally: Arc<Tally>,
    log: Arc<Log>,
    /// None where there can be no thread more.
    _keeper: Option<Keeper>,
    /// Dropped before the thread is waited for, which ends it.
    end: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

/// Keys that the server's threads and the one that looks for newer ones share.
struct Held {
    source: Arc<dyn KeySource>,
    cipher: &'static Cipher,
    mode: PageMode,
    provider: Provider,
    keys: RwLock<Arc<TablespaceKeys>>,
    /// Number of the newest version: asked for at each page that is written.
    current: AtomicU32,
    /// The newest version of which, and of all before it, the directory has the fingerprint;
    /// [`UNRECORDED`] where it cannot have any.
    recorded: AtomicU32,
    data_dir: PathBuf,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("keys", &self.keys()).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Fetches every version of the key that `settings` name, and begins to look for newer ones.
    ///
    /// - `occasion`: the moment of it
    /// - `data_dir`: the server's; at its start, what is there in a mode that is not that of the
    ///   settings is refused, and so is a key that does not open it
    /// - `log`: gets what the administrator should know
    ///
    /// The plug-in counts what it encrypts and decrypts, in a file in `data_dir`.
    ///
    /// # Errors
    /// [`PluginError`] for anything that can be wrong with key, cipher, backend and module. There
    /// is no fallback.
    pub fn start(
        settings: &Settings,
        occasion: Occasion,
        data_dir: &Path,
        log: Arc<Log>,
    ) -> Result<Self, PluginError> {
        let backend = Backend::by_name(settings.accel.as_deref().unwrap_or("auto"))?;
        let named = settings.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
        let module = settings.module.as_deref().map(sealstone_modules::load).transpose()?;
        let passphrase_file = settings.passphrase_file.as_deref();
        let source =
            source::open_unattended(&settings.key, passphrase_file, module).map_err(|error| {
                match error {
                    KeyError::NoPassphrase { path } => PluginError::NoPassphrase { key_file: path },
                    other => other.into(),
                }
            })?;
        let provider = source.provider(backend);
        let mode = settings.pages.unwrap_or_else(|| PageMode::of(provider));
        let looks = occasion == Occasion::ServerStart;
        if looks {
            check_mode(settings, provider, data_dir)?;
        }
        let place = source.describe();
        let cipher = match named {
            // a cipher named explicitly takes precedence
            Some(cipher) => cipher,
            None => {
                source.cipher().ok_or_else(|| PluginError::NoCipher { place: place.clone() })?
            }
        };
        let keys = fetch(&*source, cipher, mode, provider)?;
        let data_dir = std::path::absolute(data_dir)?;
        let record = fingerprints::read(&data_dir);
        if looks && record.as_ref().map_or(true, Fingerprints::is_empty) {
            check_pages(&keys, provider, &data_dir, &place, &*log)?;
        }
        let recorded = match record {
            Ok(found) => check_keys(&found, &keys, &data_dir, &place)?,
            Err(error) => {
                log(Level::Warning, &unrecorded(&error));
                UNRECORDED
            }
        };
        log(Level::Note, &greeting(&keys, provider, &place));
        if let Some(caveat) = cipher.caveat {
            let text = format!("{} is {}: {caveat}", cipher.name, cipher.standing.word());
            log(Level::Warning, &text);
        }
        let name = source.name()?;
        let held = Arc::new(Held {
            source,
            cipher,
            mode,
            provider,
            current: AtomicU32::new(keys.current().number()),
            keys: RwLock::new(Arc::new(keys)),
            recorded: AtomicU32::new(recorded),
            data_dir,
        });
        let (tally, told) = (Arc::<Tally>::default(), Arc::clone(&log));
        let keeper = Keeper::of(&held.data_dir, name, Arc::clone(&tally), move |error| {
            let text = format!("cannot write {}: {error}; counts are missing", counts::NAME);
            told(Level::Warning, &text);
        });
        let (end, ended) = channel();
        let (watched, told, every) = (Arc::clone(&held), Arc::clone(&log), settings.refresh);
        let watcher =
            std::thread::Builder::new().name("sealstone keys".into()).spawn(move || {
                let wait = |every: Duration| ended.recv_timeout(every);
                let mut failed = None;
                while wait(every) == Err(RecvTimeoutError::Timeout) {
                    watched.refresh(&mut failed, &*told);
                }
            })?;
        let (keeper, watcher) = (keeper.ok(), Some(watcher));
        Ok(Self { held, tally, log, _keeper: keeper, end: Some(end), watcher })
    }

    /// Records that the server encrypts under its version `number`, before it does so for the first
    /// time: a start with another key is refused from then on. A record that cannot be written is
    /// reported once, and encryption goes on without it.
    pub(crate) fn encrypts_under(&self, number: u32) {
        let version = ServerVersion::from_number(number).map_or(0, ServerVersion::version);
        if version > self.held.recorded.load(Ordering::Acquire)
            && let Err(error) = self.held.record(version)
        {
            (self.log)(Level::Warning, &unrecorded(&error));
        }
    }

    /// Returns the number of the newest version of the key, as the server counts.
    #[must_use]
    pub fn current(&self) -> u32 {
        self.held.current.load(Ordering::Relaxed)
    }

    /// Returns the counts of pages, records and blocks.
    #[must_use]
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// Returns the keys as they are now.
    #[must_use]
    pub fn keys(&self) -> Arc<TablespaceKeys> {
        Arc::clone(&self.held.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(watcher) = self.watcher.take() {
            // a panic in it was reported when it happened
            let _ = watcher.join();
        }
    }
}

impl Held {
    /// Writes the fingerprints of all versions into the data directory, beside those of versions
    /// that are no more; `version` is the one that is used for the first time.
    fn record(&self, version: u32) -> io::Result<()> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if version <= self.recorded.load(Ordering::Acquire) {
            return Ok(());
        }
        let outcome = self.write_record();
        // what failed is not tried again at each page, nor under each version
        self.recorded.store(outcome.as_ref().map_or(UNRECORDED, |()| version), Ordering::Release);
        outcome
    }

    fn write_record(&self) -> io::Result<()> {
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        let mut all = fingerprints::read(&self.data_dir)?;
        for version in keys.versions() {
            all.insert(version, keys.fingerprint(version).map_err(io::Error::other)?);
        }
        fingerprints::write(&self.data_dir, &all)
    }

    /// Takes up a newer version of the key, if there is one. A source that does not answer is
    /// reported once, in `failed`, and so is its return.
    fn refresh(&self, failed: &mut Option<String>, log: &Log) {
        let newer = || -> Result<Option<TablespaceKeys>, PluginError> {
            let (key, _) = self.source.current()?;
            let held = self.keys.read().unwrap_or_else(PoisonError::into_inner).current();
            (key.version > held.version())
                .then(|| fetch(&*self.source, self.cipher, self.mode, self.provider))
                .transpose()
        };
        match newer() {
            Err(error) => {
                let text = error.to_string();
                if failed.is_none() {
                    let text = format!(
                        "cannot look for newer versions of the key: {text}; the versions that are \
                         known stay in use"
                    );
                    log(Level::Warning, &text);
                }
                *failed = Some(text);
            }
            Ok(newer) => {
                if failed.take().is_some() {
                    log(Level::Note, "newer versions of the key can be looked for again");
                }
                if let Some(keys) = newer {
                    let (current, place) = (keys.current(), self.source.describe());
                    *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
                    self.current.store(current.number(), Ordering::Relaxed);
                    let text = format!(
                        "version {} of the key from {place} is in use now; the server's encryption \
                         threads rewrite what is under older ones",
                        current.version()
                    );
                    log(Level::Note, &text);
                }
            }
        }
    }
}

/// Fetches every version of the key.
fn fetch(
    source: &dyn KeySource,
    cipher: &'static Cipher,
    mode: PageMode,
    provider: Provider,
) -> Result<TablespaceKeys, PluginError> {
    let (current, _) = source.current()?;
    let place = source.describe();
    Ok(TablespaceKeys::new(source.all()?, &current, &place, cipher, mode, provider)?)
}

/// Refuses data in `data_dir` that was last written in another mode, unless the settings ask for
/// the change by name and the other mode can be read: a start that forgot a module would mix modes.
fn check_mode(settings: &Settings, provider: Provider, data_dir: &Path) -> Result<(), PluginError> {
    let dir = || data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
    let [ours, chained] = PageMode::ALL.map(|mode| mode.mode().word());
    let found = written_in(data_dir);
    match provider.module() {
        Some(module) if found.is_some_and(|found| found.needs(PageMode::Hctr2)) => {
            let (dir, module) = (dir(), module.name());
            Err(PluginError::DataOfOurs { dir, found: ours, wanted: chained, module })
        }
        None if settings.pages.is_none()
            && found.is_some_and(|found| found.last == PageMode::CbcCs1) =>
        {
            Err(PluginError::DataOfModule { dir: dir(), found: chained, wanted: ours })
        }
        _ => Ok(()),
    }
}

/// Refuses keys that are not those of the versions that encrypted in `data_dir`, which `found` has,
/// and returns the newest one of these, or 0. An older one may have been retired.
fn check_keys(
    found: &Fingerprints,
    keys: &TablespaceKeys,
    data_dir: &Path,
    place: &str,
) -> Result<u32, PluginError> {
    let Some((newest, _)) = found.last_key_value() else { return Ok(0) };
    for (version, found) in found {
        let own = match keys.fingerprint(*version) {
            Err(TablespaceError::MissingVersion { .. }) if version != newest => continue,
            outcome => outcome?,
        };
        if own != *found {
            let (dir, place) = (data_dir.to_owned(), place.to_owned());
            return Err(PluginError::OtherKey {
                dir,
                version: *version,
                found: *found,
                own,
                place,
            });
        }
    }
    Ok(*newest)
}

/// Refuses keys that open no page of `data_dir`, where no record says whose they are, as in a copy
/// that left it out. With nothing to try them on, as while everything is in the redo log, the log
/// says what another key would look like.
fn check_pages(
    keys: &TablespaceKeys,
    provider: Provider,
    data_dir: &Path,
    place: &str,
    log: &Log,
) -> Result<(), PluginError> {
    match trial::try_on(data_dir, keys, provider)? {
        Trial::Opened => {}
        Trial::Failed { file, version } => {
            let (file, place) = (data_dir.join(file), place.to_owned());
            return Err(PluginError::OtherKeyOfPages { file, version, place });
        }
        Trial::NoPage if written_in(data_dir).is_some() => {
            let text = format!(
                "{} has no {} and no page to try the key on: if the server reports a malformed \
                 record or a corrupted page, check the key from {place} first",
                data_dir.display(),
                fingerprints::NAME
            );
            log(Level::Warning, &text);
        }
        Trial::NoPage => {}
    }
    Ok(())
}

fn unrecorded(error: &io::Error) -> String {
    format!(
        "no record of keys in {}: {error}; another key would not be noticed: let the server write \
         there, or remove what is there, and the next start writes it",
        fingerprints::NAME
    )
}

fn greeting(keys: &TablespaceKeys, provider: Provider, place: &str) -> String {
    let current = keys.current();
    let others: Vec<String> = keys
        .versions()
        .filter(|version| *version != current.version())
        .map(|version| version.to_string())
        .collect();
    let also = match others.as_slice() {
        [] => String::new(),
        [one] => format!("; version {one} opens old data"),
        many => format!("; versions {} open old data", many.join(", ")),
    };
    let by = provider.module().map_or_else(|| provider.name().to_owned(), title);
    format!(
        "encrypting with {} ({by}) in {} under version {} of the key from {place}{also}",
        current.cipher().name,
        current.mode().mode().word(),
        current.version()
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sealstone_keys::KeyFile;

    use super::*;
    use crate::settings::Texts;

    fn start(key: &Path, data_dir: &Path) -> Result<Plugin, PluginError> {
        start_telling(Occasion::ServerStart, key, data_dir, |_| {})
    }

    /// Starts the plug-in; `told` gets what it reports.
    fn start_telling(
        occasion: Occasion,
        key: &Path,
        data_dir: &Path,
        told: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Plugin, PluginError> {
        let texts = Texts { key: key.to_str().unwrap(), cipher: "aria-256", ..Texts::default() };
        let log = move |_: Level, text: &str| told(text);
        let settings = Settings::new(texts, 60).unwrap();
        Plugin::start(&settings, occasion, data_dir, Arc::new(log))
    }

    #[test]
    fn keys_are_those_that_encrypted_in_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let (key, data_dir) = (at("orders.key"), at("data"));
        fs::create_dir(&data_dir).unwrap();
        for name in ["orders.key", "other.key"] {
            KeyFile::create(at(name), "orders").unwrap();
        }
        let is_refused = |name: &str| {
            let error = start(&at(name), &data_dir).unwrap_err();
            match error {
                PluginError::OtherKey { version: 1, .. } => "another key",
                PluginError::Unit(TablespaceError::MissingVersion { wanted: 2, .. }) => "missing",
                other => panic!("{other}"),
            }
        };
        // nothing was encrypted yet
        drop(start(&at("other.key"), &data_dir).unwrap());
        let plugin = start(&key, &data_dir).unwrap();
        plugin.encrypts_under(plugin.current());
        drop(plugin);
        assert_eq!(is_refused("other.key"), "another key");

        fs::copy(&key, at("older.key")).unwrap();
        KeyFile::open(&key).unwrap().rotate().unwrap();
        drop(start(&at("older.key"), &data_dir).unwrap());
        let plugin = start(&key, &data_dir).unwrap();
        plugin.encrypts_under(plugin.current());
        drop(plugin);
        assert_eq!(fingerprints::read(&data_dir).unwrap().len(), 2);
        assert_eq!(is_refused("older.key"), "missing");
        assert_eq!(is_refused("other.key"), "another key");
        // an older version may be gone
        KeyFile::open(&key).unwrap().retire(1).unwrap();
        let plugin = start(&key, &data_dir).unwrap();
        // and a number of another plug-in is none of ours
        plugin.encrypts_under(1);
        assert_eq!(fingerprints::read(&data_dir).unwrap().len(), 2);
        drop(plugin);
        // where there can be no record, that is reported once: when it is read, or when written
        let record = data_dir.join(fingerprints::NAME);
        fs::remove_file(&record).unwrap();
        fs::create_dir(&record).unwrap();
        assert_eq!(unrecorded(&key, &data_dir, || {}), 1);
        fs::remove_dir(&record).unwrap();
        assert_eq!(unrecorded(&key, &data_dir, || fs::remove_dir_all(&data_dir).unwrap()), 1);
    }

    #[test]
    fn a_key_that_cannot_be_tried_is_the_first_thing_to_check() {
        let home = tempfile::tempdir().unwrap();
        let (key, data_dir) = (home.path().join("orders.key"), home.path().join("data"));
        fs::create_dir(&data_dir).unwrap();
        KeyFile::create(&key, "orders").unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let warnings = |occasion| {
            let told = Arc::clone(&said);
            let plugin = start_telling(occasion, &key, &data_dir, move |text| {
                told.lock().unwrap().push(text.to_owned());
            });
            drop(plugin.unwrap());
            let said = std::mem::take(&mut *said.lock().unwrap());
            said.into_iter().filter(|text| text.contains(" no page to try the key on: ")).count()
        };
        assert_eq!(warnings(Occasion::ServerStart), 0, "nothing is there");
        // a redo log under version 1 of aria-256
        let mut redo = vec![0; 12288];
        redo[48..56].copy_from_slice(&[0, 0, 0, 1, 0, 0, 1, 4]);
        fs::write(data_dir.join("ib_logfile0"), redo).unwrap();
        assert_eq!(warnings(Occasion::ServerStart), 1);
        // a running server has its files locked, and they are not looked at
        assert_eq!(warnings(Occasion::Install), 0);
    }

    /// Returns how often a server that encrypts under two versions is told that there is no record;
    /// `before` happens between its start and that.
    fn unrecorded(key: &Path, data_dir: &Path, before: impl FnOnce()) -> usize {
        let said = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&said);
        let plugin = start_telling(Occasion::ServerStart, key, data_dir, move |text| {
            told.lock().unwrap().push(text.to_owned());
        });
        let plugin = plugin.unwrap();
        before();
        for number in [1 << 8 | 4, plugin.current()] {
            plugin.encrypts_under(number);
        }
        let said = said.lock().unwrap();
        said.iter().filter(|text| text.starts_with("no record of keys in ")).count()
    }
}
