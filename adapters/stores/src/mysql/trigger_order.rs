//! Detection of triggers of a table that run after ours and can change sealed values. A table's
//! triggers run in the order in which they were made, unless a trigger names its place.

use sealstone_fields::migration::{ColumnLayout, Layout};

use super::table_shape::Values;
use super::table_text::{literal, quoted};

/// A trigger before a row is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Before {
    name: String,
    event: String,
    place: u64,
    body: String,
}

/// Returns the question for the triggers before rows of `table` are written, in the order in which
/// they run: name, event, place and body.
pub(super) fn question(table: &str) -> String {
    format!(
        "SELECT trigger_name, event_manipulation, action_order, action_statement FROM \
         information_schema.triggers WHERE event_object_schema = DATABASE() AND event_object_table \
         = {} AND action_timing = 'BEFORE' AND event_manipulation <> 'DELETE' ORDER BY \
         event_manipulation, action_order",
        literal(table)
    )
}

/// Problem with the order, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Later {
    pub(super) found: String,
    pub(super) step: String,
}

/// Returns the first trigger among the `answers` to [`question`] that runs after one of `ours` and
/// can change a column of `layout`, or the columns beside it.
pub(super) fn later(answers: &[Values], ours: &[String], layout: &Layout) -> Option<Later> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let triggers: Vec<Before> = answers
        .iter()
        .map(|row| Before {
            name: text(&row[0]),
            event: text(&row[1]),
            place: text(&row[2]).parse().unwrap_or(u64::MAX),
            body: text(&row[3]),
        })
        .collect();
    let is_ours = |trigger: &Before| ours.contains(&trigger.name);
    let of_event =
        |event: &str| triggers.iter().find(|trigger| is_ours(trigger) && trigger.event == event);
    triggers.iter().filter(|trigger| !is_ours(trigger)).find_map(|trigger| {
        let our = of_event(&trigger.event).filter(|our| our.place < trigger.place)?;
        if !layout.columns.iter().any(|column| can_change(&trigger.body, column)) {
            return None;
        }
        let (name, event) = (&trigger.name, &trigger.event);
        Some(Later {
            found: format!(
                "trigger {name} (BEFORE {event}) runs after {}, which keeps the marks",
                our.name
            ),
            step: format!(
                "DROP TRIGGER {}, and make it again with PRECEDES {} behind FOR EACH ROW, so that \
                 what it writes is seen (SHOW CREATE TRIGGER has its text)",
                quoted(name),
                quoted(&our.name)
            ),
        })
    })
}

/// Returns whether a trigger with this body can change `column`, its mark, its digest or its index
/// value: only by their names, which are written in one way except for letter case.
fn can_change(body: &str, column: &ColumnLayout) -> bool {
    let body = body.to_lowercase();
    let mut names = column.added().chain([&column.name]);
    names.any(|name| {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
        !is_plain || body.contains(&name.to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(name: &str) -> Layout {
        let column = ColumnLayout {
            name: name.into(),
            mark: format!("{name}_sealed"),
            digest: format!("{name}_sealed_digest"),
            index: None,
            row: None,
        };
        Layout { key: vec!["id".into()], columns: vec![column] }
    }

    fn row(name: &str, event: &str, place: &str, body: &str) -> Values {
        [name, event, place, body].map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn the_place_counts_and_not_the_name() {
        let ours = ["s_insert".to_owned(), "s_update".to_owned()];
        let copy = "SET NEW.`Phone` = NEW.contact";
        let rows = [
            row("zz_first", "UPDATE", "1", copy),
            row("s_update", "UPDATE", "2", "SET NEW.phone_sealed = NULL"),
            row("stamp", "UPDATE", "3", "SET NEW.changed = now()"),
            row("s_insert", "INSERT", "1", ""),
        ];
        assert_eq!(later(&rows, &ours, &layout("phone")), None);
        for body in
            [copy, "BEGIN CALL fill(NEW.PHONE); END", "SELECT x INTO NEW.phone_sealed FROM t"]
        {
            let mut rows = rows.to_vec();
            rows.push(row("a_copy", "UPDATE", "4", body));
            let found = later(&rows, &ours, &layout("phone")).unwrap();
            assert!(
                found.found.starts_with("trigger a_copy (BEFORE UPDATE) runs after s_update"),
                "{}",
                found.found
            );
            assert!(found.step.contains("PRECEDES `s_update`"), "{}", found.step);
        }
        // a name that can be written in several ways
        assert!(later(&rows, &ours, &layout("전화")).is_some());
    }

    #[test]
    fn without_ours_none_is_late() {
        let rows = [row("copy", "UPDATE", "1", "SET NEW.phone = 1")];
        assert_eq!(later(&rows, &["s_update".to_owned()], &layout("phone")), None);
    }
}
