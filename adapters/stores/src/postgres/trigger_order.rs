//! Detection of triggers of a table that run after ours, and so could change sealed values:
//! triggers that run before a row is written, and whose names come later, byte by byte. The changes
//! of a function cannot be determined, so the order decides.

use super::table_shape::Values;
use super::table_text::{TRIGGER, literal};

/// Returns the table of this number and its partitions, each of which may have its own triggers.
fn parts(oid: &str) -> String {
    format!(
        "WITH RECURSIVE parts(oid) AS (SELECT {oid}::oid UNION SELECT i.inhrelid FROM pg_inherits \
         i JOIN parts p ON i.inhparent = p.oid)"
    )
}

/// Returns the query for triggers after ours in the table of this number: kind, name and table, and
/// the statement that repairs it. Built-in triggers of the server change no text.
pub(super) fn question(oid: &str) -> String {
    // ROW 1, BEFORE 2, INSERT 4, UPDATE 16
    format!(
        "{} SELECT 'trigger', t.tgname, t.tgrelid::regclass::text, format('ALTER TRIGGER %I ON %s \
         RENAME TO %I', t.tgname, t.tgrelid::regclass, left('a_' || t.tgname, 60)) FROM pg_trigger \
         t JOIN pg_proc f ON f.oid = t.tgfoid WHERE t.tgrelid IN (SELECT oid FROM parts) AND NOT \
         t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 3 = 3 AND t.tgtype & 20 <> 0 AND \
         t.tgname > '{TRIGGER}'::name AND f.pronamespace <> 'pg_catalog'::regnamespace UNION ALL \
         SELECT 'rule', r.rulename, r.ev_class::regclass::text, format('DROP RULE %I ON %s', \
         r.rulename, r.ev_class::regclass) FROM pg_rewrite r WHERE r.ev_class IN (SELECT oid FROM \
         parts) AND r.ev_enabled <> 'D' LIMIT 1",
        parts(oid)
    )
}

/// Returns the question for the parts of the table of this number that lack our trigger as it was
/// made.
///
/// - `function`: the name of its function
pub(super) fn without_ours(oid: &str, function: &str) -> String {
    // BEFORE INSERT OR UPDATE, for each row, whatever changes; it runs for everybody
    format!(
        "{} SELECT p.oid::regclass::text FROM parts p WHERE NOT EXISTS (SELECT FROM pg_trigger t \
         JOIN pg_proc f ON f.oid = t.tgfoid WHERE t.tgrelid = p.oid AND t.tgname = '{TRIGGER}' AND \
         t.tgenabled IN ('O', 'A') AND t.tgtype = 23 AND t.tgqual IS NULL AND t.tgattr::text = '' \
         AND f.proname = {}) LIMIT 1",
        parts(oid),
        literal(function)
    )
}

/// Returns the question for the name of our trigger, if the table of this number has one.
pub(super) fn named(oid: &str) -> String {
    format!("SELECT tgname FROM pg_trigger WHERE tgrelid = {oid} AND tgname = '{TRIGGER}'")
}

/// Problem with the order, and what to do about it.
#[derive(Debug)]
pub(super) struct Later {
    pub(super) table: String,
    pub(super) found: String,
    pub(super) step: String,
}

/// Returns the problem that the `answers` to [`question`] name.
pub(super) fn later(answers: &[Values]) -> Option<Later> {
    let row = answers.first()?;
    let text = |at: usize| row[at].clone().unwrap_or_default();
    let (kind, name, mending) = (text(0), text(1), text(3));
    let (found, step) = if kind == "rule" {
        (format!("rule {name} rewrites what is said to it"), format!("remove it first: {mending}"))
    } else {
        let found = format!("trigger {name} runs after {TRIGGER}, which keeps the marks");
        (found, format!("have it run before, so that what it writes is seen: {mending}"))
    };
    Some(Later { table: text(2), found, step })
}
