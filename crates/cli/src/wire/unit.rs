//! `sealstone wire unit`: a unit for systemd, with no more rights than a tunnel takes.

use std::path::Path;

use anyhow::Context;

use crate::message::{Answer, print};
use crate::path::quoted;

/// Prints the unit for the configuration `config`.
pub(crate) fn run(config: &Path) -> anyhow::Result<Answer> {
    let program = std::env::current_exe().context("cannot find this program")?;
    print(&unit(&program, config))?;
    Ok(Answer::Done)
}

fn unit(program: &Path, config: &Path) -> String {
    let (program, config) = (quoted(program), quoted(config));
    format!(
        "\
# {config}: key, peer, address; see docs/guide/wire.md
# install: sealstone wire unit > /etc/systemd/system/sealstone-wire.service
#          systemctl enable --now sealstone-wire
[Unit]
Description=Sealstone tunnel of sealed packets
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={program} wire up --config {config} --foreground
Restart=always
RestartSec=1
RuntimeDirectory=sealstone
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=restart
StateDirectory=sealstone
StateDirectoryMode=0700
LimitMEMLOCK=64M
CapabilityBoundingSet=CAP_NET_ADMIN CAP_IPC_LOCK
AmbientCapabilities=CAP_NET_ADMIN CAP_IPC_LOCK
NoNewPrivileges=yes
DevicePolicy=closed
DeviceAllow=/dev/net/tun rw
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_names_program_and_configuration() {
        let text = unit(Path::new("/usr/bin/sealstone"), Path::new("/etc/my wire.toml"));
        let start = "ExecStart=/usr/bin/sealstone wire up --config '/etc/my wire.toml' --foreground\n";
        assert!(text.contains(start), "{text}");
        for section in ["[Unit]", "[Service]", "[Install]"] {
            assert_eq!(text.lines().filter(|line| *line == section).count(), 1);
        }
    }
}
