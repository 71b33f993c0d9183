//! Recommendation of a cipher, a suite or places. Not here: the figures that it rests on
//! (`conclude`).
//!
//! `algorithm` reads from a suite's name what it is made of, so that a suite is advised on as a
//! cipher is. At a fixed rate `recommend::at_rate` makes the choice.
//!
//! Places are compared only if the plan names against whom (`--protect-from`). `words::threat` and
//! `words::places` are the tables of who there is and what each place does about them, with
//! sources. `place_choice` finds what a variant leaves open; for `recommend` a variant that does
//! not cover what was asked is barred, as a variant that the policy forbids is.

pub mod algorithm;
pub(crate) mod eligibility;
pub(crate) mod place_choice;
pub mod recommend;
