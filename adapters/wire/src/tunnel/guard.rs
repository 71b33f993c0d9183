//! Entries that stay in the kernel's tables when a tunnel is gone, however it ended, so that no
//! packet takes another route in the meantime:
//!
//! - for each network behind the tunnel an `unreachable` route, which applies where the tunnel's
//!   own route is missing;
//! - for each address of this end rules by which packets to it come from the tunnel or this
//!   machine, or not at all: Linux takes packets to any of its addresses from any device.
//!
//! It is set up by `ip`, in the network namespace of the calling thread. Not here: the list of
//! guards (`guards`).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::error::WireError;
use crate::net::Net;
use crate::path::tunnel_metric;
use crate::program;

/// Mark of our routes and rules: a number that no protocol for routes has.
const PROTOCOL: &str = "183";
/// Number of times that rules which others keep changing are put in order again.
const TRIES: usize = 3;

/// Guard that keeps the packets of one tunnel from other ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The tunnel's device.
    pub device: String,
    /// Networks behind the tunnel, including the networks of its addresses.
    pub networks: Vec<Net>,
    /// Addresses of this end within the tunnel.
    pub addresses: Vec<Net>,
}

fn metric(address: IpAddr) -> String {
    (tunnel_metric(address) + 1).to_string()
}

/// Checks that no device but `own` has the address.
///
/// # Errors
/// [`WireError::AddressTaken`].
pub(crate) fn check_address(net: Net, own: &str) -> Result<(), WireError> {
    let found =
        program::output("ip", &["-oneline", "address", "show", "to", &net.address.to_string()])?;
    match found
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .find(|device| *device != own)
    {
        None => Ok(()),
        Some(device) => Err(WireError::AddressTaken { address: net, device: device.to_owned() }),
    }
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "-6" } else { "-4" }
}

impl Guard {
    /// Makes the guard of a tunnel with these settings.
    #[must_use]
    pub(crate) fn new(device: &str, addresses: &[Net], routes: &[Net]) -> Self {
        let mut networks: Vec<Net> = Vec::new();
        for network in routes.iter().chain(addresses).map(|net| net.network()) {
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        Self { device: device.to_owned(), networks, addresses: addresses.to_vec() }
    }

    /// Its networks, as a person reads them.
    #[must_use]
    pub fn listed(&self) -> String {
        self.networks.iter().map(Net::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Sets up its missing parts. Returns, in words, the parts that a kernel without rules for
    /// routes lacks.
    ///
    /// # Errors
    /// [`WireError::AddressTaken`]: its rules would cut another device off; [`WireError::Command`]:
    /// somebody else's route is in the way, or this process may not.
    pub fn set_up(&self) -> Result<Option<String>, WireError> {
        self.addresses.iter().try_for_each(|net| check_address(*net, &self.device))?;
        for network in &self.networks {
            if route(network)?.is_none() {
                let [to, metric] = [network.to_string(), metric(network.address)];
                let add = [
                    family(network.address),
                    "route",
                    "add",
                    "unreachable",
                    &to,
                    "metric",
                    &metric,
                ];
                program::run("ip", &[&add[..], &["proto", PROTOCOL]].concat())?;
            }
        }
        let without = self.addresses.iter().find_map(|net| self.set_up_rules(net.address).err());
        Ok(without.map(|error| {
            let addresses = self
                .addresses
                .iter()
                .map(|net| net.address.to_string())
                .collect::<Vec<_>>()
                .join(", ");
            format!(
                "packets to {addresses} are taken from the bare link, too: {error}\nhave a \
                 firewall drop those that do not come by device {} or lo",
                self.device
            )
        }))
    }

    fn set_up_rules(&self, address: IpAddr) -> Result<(), WireError> {
        let family = family(address);
        for _ in 0..TRIES {
            let rules = Rules::read(family)?;
            if rules.guard(self, address) {
                return Ok(());
            }
            rules.put_local_behind(family)?;
            // the last one first, so that packets of the tunnel are never dropped in the meantime
            for rule in rules.of(address).rev() {
                remove_rule(family, &rule.words)?;
            }
            for rule in self.rules(address) {
                add_rule(family, &rule.iter().map(String::as_str).collect::<Vec<_>>(), PROTOCOL)?;
            }
        }
        let found = "others change the rules, too".to_owned();
        Err(WireError::Command {
            command: format!("ip {family} rule"),
            found,
            next: "see them: ip rule; try again",
        })
    }

    /// Returns the rules for `address`, in their order.
    fn rules(&self, address: IpAddr) -> [Vec<String>; 3] {
        let address = address.to_string();
        [&format!("iif {} lookup local", self.device), "iif lo lookup local", "blackhole"].map(
            |rest| {
                let words = ["from", "all", "to", &address].into_iter().chain(rest.split(' '));
                words.map(str::to_owned).collect()
            },
        )
    }

    /// Describes the parts now missing from the guard.
    ///
    /// # Errors
    /// [`WireError::Command`].
    pub fn missing(&self) -> Result<Vec<String>, WireError> {
        let mut missing = Vec::new();
        for network in &self.networks {
            if route(network)?.is_none() {
                missing.push(format!("route unreachable {network}"));
            }
        }
        for address in self.addresses.iter().map(|net| net.address) {
            if !Rules::read(family(address)).is_ok_and(|rules| rules.guard(self, address)) {
                missing.push(format!("rules for {address}"));
            }
        }
        Ok(missing)
    }

    /// Removes its existing parts, except parts that one of `others` needs as well.
    ///
    /// # Errors
    /// [`WireError::Command`].
    pub fn remove(&self, others: &[Self]) -> Result<(), WireError> {
        for network in &self.networks {
            if !others.iter().any(|other| other.networks.contains(network))
                && route(network)?.is_some_and(|is_ours| is_ours)
            {
                let [to, metric] = [network.to_string(), metric(network.address)];
                let delete = [
                    family(network.address),
                    "route",
                    "del",
                    "unreachable",
                    &to,
                    "metric",
                    &metric,
                ];
                program::run("ip", &[&delete[..], &["proto", PROTOCOL]].concat())?;
            }
        }
        let has = |other: &Self, address| other.addresses.iter().any(|net| net.address == address);
        for address in self.addresses.iter().map(|net| net.address) {
            if others.iter().any(|other| has(other, address)) {
                continue;
            }
            let family = family(address);
            // where there are no rules, none were set up
            let Ok(rules) = Rules::read(family) else { continue };
            for rule in rules.of(address).rev() {
                remove_rule(family, &rule.words)?;
            }
            Rules::read(family)?.put_local_back(family)?;
        }
        Ok(())
    }
}

/// Returns whether a route blocks all of `network`, and whether that route is ours.
fn route(network: &Net) -> Result<Option<bool>, WireError> {
    let shown = program::output(
        "ip",
        &[family(network.address), "route", "show", "exact", &network.to_string()],
    )?;
    let metric = metric(network.address);
    Ok(shown.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let has = |word, value| words.windows(2).any(|pair| pair == [word, value]);
        (words.first() == Some(&"unreachable") && has("metric", &metric))
            .then(|| has("proto", PROTOCOL))
    }))
}

/// A rule of `ip rule`: its preference, and the rest of its line without the kernel's additions.
struct Rule {
    preference: u32,
    words: Vec<String>,
    is_ours: bool,
}

impl Rule {
    fn read(line: &str) -> Option<Self> {
        let (preference, rest) = line.split_once(':')?;
        let mut words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        // the device is not there
        words.retain(|word| word != "[detached]");
        let is_ours = words.ends_with(&["proto".to_owned(), PROTOCOL.to_owned()]);
        if let Some(at) = words.iter().position(|word| word == "proto") {
            words.truncate(at);
        }
        Some(Self { preference: preference.trim().parse().ok()?, words, is_ours })
    }

