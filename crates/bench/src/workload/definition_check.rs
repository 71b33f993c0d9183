//! Rules for the values of a workload's definition.

use std::fmt::Display;

use super::definition::{Definition, Fields, Pause, RequestDistribution, Requests, Scans, Spread};
use super::setting::Setting;

/// A value that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} is {found}: {allowed}")]
pub struct Fault {
    /// The key, with its table: `mix.read`.
    pub key: String,
    /// Its value.
    pub found: String,
    /// Description of the allowed values.
    pub allowed: String,
}

fn fault<T>(key: &str, found: impl Display, allowed: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { key: key.into(), found: found.to_string(), allowed: allowed.into() })
}

/// Longest name.
const NAME_MOST: usize = 40;
/// Largest weight.
const WEIGHT_MOST: f64 = 1e9;
/// Most fields of a record.
const FIELDS_MOST: u64 = 1_000;
/// Most bytes of a field.
const FIELD_BYTES_MOST: u64 = 1 << 20;
/// Most bytes of a record.
const RECORD_BYTES_MOST: u64 = 8 << 20;
/// Most records of a scan.
const SCAN_MOST: u64 = 1_000_000;
/// Most records of a transaction.
const TRANSACTION_MOST: u64 = 100;
/// Most digits of a key.
const PADDING_MOST: u64 = 100;
/// Longest pause: a minute.
const PAUSE_MOST_US: f64 = 60e6;

