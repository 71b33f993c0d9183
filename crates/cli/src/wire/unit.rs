//! `sealstone wire unit`: a unit for systemd, with no more rights than a tunnel takes.

use std::path::Path;

use anyhow::Context;

use crate::message::{Answer, print};
use crate::path::quoted;

/// Rights of the system that no unit here needs, taken away.
const HARDENING: &str = "\
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
SystemCallFilter=@system-service";

/// Prints the unit for the configuration `config`, or that of its guard.
pub(crate) fn run(config: &Path, guard: bool) -> anyhow::Result<Answer> {
    let program = std::env::current_exe().context("cannot find this program")?;
    print(&if guard { guard_unit(&program, config) } else { unit(&program, config) })?;
    Ok(Answer::Done)
}

fn unit(program: &Path, config: &Path) -> String {
    let (program, config) = (quoted(program), quoted(config));
    format!(
        "\
# {config}: key, peer, address; see docs/guide/wire.md
# install: sealstone wire unit > /etc/systemd/system/sealstone-wire.service
#          sealstone wire unit --guard > /etc/systemd/system/sealstone-wire-guard.service
#          systemctl enable --now sealstone-wire-guard sealstone-wire
# Nothing goes to the tunnel's networks while it is not up, also after this service was stopped, until somebody says
#          sealstone wire down --remove-guard
[Unit]
Description=Sealstone tunnel of sealed packets
After=network-online.target sealstone-wire-guard.service
Wants=network-online.target sealstone-wire-guard.service

[Service]
ExecStartPre={program} wire guard --config {config}
ExecStart={program} wire up --config {config} --foreground
Restart=always
RestartSec=1
RuntimeDirectory=sealstone
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
StateDirectory=sealstone
StateDirectoryMode=0700
LimitMEMLOCK=64M
CapabilityBoundingSet=CAP_NET_ADMIN CAP_IPC_LOCK
AmbientCapabilities=CAP_NET_ADMIN CAP_IPC_LOCK
NoNewPrivileges=yes
DevicePolicy=closed
DeviceAllow=/dev/net/tun rw
{HARDENING}

[Install]
WantedBy=multi-user.target
"
    )
}

/// Returns the unit of the guard: it runs before anything can be sent, and waits for nothing, not
/// even keys.
fn guard_unit(program: &Path, config: &Path) -> String {
    let (program, config) = (quoted(program), quoted(config));
    format!(
        "\
# {config}: address, route; see docs/guide/wire.md
# install: sealstone wire unit --guard > /etc/systemd/system/sealstone-wire-guard.service
#          systemctl enable --now sealstone-wire-guard
[Unit]
Description=Guard of a Sealstone tunnel: nothing goes to its networks but through it
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={program} wire guard --config {config}
RuntimeDirectory=sealstone
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
CapabilityBoundingSet=CAP_NET_ADMIN
AmbientCapabilities=CAP_NET_ADMIN
NoNewPrivileges=yes
PrivateDevices=yes
{HARDENING}

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
        let start =
            "ExecStart=/usr/bin/sealstone wire up --config '/etc/my wire.toml' --foreground\n";
        assert!(text.contains(start), "{text}");
        let guard = guard_unit(Path::new("/usr/bin/sealstone"), Path::new("/etc/my wire.toml"));
        let sets_up = "/usr/bin/sealstone wire guard --config '/etc/my wire.toml'\n";
        assert!(
            text.contains(&format!("ExecStartPre={sets_up}"))
                && guard.contains(&format!("ExecStart={sets_up}"))
        );
        for text in [text, guard] {
            for section in ["[Unit]", "[Service]", "[Install]"] {
                assert_eq!(text.lines().filter(|line| *line == section).count(), 1);
            }
        }
    }
}
