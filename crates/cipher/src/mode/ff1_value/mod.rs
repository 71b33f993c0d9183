//! Arithmetic of one value of FF1: its halves as numbers, their change of base, and their sums with
//! the output of a round. Not here: rounds over many values, tweaks, and the mode itself (`ff1`).

pub(crate) mod bounds;
pub(crate) mod fraction;
pub(crate) mod fraction52;
pub(crate) mod half;
pub(crate) mod limbs;
pub(crate) mod one_value;
pub(crate) mod reduction;
pub(crate) mod shape;
