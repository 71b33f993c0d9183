//! The KMIP client against PyKMIP, which has no Re-key, and speaks KMIP 2.0 too.

use sealstone_e2e::kmip_anchor_cases;
use sealstone_e2e::kmip_cases::{self, Place};
use sealstone_e2e::kmip_server::Kind;

#[test]
fn pykmip_operations() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_operations") {
        kmip_cases::operations(&place, &["1.2", "1.3", "1.4", "2.0"]);
    }
}

#[test]
fn pykmip_names_and_versions() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_names_and_versions") {
        kmip_cases::names_and_versions(&place);
    }
}

#[test]
fn pykmip_states() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_states") {
        kmip_cases::states(&place);
    }
}

#[test]
fn pykmip_certificates() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_certificates") {
        kmip_cases::certificates(&place);
    }
}

#[test]
fn pykmip_faults() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_faults") {
        kmip_cases::faults(place);
    }
}

#[test]
fn pykmip_anchor_marks() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_anchor_marks") {
        kmip_anchor_cases::marks(&place, &["1.2", "1.3", "1.4", "2.0"]);
    }
}

#[test]
fn pykmip_anchor_other_objects() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_anchor_other_objects") {
        kmip_anchor_cases::other_objects(&place);
    }
}

#[test]
fn pykmip_anchor_two_writers() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_anchor_two_writers") {
        kmip_anchor_cases::two_writers(&place, &["1.2", "1.3", "1.4", "2.0"]);
    }
}

#[test]
fn pykmip_anchor_faults() {
    if let Some(place) = Place::start(Kind::PyKmip, "pykmip_anchor_faults") {
        kmip_anchor_cases::anchor_faults(place);
    }
}