impl Definition {
    /// Checks every value for itself and with the others. Opens no file.
    ///
    /// # Errors
    /// The first senseless value, with the allowed values.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_name()?;
        if self.description.chars().count() > 200 || self.description.chars().any(char::is_control)
        {
            let shown: String = self.description.chars().take(20).collect();
            return fault(
                "description",
                format!("{shown:?}…"),
                "it is one line of at most 200 characters",
            );
        }
        self.check_mix()?;
        self.requests.check()?;
        self.check_part()?;
        self.scans.check()?;
        self.fields.check()?;
        self.check_keys()?;
        let transactions = self.transactions;
        within("transactions.reads", transactions.reads, 0, TRANSACTION_MOST)?;
        within("transactions.writes", transactions.writes, 0, TRANSACTION_MOST)?;
        if transactions.reads + transactions.writes == 0 {
            return fault(
                "transactions.reads",
                0,
                "with writes 0 as well a transaction does nothing; 1 to 100 records",
            );
        }
        self.check_pause()?;
        match self.setting {
            Setting::Cold if !self.mix.reads() => {
                fault("setting", "cold", "nothing in the mix reads; warm or sync")
            }
            Setting::Sync if !self.mix.writes() => {
                fault("setting", "sync", "nothing in the mix writes; warm or cold")
            }
            _ => Ok(()),
        }?;
        self.check_wishes()
    }

    fn check_name(&self) -> Result<(), Fault> {
        let name = &self.name;
        let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let allowed = format!(
            "letters, digits, -, _ and ., up to {NAME_MOST} of them, the first a letter or digit"
        );
        if name.len() > NAME_MOST
            || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !name.chars().all(usual)
        {
            let shown: String = name.chars().take(NAME_MOST + 1).collect();
            return fault("name", format!("{shown:?}"), allowed);
        }
        for setting in Setting::ALL {
            if name.ends_with(&format!("-{}", setting.word())) {
                let word = setting.word();
                let allowed = format!(
                    "-{word} at its end is the setting; name it without, and add setting = \
                     \"{word}\""
                );
                return fault("name", format!("{name:?}"), allowed);
            }
        }
        Ok(())
    }

    fn check_mix(&self) -> Result<(), Fault> {
        for (key, _, weight) in self.mix.weights() {
            if !(0.0..=WEIGHT_MOST).contains(&weight) {
                return fault(
                    &format!("mix.{key}"),
                    weight,
                    "a weight is a number from 0 to 1000000000",
                );
            }
        }
        if self.mix.sum() <= 0.0 {
            let keys: Vec<&str> = self.mix.weights().map(|(key, ..)| key).to_vec();
            return fault(
                "mix",
                "empty",
                format!("give at least one of {} a weight above 0", keys.join(", ")),
            );
        }
        if self.mix.delete > self.mix.insert {
            let allowed = format!(
                "at most as much as mix.insert, which is {}: a store that runs empty measures \
                 nothing",
                self.mix.insert
            );
            return fault("mix.delete", self.mix.delete, allowed);
        }
        Ok(())
    }

    /// Checks the requested part of the records.
    fn check_part(&self) -> Result<(), Fault> {
        use RequestDistribution::{Exponential, Latest};
        let requests = &self.requests;
        let part = [
            ("requests.first-record", requests.first_record),
            ("requests.records", requests.records),
        ];
        for (key, value) in part {
            let Some(value) = value else { continue };
            if matches!(requests.distribution, Exponential | Latest) {
                let own = requests.distribution.word();
                return fault(
                    key,
                    value,
                    format!("{own} goes by the newest of all records; leave it out"),
                );
            }
            if self.mix.delete > 0.0 {
                return fault(
                    key,
                    value,
                    "where records are deleted it is the oldest; leave it out",
                );
            }
            within(key, value, u64::from(key == "requests.records"), 1 << 40)?;
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), Fault> {
        let keys = &self.keys;
        if let Some(padding) = keys.zero_padding {
            within("keys.zero-padding", padding, 1, PADDING_MOST)?;
            if keys.from.is_some() {
                return fault(
                    "keys.zero-padding",
                    padding,
                    "keys from a file are taken as they are; leave it out",
                );
            }
        }
        match (&keys.from, &keys.column) {
            (Some(from), None) => {
                fault("keys.from", from.display(), "keys.column names the column of it to take")
            }
            (None, Some(column)) => {
                fault("keys.column", column, "keys.from names the CSV file that has it")
            }
            _ => Ok(()),
        }
    }

    fn check_pause(&self) -> Result<(), Fault> {
        const KEY: &str = "think-time.mean-us";
        match (self.think_time.distribution, self.think_time.mean_us) {
            (Pause::None, Some(mean_us)) => fault(
                KEY,
                mean_us,
                "with think-time.distribution \"none\" there is no pause; constant or exponential",
            ),
            (Pause::Constant | Pause::Exponential, None) => fault(
                KEY,
                "missing",
                "a pause takes some microseconds, more than 0 and up to 60000000",
            ),
            (_, Some(mean_us)) if !(mean_us > 0.0 && mean_us <= PAUSE_MOST_US) => fault(
                KEY,
                mean_us,
                "a pause takes some microseconds, more than 0 and up to 60000000",
            ),
            _ => Ok(()),
        }
    }

    /// Checks what the workload wishes of a comparison that sets nothing else.
    fn check_wishes(&self) -> Result<(), Fault> {
        self.records.map_or(Ok(()), |records| within("records", records, 1, 1 << 40))?;
        self.operations
            .map_or(Ok(()), |operations| within("operations", operations, 1, 1 << 40))?;
        self.threads.map_or(Ok(()), |threads| within("threads", threads as u64, 1, 10_000))?;
        match self.target {
            Some(target) if !(target.is_finite() && target > 0.0) => fault(
                "target",
                target,
                "operations a second are a number above 0; leave it out for as fast as possible",
            ),
            Some(target) if self.pauses() => fault(
                "target",
                target,
                "with a target requests are due at a rate, and nobody pauses: leave out one",
            ),
            _ => Ok(()),
        }
    }
}

