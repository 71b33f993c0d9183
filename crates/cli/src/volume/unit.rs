//! `sealstone volume unit`: a unit for systemd that mounts a volume before a database starts.

use std::path::Path;

use anyhow::Context;

use crate::flags::SealedStore;
use crate::message::{Answer, print};
use crate::path::quoted;

/// Prints the unit.
pub(super) fn run(store: &SealedStore, path: &Path) -> anyhow::Result<Answer> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let absolute = |path: &Path| std::path::absolute(path).map(|path| quoted(&path));
    let (program, dir, at) = (quoted(&program), absolute(&store.dir)?, absolute(path)?);
    let key = sealstone_keys::absolute_source(&store.key)?;
    let mut flags = format!("--key {}", quoted(Path::new(&key)));
    if let Some(file) = &store.passphrase.passphrase_file {
        flags.push_str(&format!(" --passphrase-file {}", absolute(file)?));
    }
    print(&format!(
        "\
# install: sealstone volume unit ... > /etc/systemd/system/sealstone-volume.service
#          systemctl enable --now sealstone-volume
# A database on it says: RequiresMountsFor={at}, and After=sealstone-volume.service
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
