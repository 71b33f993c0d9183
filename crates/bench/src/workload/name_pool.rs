//! Names that live as long as the program, each kept once: a workload of the table and one from a
//! file have the same kind of name.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Returns `text`, kept until the program ends. There are as many as files of workloads, so they
/// are few.
pub(crate) fn intern(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(new);
    new
}

#[test]
fn the_same_text_is_kept_once() {
    assert!(std::ptr::eq(intern("orders"), intern(&String::from("orders"))));
    assert_eq!(intern(""), "");
}