    /// Returns whether the rule is the kernel's own, by which packets to any address of this
    /// machine are for it.
    fn is_local(&self) -> bool {
        self.words == ["from", "all", "lookup", "local"]
    }
}

struct Rules(Vec<Rule>);

impl Rules {
    fn read(family: &str) -> Result<Self, WireError> {
        Ok(Self(
            program::output("ip", &[family, "rule", "show"])?
                .lines()
                .filter_map(Rule::read)
                .collect(),
        ))
    }

    /// Ours for `address`.
    fn of(&self, address: IpAddr) -> impl DoubleEndedIterator<Item = &Rule> {
        let address = address.to_string();
        let is_of = move |rule: &&Rule| rule.is_ours && rule.words.get(3) == Some(&address);
        self.0.iter().filter(is_of)
    }

    /// Returns whether the rules of `guard` for `address` are there, in their order, before the
    /// kernel's own rule.
    fn guard(&self, guard: &Guard, address: IpAddr) -> bool {
        let stands_first =
            self.0.iter().position(Rule::is_local).is_none_or(|at| self.0[at].preference > 0);
        stands_first && self.of(address).map(|rule| &rule.words).eq(guard.rules(address).iter())
    }

    /// Puts the kernel's own rule behind the rules with preference 0. It exists at any moment.
    fn put_local_behind(&self, family: &str) -> Result<(), WireError> {
        let local: Vec<&Rule> = self.0.iter().filter(|rule| rule.is_local()).collect();
        if !local.is_empty() && local.iter().all(|rule| rule.preference == 0) {
            add(family, "1", &["lookup", "local"], "kernel")?;
        }
        if local.iter().any(|rule| rule.preference == 0) {
            remove_rule(family, &["lookup", "local"])?;
        }
        Ok(())
    }

    /// Puts it back before all others, once none of ours is there.
    fn put_local_back(&self, family: &str) -> Result<(), WireError> {
        let at_1 = self.0.iter().any(|rule| rule.is_local() && rule.preference == 1);
        if at_1 && self.0.iter().all(|rule| rule.preference > 0) {
            add(family, "0", &["lookup", "local"], "kernel")?;
            program::run("ip", &[family, "rule", "del", "pref", "1", "lookup", "local"])?;
        }
        Ok(())
    }
}

fn add_rule(family: &str, words: &[&str], protocol: &str) -> Result<(), WireError> {
    add(family, "0", words, protocol)
}

/// Adds a rule; one that is there already is none too many.
fn add(family: &str, preference: &str, words: &[&str], protocol: &str) -> Result<(), WireError> {
    let arguments =
        [&[family, "rule", "add", "pref", preference][..], words, &["protocol", protocol]].concat();
    match program::run("ip", &arguments) {
        Err(WireError::Command { found, .. }) if found.contains("File exists") => Ok(()),
        done => done,
    }
}

/// Removes a rule before all others; one that is not there is gone already.
fn remove_rule(family: &str, words: &[impl AsRef<str>]) -> Result<(), WireError> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match program::run("ip", &[&[family, "rule", "del", "pref", "0"][..], &words].concat()) {
        Err(WireError::Command { found, .. }) if found.contains("No such file or directory") => {
            Ok(())
        }
        done => done,
    }
}
