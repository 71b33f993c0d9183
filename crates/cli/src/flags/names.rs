//! Values that completions offer: the names in the tables.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use sealstone_bench::study::NAMED;
use sealstone_bench::study::plan::ANY_SEAL;
use sealstone_bench::words::Threat;
use sealstone_bench::workload;
use sealstone_cipher::{Backend, ciphers};
use sealstone_csv::Delimiter;
use sealstone_store::Seal;
use sealstone_stores::stores;

/// Offers names to completions and refuses none: the library that owns the table does, with its own
/// message.
#[derive(Clone)]
pub(super) struct Suggest(pub(super) fn() -> Vec<&'static str>);

impl TypedValueParser for Suggest {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// A delimiter by its name or as itself; completions offer the names.
#[derive(Clone)]
pub(super) struct DelimiterName;

impl TypedValueParser for DelimiterName {
    type Value = Delimiter;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Delimiter, clap::Error> {
        TypedValueParser::parse_ref(&Delimiter::parse, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Delimiter::ALL.into_iter().map(|one| PossibleValue::new(one.name()))))
    }
}

pub(super) fn store_names() -> Vec<&'static str> {
    stores().iter().map(|store| store.name).collect()
}

pub(super) fn cipher_names_only() -> Vec<&'static str> {
    ciphers().iter().map(|cipher| cipher.name).collect()
}

pub(super) fn cipher_names() -> Vec<&'static str> {
    [vec!["none"], cipher_names_only()].concat()
}

pub(super) fn layer_names() -> Vec<&'static str> {
    vec!["rest", "field", "field+rest", "server", "wire"]
}

pub(super) fn seal_names() -> Vec<&'static str> {
    Seal::ALL.map(Seal::name).into_iter().chain([ANY_SEAL]).collect()
}

pub(super) fn study_names() -> Vec<&'static str> {
    NAMED.iter().map(|study| study.name).collect()
}

pub(super) fn threat_names() -> Vec<&'static str> {
    Threat::ALL.map(Threat::name).to_vec()
}

#[cfg(feature = "block")]
pub(super) use sealstone_stores::block::{link_names, suite_names};

#[cfg(not(feature = "block"))]
mod without_block {
    pub(in super::super) fn nothing() -> Vec<&'static str> {
        Vec::new()
    }
}

#[cfg(not(feature = "block"))]
pub(super) use without_block::{nothing as link_names, nothing as suite_names};

pub(super) fn accel_names() -> Vec<&'static str> {
    [vec!["auto"], Backend::all_names()].concat()
}

pub(super) fn workload_names() -> Vec<&'static str> {
    workload::under_every_setting().map(|workload| workload.name).collect()
}
