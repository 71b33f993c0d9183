//! A toy engine at rest, which is a server: each of its files, `NAME.toy`, is sealed as a whole by
//! a library that the server would load.

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_seal::account::{Account, Content, FileAccount, Share, Standing};
use sealstone_seal::{SealError, inspect};
use sealstone_store::EngineError;
use sealstone_stores::at_rest::{
    AtRest, AtRestError, Found, Need, Renewal, SealedServer, Sealing, Wanted,
};

/// The row of the toy.
pub(crate) static TOY: ToyAtRest = ToyAtRest;

/// The toy's files.
#[derive(Debug)]
pub(crate) struct ToyAtRest;

/// Returns the names of the toy's files in `dir`, in order.
fn files(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(dir)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".toy"))
        .collect();
    names.sort();
    Ok(names)
}

impl AtRest for ToyAtRest {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn product(&self) -> &'static str {
        "Toy"
    }

    fn owns(&self, dir: &Path) -> bool {
        files(dir).is_ok_and(|names| !names.is_empty())
    }

    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError> {
        let unread = |error: std::io::Error| AtRestError::Unread(EngineError::from(error));
        let (mut sealed_files, mut under, mut unknown) = (0, Vec::new(), None);
        for file in files(dir).map_err(unread)? {
            match inspect(&fs::read(dir.join(&file)).map_err(unread)?) {
                Ok(info) => {
                    sealed_files += 1;
                    under.extend((info.key == *wanted.key).then_some(file));
                }
                Err(SealError::NotSealed) => {}
                Err(error) => unknown = Some(Found::Unread { file, why: error.to_string() }),
            }
        }
        let count = under.len() as u64;
        let first = under.into_iter().next();
        let under = first.map(|example| Found::Under { count, unit: "file", example });
        Ok(Need { sealed_files, found: under.or(unknown).unwrap_or(Found::Nothing) })
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrite("copy each file")
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        Some(self)
    }
}

impl SealedServer for ToyAtRest {
    fn server_name(&self) -> &'static str {
        "toyd"
    }

    fn data_dir_option(&self) -> (&'static str, &'static str) {
        ("data", "/var/lib/toy")
    }

    /// Returns true: a file is opened whole or not at all.
    fn notices_changes(&self) -> bool {
        true
    }

    fn data_dir_help(&self) -> &'static str {
        "The data directory; it must be empty"
    }

    fn find_library(&self, named: Option<&Path>) -> Result<PathBuf, EngineError> {
        sealstone_file::library::find("libsealstone_toy.so", self.library_variable(), named)
            .map_err(|looked| format!("no library {looked}\nname it").into())
    }

    fn library_variable(&self) -> &'static str {
        "SEALSTONE_TOY_LIBRARY"
    }

    fn settings(&self, sealing: &Sealing) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(vec![("seal", line(sealing)?)])
    }

    fn formats(&self) -> &'static [(&'static str, &'static str)] {
        &[("options", "For the command line")]
    }

    fn options(
        &self,
        sealing: &Sealing,
        data_dir: &Path,
        _format: &str,
    ) -> Result<String, EngineError> {
        Ok(format!("--data={} --seal={}\n", data_dir.display(), line(sealing)?))
    }

    fn account(&self, dir: &Path) -> Result<Account, EngineError> {
        let mut account = Account::new(dir, None, &[]);
        for name in files(dir)? {
            let content = fs::read(dir.join(&name))?;
            account.add(file(name, &content));
        }
        match account.files.is_empty() {
            true => Err(format!("{}: no directory of a toy", dir.display()).into()),
            false => Ok(account),
        }
    }

    fn conversion(&self) -> &'static str {
        "the toy reads no file in the clear: load its data again"
    }
}

/// Returns the settings in the toy's own notation, which has no room for a comma or a line end.
fn line(sealing: &Sealing) -> Result<String, EngineError> {
    let library = sealing.library.display().to_string();
    let cipher = sealing.cipher.map_or("", |cipher| cipher.name);
    let is_held = |text: &&str| !text.contains([',', '\n']);
    match [&*library, &sealing.key, &sealing.key_id].into_iter().find(|text| !is_held(text)) {
        Some(text) => Err(format!("the toy's settings cannot hold {text:?}").into()),
        None => Ok(format!("{library},{},{},{cipher}", sealing.key, sealing.key_id)),
    }
}

/// Returns the account of the file `name` with `content`.
fn file(name: String, content: &[u8]) -> FileAccount {
    let bytes = content.len() as u64;
    let mut account = FileAccount {
        name,
        bytes,
        content: Content::Data,
        standing: Standing::Sealed,
        sealed: Vec::new(),
        clear_blocks: 0,
        clear_bytes: 0,
        other_blocks: 0,
        other: None,
        unread: None,
        holds: None,
        remedy: None,
    };
    match inspect(content) {
        Ok(info) => account.sealed.push(Share {
            cipher: info.cipher,
            mode: info.cipher.mode,
            key_version: info.key.version,
            fingerprint: String::new(),
            blocks: 1,
            bytes,
        }),
        Err(SealError::NotSealed) => {
            account.standing = Standing::Clear;
            (account.clear_blocks, account.clear_bytes) = (1, bytes);
        }
        Err(error) => {
            account.standing = Standing::Clear;
            (account.other_blocks, account.other) = (1, Some(error.to_string()));
        }
    }
    account
}
