//! TCP's congestion control at the ends of a link, by the kernel's names: each network namespace
//! has its own, and a new namespace has the machine's. Throughput depends on it.

use std::fs;

use super::{Links, Namespace};
use crate::error::WireError;

/// File with the congestion control that TCP uses in the namespace of the process that reads or
/// writes it.
const IN_USE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// File with the congestion controls that this kernel has.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// File with the congestion controls that may be used in namespaces other than the machine's first.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

fn names(file: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the congestion control called `name`, as the kernel calls it, if network namespaces can
/// have it on this machine.
///
/// # Errors
/// [`WireError::UnknownCongestion`] with the existing algorithms,
/// [`WireError::CongestionNotAllowed`].
pub fn congestion_called(name: &str) -> Result<String, WireError> {
    let available = names(AVAILABLE);
    let Some(known) = available.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
        return Err(WireError::UnknownCongestion {
            name: name.to_owned(),
            available: available.join(", "),
        });
    };
    let allowed = names(ALLOWED);
    match allowed.contains(known) {
        true => Ok(known.clone()),
        false => {
            Err(WireError::CongestionNotAllowed { name: known.clone(), allowed: allowed.join(" ") })
        }
    }
}

impl Namespace {
    fn congestion(&self) -> Result<String, WireError> {
        let failed = |found| WireError::Congestion { attempted: "read", found };
        self.run(|| fs::read_to_string(IN_USE).map(|name| name.trim().to_owned()).map_err(failed))
    }
}

impl Links {
    /// Returns the congestion control that TCP uses at each end.
    ///
    /// # Errors
    /// [`WireError::Congestion`], [`WireError::NoNamespaces`].
    pub fn congestion(&self) -> Result<[String; 2], WireError> {
        Ok([self.ends[0].congestion()?, self.ends[1].congestion()?])
    }

    /// Has TCP use `name` at both ends, for connections from now on.
    ///
    /// # Errors
    /// As [`congestion_called`]; [`WireError::Congestion`], [`WireError::NoNamespaces`].
    pub fn set_congestion(&self, name: &str) -> Result<(), WireError> {
        let name = congestion_called(name)?;
        let failed = |found| WireError::Congestion { attempted: "set", found };
        self.ends.iter().try_for_each(|end| end.run(|| fs::write(IN_USE, &name).map_err(failed)))
    }
}
