//! Recommendation of a cipher, a suite or places.
//!
//! `algorithm` derives the parts of a suite from its name, so that advice on suites works as on
//! ciphers. At a fixed rate `recommend::fixed_rate` makes the choice.
//!
//! Places are compared only if the plan names threats (`--protect-from`). `words::threat` and
//! `words::places` are the tables of threats and of the protection of each place against them, with
//! sources. `place_choice` finds what a variant leaves open; `recommend` bars a variant that does
//! not cover the request, like a variant that the policy forbids.

pub(crate) mod algorithm;
pub(crate) mod eligibility;
pub(crate) mod place_choice;
pub(crate) mod recommend;

pub use recommend::recommend;
