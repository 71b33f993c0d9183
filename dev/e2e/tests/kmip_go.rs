//! The KMIP client against the server of github.com/ovh/kmip-go, which has Re-key.

use sealstone_e2e::kmip_anchor_cases;
use sealstone_e2e::kmip_cases::{self, Place};
use sealstone_e2e::kmip_server::Kind;

#[test]
fn go_operations() {
    if let Some(place) = Place::start(Kind::Go, "go_operations") {
        kmip_cases::operations(&place, &["1.2", "1.3", "1.4"]);
    }
}

#[test]
fn go_names_and_versions() {
    if let Some(place) = Place::start(Kind::Go, "go_names_and_versions") {
        kmip_cases::names_and_versions(&place);
    }
}

#[test]
fn go_states() {
    if let Some(place) = Place::start(Kind::Go, "go_states") {
        kmip_cases::states(&place);
    }
}

#[test]
fn go_certificates() {
    if let Some(place) = Place::start(Kind::Go, "go_certificates") {
        kmip_cases::certificates(&place);
    }
}

#[test]
fn go_faults() {
    if let Some(place) = Place::start(Kind::Go, "go_faults") {
        kmip_cases::faults(place);
    }
}

#[test]
fn go_anchor_marks() {
    if let Some(place) = Place::start(Kind::Go, "go_anchor_marks") {
        kmip_anchor_cases::marks(&place, &["1.2", "1.3", "1.4"]);
    }
}

#[test]
fn go_anchor_other_objects() {
    if let Some(place) = Place::start(Kind::Go, "go_anchor_other_objects") {
        kmip_anchor_cases::other_objects(&place);
    }
}

#[test]
fn go_anchor_two_writers() {
    if let Some(place) = Place::start(Kind::Go, "go_anchor_two_writers") {
        kmip_anchor_cases::two_writers(&place, &["1.2", "1.3", "1.4"]);
    }
}

#[test]
fn go_anchor_faults() {
    if let Some(place) = Place::start(Kind::Go, "go_anchor_faults") {
        kmip_anchor_cases::anchor_faults(place);
    }
}
