//! `sealstone volume unit`: a unit for systemd that mounts a volume before a database starts.

use std::path::Path;

use anyhow::{Context, bail};
use sealstone_keys::source;
use sealstone_message::without_secrets;

use crate::flags::SealedStore;
use crate::message::{Answer, print};
use crate::path::quoted;

/// Prints the unit.
pub(super) fn run(
    store: &SealedStore,
    anchor: Option<&Path>,
    path: &Path,
) -> anyhow::Result<Answer> {
    refuse_secrets(store, anchor, path)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    // systemd reads quotes as a shell does, and % as the beginning of a name of its own
    let quoted = |path: &Path| quoted(path).replace('%', "%%");
    let absolute = |path: &Path| std::path::absolute(path).map(|path| quoted(&path));
    let (program, dir, at) = (quoted(&program), absolute(&store.dir)?, absolute(path)?);
    let key = sealstone_keys::absolute_source(&store.key)?;
    let mut flags = format!("--key {}", quoted(Path::new(&key)));
    if let Some(file) = &store.opening.passphrase_file {
        flags.push_str(&format!(" --passphrase-file {}", absolute(file)?));
    }
    if let Some(module) = &store.opening.module.module {
        let module = sealstone_modules::absolute_name(module)?;
        flags.push_str(&format!(" --module {}", quoted(Path::new(&module))));
    }
    if let Some(anchor) = anchor {
        // a file is made absolute as a key's path is; an address stays
        let anchor = match anchor.to_str().filter(|anchor| source::is_kmip(anchor)) {
            Some(address) => quoted(Path::new(&sealstone_keys::absolute_source(address)?)),
            None => absolute(anchor)?,
        };
        flags.push_str(&format!(" --anchor {anchor}"));
    }
    print(&format!(
        "\
# install: sealstone volume unit ... > /etc/systemd/system/sealstone-volume.service
#          systemctl enable --now sealstone-volume
# A database on it says: BindsTo=sealstone-volume.service, and After=sealstone-volume.service
[Unit]
Description=Sealed volume at {at}
After=network-online.target local-fs.target
Wants=network-online.target

[Service]
Type=forking
ExecStart={program} volume mount {dir} {at} {flags}
ExecStop={program} volume unmount {at}
TimeoutStopSec=300
LimitMEMLOCK=64M

[Install]
WantedBy=multi-user.target
"
    ))?;
    Ok(Answer::Done)
}

/// Refuses the address of a server that may have a password in it: everybody can read a unit.
fn refuse_secrets(store: &SealedStore, anchor: Option<&Path>, path: &Path) -> anyhow::Result<()> {
    let passphrase_file = store.opening.passphrase_file.as_deref();
    let paths = [Some(store.dir.as_path()), passphrase_file, anchor, Some(path)];
    let paths = paths.into_iter().flatten().map(|path| path.to_string_lossy().into_owned());
    let names = [Some(store.key.clone()), store.opening.module.module.clone()];
    let named = paths.chain(names.into_iter().flatten());
    match named.into_iter().find(|value| without_secrets(value) != *value) {
        Some(value) => bail!(
            "cannot put {} into a unit, which everybody can read: it may be the address of a \
             server with a password\nname a file",
            without_secrets(&value)
        ),
        None => Ok(()),
    }
}
