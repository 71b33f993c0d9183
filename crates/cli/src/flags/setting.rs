//! Settings of a plan without a flag of their own, since they are rarely needed: `--set
//! NAME=VALUE`.

/// Names of the settings without a flag.
pub(crate) const PLAN_ONLY: [&str; 8] =
    ["pairs", "slice-ms", "depth", "threads-of", "delimiter", "seed", "path", "cold-share"];

/// Reads `NAME=VALUE`.
pub(super) fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("expected a setting and its value, such as pairs=8")?;
    let name = name.trim();
    if !PLAN_ONLY.contains(&name) {
        return Err(format!(
            "expected one of {}; the others have flags of their own",
            PLAN_ONLY.join(", ")
        ));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}
