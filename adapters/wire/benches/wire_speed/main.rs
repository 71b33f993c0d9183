//! One TCP stream over a link between two namespaces: without encryption, through strongSwan in
//! user space, and through our path, in interleaved rounds. Prints a table of Mbit/s and of CPU
//! seconds a gigabyte, of both ends together.
//!
//! Usage: `wire_speed [rounds=5] [seconds=3] [links=unlimited,1000] [suites=…]
//! [arms=none,strongswan,sealstone]`, as root or, without strongSwan, within `unshare -Urn`. A
//! quiet machine, as for every figure.

mod arm;
mod cpu;
mod stream;
mod table;

use std::error::Error;
use std::time::Duration;

use sealstone_seal::esp::{Suite, suite};
use sealstone_wire::links::{Link, Links, link, remove_orphans};
use sealstone_wire::path::strongswan;

use self::arm::Arm;
use self::table::{Cell, Sample};

/// The study's suites, and the suites that a store would take today.
const SUITES: &str = "null,3des-md5,3des-sha1,blowfish-md5,blowfish-sha1,aes-128-md5,aes-128-sha1,\
                      aes-256-sha256,aes-128-gcm,aes-256-gcm,aria-256-gcm,lea-256-gcm";

struct Settings {
    rounds: usize,
    stretch: Duration,
    links: Vec<&'static Link>,
    suites: Vec<&'static Suite>,
    arms: Vec<Arm>,
}

fn settings() -> Result<Settings, Box<dyn Error>> {
    let mut given = [
        ("rounds", "5"),
        ("seconds", "3"),
        ("links", "unlimited,1000"),
        ("suites", SUITES),
        ("arms", "none,strongswan,sealstone"),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        let (name, value) =
            argument.split_once('=').ok_or(format!("{argument}: not of the form name=value"))?;
        let place = given
            .iter_mut()
            .find(|(known, _)| *known == name)
            .ok_or(format!("unknown setting {name:?}"))?;
        place.1 = value.to_owned();
    }
    let [rounds, seconds, links, suites, arms] = given.map(|(_, value)| value);
    let arms = arms.split(',').map(|name| Arm::named(name).ok_or(format!("unknown arm {name:?}")));
    Ok(Settings {
        rounds: rounds.parse()?,
        stretch: Duration::from_secs_f64(seconds.parse()?),
        links: links
            .split(',')
            .map(|name| link(name).ok_or(format!("unknown link {name:?}")))
            .collect::<Result<_, _>>()?,
        suites: suites.split(',').map(suite).collect::<Result<_, _>>()?,
        arms: arms.collect::<Result<_, _>>()?,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = settings()?;
    remove_orphans();
    if settings.arms.contains(&Arm::StrongSwan) && !strongswan::is_installed() {
        return Err("strongSwan is not installed; install it: make setup-strongswan".into());
    }
    println!("{}\n", table::machine());
    for link in &settings.links {
        let mut cells: Vec<Cell> = Vec::new();
        for round in 0..settings.rounds {
            for (arm, suite) in plan(&settings) {
                eprintln!(
                    "link {} round {} of {}: {arm:?} {}",
                    link.name,
                    round + 1,
                    settings.rounds,
                    named(suite)
                );
                let sample = measure(link, arm, suite, settings.stretch)?;
                match cells.iter_mut().find(|cell| (cell.arm, cell.suite) == (arm, suite)) {
                    Some(cell) => cell.samples.push(sample),
                    None => cells.push(Cell { arm, suite, samples: vec![sample] }),
                }
            }
        }
        println!("{}", table::of_link(link, &cells));
    }
    Ok(())
}

fn named(suite: Option<&Suite>) -> &'static str {
    suite.map_or("", |suite| suite.name)
}

/// Lists the measurements of one round, in their order.
fn plan(settings: &Settings) -> Vec<(Arm, Option<&'static Suite>)> {
    let has = |arm: &Arm| settings.arms.contains(arm);
    let mut plan: Vec<_> = [Arm::None].into_iter().filter(has).map(|arm| (arm, None)).collect();
    for suite in &settings.suites {
        let arms = [Arm::StrongSwan, Arm::Sealstone].into_iter().filter(has);
        plan.extend(arms.filter(|arm| arm.carries(suite)).map(|arm| (arm, Some(*suite))));
    }
    plan
}

fn measure(
    link: &Link,
    arm: Arm,
    suite: Option<&'static Suite>,
    stretch: Duration,
) -> Result<Sample, Box<dyn Error>> {
    let links = Links::new(link)?;
    let carried = arm.start(&links, suite)?;
    let sample = stream::measure(&links, carried.addresses, stretch, &carried.processes)?;
    if let Some(trouble) = arm::trouble(&carried) {
        eprintln!("{trouble}");
    }
    Ok(sample)
}
