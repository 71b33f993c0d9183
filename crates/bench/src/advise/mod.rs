//! Recommendation of a cipher, a suite or places, and a forecast of what a clearer answer would take. Not here: the
//! figures that it rests on (`conclude`).

pub mod algorithm;
pub(crate) mod eligibility;
pub(crate) mod place_choice;
pub mod recommend;
