//! Command lines and plans in a form safe to show, since results are passed on: without users,
//! passwords and parameters in addresses. Not here: shortening an address
//! (`sealstone_message::shown_address`).

use sealstone_message::{LEFT_OUT, recorded_word};

use crate::study::plan::Plan;

/// Text that replaces the whole of an address that was left out.
pub const HIDDEN: &str = LEFT_OUT;

/// Returns the plan as it may be shown to others: addresses among the settings of a store may
/// contain passwords, and so may the name of a key.
#[must_use]
pub fn shown(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for value in plan.stores.values_mut().flat_map(|settings| settings.values_mut()).flatten() {
        *value = without_password(value);
    }
    plan.key = plan.key.as_deref().map(without_password);
    plan
}

// addresses among its settings may contain passwords
impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match serde_json::to_string(&shown(self)) {
            Ok(text) => write!(f, "Plan {text}"),
            Err(_) => f.write_str("Plan"),
        }
    }
}

/// Returns a word of a command line, without the password of an address in it.
pub(crate) fn without_password(word: &str) -> String {
    recorded_word(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_keeps_no_password() {
        for (word, want) in [
            ("--records=5", "--records=5"),
            ("mongodb://db.example:27017/x?w=1", "mongodb://***@db.example:27017/x"),
            ("none=mongodb://me:s3:cr@db.example/x", "none=mongodb://***@db.example/x"),
            ("mongodb://db.example/x", "mongodb://db.example/x"),
        ] {
            assert_eq!(without_password(word), want);
            assert_eq!(want.contains(HIDDEN), word != want);
        }
    }

    #[test]
    fn a_plan_that_is_printed_for_its_programmer_keeps_none_either() {
        let settings =
            [("postgres-url".to_owned(), vec!["postgres://me:geheim@db/x".to_owned()])].into();
        let key = Some("kmip://h/k?password=geheim".to_owned());
        let plan =
            Plan { stores: [("postgres".to_owned(), settings)].into(), key, ..Plan::default() };
        let text = format!("{plan:?}");
        assert!(text.contains("postgres://***@db/x") && !text.contains("geheim"), "{text}");
    }
}
