//! The flag for the language of a page.

use clap::ValueEnum;
use sealstone_message::Language;

/// Language of a page.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LanguageName {
    /// English
    #[default]
    En,
    /// Korean
    Ko,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::En => Self::English,
            LanguageName::Ko => Self::Korean,
        }
    }
}