impl Requests {
    fn check(&self) -> Result<(), Fault> {
        use RequestDistribution::{Exponential, Hotspot, Latest, Zipfian};
        let shares: [(&str, Option<f64>, &[RequestDistribution]); 5] = [
            ("theta", self.theta, &[Zipfian, Latest]),
            ("hot-records", self.hot_records, &[Hotspot]),
            ("hot-requests", self.hot_requests, &[Hotspot]),
            ("newest-records", self.newest_records, &[Exponential]),
            ("newest-requests", self.newest_requests, &[Exponential]),
        ];
        for (key, value, of) in shares {
            let Some(value) = value else { continue };
            let key = format!("requests.{key}");
            if !of.contains(&self.distribution) {
                let of: Vec<&str> = of.iter().map(|one| one.word()).collect();
                let own = self.distribution.word();
                return fault(
                    &key,
                    value,
                    format!("it belongs to {}, and the distribution is {own}", of.join(" and ")),
                );
            }
            match key.as_str() {
                // the formula has no value at 1, and no digits left close to it
                "requests.theta" if !(0.01..=0.999).contains(&value) => {
                    return fault(&key, value, "the skew is a number from 0.01 to 0.999");
                }
                "requests.newest-requests" if !(0.01..=0.999).contains(&value) => {
                    return fault(&key, value, "a share of the requests from 0.01 to 0.999");
                }
                _ if !(value > 0.0 && value <= 1.0) => {
                    return fault(&key, value, "a share above 0 and up to 1");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Scans {
    fn check(&self) -> Result<(), Fault> {
        if self.length == Spread::Column {
            return fault("scans.length", "column", "one of constant, uniform, zipfian");
        }
        within("scans.records-max", self.records_max, 1, SCAN_MOST)?;
        check_least("scans.records-min", self.records_min, self.length, self.records_max, 1)
    }
}

impl Fields {
    fn check(&self) -> Result<(), Fault> {
        within("fields.count", self.count, 1, FIELDS_MOST)?;
        if self.size == Spread::Column {
            for (key, value) in
                [("fields.bytes-min", self.bytes_min), ("fields.bytes-max", self.bytes_max)]
            {
                if let Some(value) = value {
                    return fault(
                        key,
                        value,
                        "with fields.size \"column\" the column decides; leave it out",
                    );
                }
            }
            return match (&self.from, &self.column) {
                (Some(_), Some(_)) => Ok(()),
                (None, _) => fault(
                    "fields.from",
                    "missing",
                    "with fields.size \"column\" it names a CSV file",
                ),
                (_, None) => fault(
                    "fields.column",
                    "missing",
                    "with fields.size \"column\" it names a column of the file",
                ),
            };
        }
        let needs = "it belongs to fields.size \"column\"; set that, or leave it out";
        if let Some(from) = &self.from {
            return fault("fields.from", from.display(), needs);
        }
        if let Some(column) = &self.column {
            return fault("fields.column", column, needs);
        }
        let most = self.bytes_max.unwrap_or(super::definition::FIELD_BYTES);
        within("fields.bytes-max", most, 1, FIELD_BYTES_MOST)?;
        if most * self.count > RECORD_BYTES_MOST {
            let allowed = format!("{} such fields make a record of more than 8 MiB", self.count);
            return fault("fields.bytes-max", most, allowed);
        }
        check_least("fields.bytes-min", self.bytes_min, self.size, most, 0)
    }
}

/// Checks that a range has a lower end only where it can have one, and not above the other end.
fn check_least(
    key: &str,
    least: Option<u64>,
    spread: Spread,
    most: u64,
    from: u64,
) -> Result<(), Fault> {
    match least {
        Some(least) if spread == Spread::Constant => fault(
            key,
            least,
            "a constant length has no range: leave it out, or choose uniform or zipfian",
        ),
        Some(least) => within(key, least, from, most),
        None => Ok(()),
    }
}

fn within(key: &str, found: u64, least: u64, most: u64) -> Result<(), Fault> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => fault(key, found, format!("a whole number from {least} to {most}")),
    }
}
