//! Names of settings in messages. A library names the setting that a reader should change, and the
//! program around it decides the form in which that is written there: as a flag of a command line,
//! or as the bare name in a file, a connection string or a call.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A setting by its name, alone or with a value behind it, such as `layer rest`.
///
/// ```
/// use sealstone_message::SettingName;
///
/// let advice = format!("name a file that holds it with {}", SettingName("passphrase-file"));
/// assert_eq!(advice, "name a file that holds it with passphrase-file");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingName<'a>(pub &'a str);

static AS_FLAGS: AtomicBool = AtomicBool::new(false);

impl SettingName<'_> {
    /// Has all settings of this process written as flags from now on: for a program whose settings
    /// come from its command line, before its first message.
    pub fn write_as_flags() {
        AS_FLAGS.store(true, Ordering::Relaxed);
    }
}

impl fmt::Display for SettingName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dashes = if AS_FLAGS.load(Ordering::Relaxed) { "--" } else { "" };
        write!(f, "{dashes}{}", self.0)
    }
}
