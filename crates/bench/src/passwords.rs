//! Command lines and plans as they may be shown to others: addresses in them without passwords, since results are
//! passed on.

use crate::plan::Plan;

/// What stands for a password.
pub const HIDDEN: &str = ":***@";

/// The plan as it may be shown to others: addresses among the settings of a store may contain passwords.
#[must_use]
pub fn shown(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for value in plan.stores.values_mut().flat_map(|settings| settings.values_mut()).flatten() {
        *value = without_password(value);
    }
    plan
}

/// A word of a command line, without the password of an address in it.
pub(crate) fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    match authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')) {
        Some((user, password)) => format!("{scheme}://{user}:***{}", &rest[user.len() + 1 + password.len()..]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_keeps_no_password() {
        for (word, want) in [
            ("--records=5", "--records=5"),
            ("mongodb://db.example:27017/x?w=1", "mongodb://db.example:27017/x?w=1"),
            ("none=mongodb://me:s3:cr@db.example/x?a=b@c:d", "none=mongodb://me:***@db.example/x?a=b@c:d"),
            ("mongodb://me@db.example", "mongodb://me@db.example"),
        ] {
            assert_eq!(without_password(word), want);
            assert_eq!(want.contains(HIDDEN), word != want);
        }
    }
}
