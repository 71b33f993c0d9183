//! A toy engine at rest: each of its files, `NAME.toy`, is sealed as a whole.

use std::fs;
use std::path::Path;

use sealstone_seal::{SealError, inspect};
use sealstone_store::EngineError;
use sealstone_stores::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer, Wanted};

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
        None
    }
}
