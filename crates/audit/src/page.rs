//! The page for an auditor: facts and conclusions in words of a language, filled into
//! `templates/audit.html`.

use std::collections::BTreeMap;

use sealstone_cipher::NOT_A_MODULE;
use sealstone_message::{Language, Texts, printable_lines};
use serde::Serialize;

use crate::explanation::explanation;
use crate::facts::{
    Audit, Clear, Held, Key, Kind, Maker, NotVerified, Place, Protection, Search, Share, Unit,
    Verified, Version,
};
use crate::language::texts_of;
use crate::leak::{self, Hit};
use crate::verdict::{Attention, Open, Verdict};

/// Names of files that are listed of each place; more are only counted.
const LISTED_MAX: usize = 20;
const TEMPLATE: &str = "audit.html";

/// The whole page.
#[derive(Serialize)]
struct Page<'a> {
    /// Words that are in it as they are.
    words: &'a BTreeMap<String, String>,
    title: &'a str,
    style: &'static str,
    made: String,
    is_sealed: bool,
    verdict: &'static str,
    open: Vec<String>,
    attention: Vec<String>,
    places: Vec<PlaceView>,
    keys: Vec<KeyView>,
    search: Option<SearchView>,
    limits: Vec<String>,
}

#[derive(Serialize)]
struct PlaceView {
    name: String,
    product: String,
    on_volume: Option<String>,
    is_columns: bool,
    /// False of what could not be looked at.
    is_known: bool,
    shares: Vec<ShareView>,
    lists: Vec<ListView>,
    verified: String,
    is_broken: bool,
    findings: Vec<String>,
}

#[derive(Serialize)]
struct ShareView {
    cipher: String,
    mode: String,
    key: String,
    module: String,
    amount: String,
    lists: String,
    column: Option<String>,
    leaks: Option<String>,
}

/// Files in the clear, or unread.
#[derive(Serialize)]
struct ListView {
    title: &'static str,
    is_open: bool,
    lines: Vec<String>,
    more: Option<String>,
}

#[derive(Serialize)]
struct KeyView {
    id: String,
    held_by: String,
    owner: Option<String>,
    protection: String,
    versions: Vec<VersionView>,
    rotation: String,
    is_overdue: bool,
}

#[derive(Serialize)]
struct VersionView {
    words: String,
    age: String,
}

#[derive(Serialize)]
struct SearchView {
    summary: String,
    forms: Option<String>,
    places: String,
    cut: Option<String>,
    hits: Vec<HitView>,
    unread: Vec<String>,
}

#[derive(Serialize)]
struct HitView {
    file: String,
    what: String,
    encoding: String,
    first: u64,
    count: u64,
}

/// Returns the page of `audit` in `language`, one HTML file without anything from elsewhere.
///
/// # Errors
/// A fault of the template, which tests exclude.
pub fn page(
    audit: &Audit,
    verdict: &Verdict,
    language: Language,
) -> Result<String, minijinja::Error> {
    let mut templates = minijinja::Environment::new();
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    // the name's ending turns on escaping
    templates.add_template(TEMPLATE, include_str!("../templates/audit.html"))?;
    let texts = texts_of(language);
    let words = Words(texts, language);
    let page = Page {
        words: texts.all(),
        title: audit.title.as_deref().unwrap_or(texts.text("title")),
        style: include_str!("../templates/audit.css"),
        made: texts.with(
            "made",
            &[("at", &audit.made_at), ("host", &audit.host), ("program", &audit.program)],
        ),
        is_sealed: verdict.is_sealed,
        verdict: texts.text(if verdict.is_sealed { "sealed" } else { "open" }),
        open: verdict.open.iter().map(|open| words.open(open)).collect(),
        attention: verdict.attention.iter().map(|one| words.attention(one)).collect(),
        places: audit.places.iter().map(|place| words.place(place)).collect(),
        keys: audit.keys.iter().map(|key| words.key(key, !audit.lacks_a_key())).collect(),
        search: audit.search.as_ref().map(|search| words.search(search)),
        limits: words.limits(),
    };
    let page = templates.get_template(TEMPLATE)?.render(minijinja::value::Serde(page))?;
    // characters that reverse the reading order do so on a page, too
    Ok(printable_lines(&page).into_owned())
}

/// Returns the conclusions in a few lines of English, for a terminal.
#[must_use]
pub fn summary(verdict: &Verdict) -> String {
    let words = Words(texts_of(Language::English), Language::English);
    let sentence = words.0.text(if verdict.is_sealed { "sealed" } else { "open" });
    let mut text = format!("{sentence}\n");
    for line in verdict.open.iter().map(|open| words.open(open)) {
        text.push_str(&format!("  {line}\n"));
    }
    if !verdict.attention.is_empty() {
        text.push_str(&format!("{}:\n", words.0.text("attention").to_lowercase()));
    }
    for line in verdict.attention.iter().map(|attention| words.attention(attention)) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Sentences of a language.
struct Words(&'static Texts, Language);

impl Words {
    fn with(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.0.with(key, values)
    }

    fn counted(&self, key: &str, count: u64) -> String {
        self.with(key, &[("count", &count.to_string())])
    }

    fn open(&self, open: &Open) -> String {
        let of = |key, place: &str, count: &u64| {
            self.with(key, &[("place", place), ("count", &count.to_string())])
        };
        match open {
            Open::Clear { place, count } => of("open_clear", place, count),
            Open::Unread { place, count } => of("open_unread", place, count),
            Open::NotLookedAt { place, why } => {
                self.with("open_not_looked_at", &[("place", place), ("why", why)])
            }
            Open::NotChecked { place, why } => {
                self.with("open_not_checked", &[("place", place), ("why", why)])
            }
            Open::Damaged { place, count } => of("open_damaged", place, count),
            Open::Leak { file, count } => {
                self.with("open_leak", &[("file", file), ("count", &count.to_string())])
            }
            Open::NotSearched { file } => self.with("open_not_searched", &[("file", file)]),
        }
    }

    fn attention(&self, attention: &Attention) -> String {
        match attention {
            Attention::Overdue { key, since } => {
                self.with("attention_overdue", &[("key", key), ("since", since)])
            }
            Attention::NotHeld { key, versions } => {
                let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
                let versions = versions.join(", ");
                self.with("attention_not_held", &[("key", key), ("versions", &versions)])
            }
            Attention::Unprotected { key } => self.with("attention_unprotected", &[("key", key)]),
            Attention::NotVerified { place } => {
                self.with("attention_not_verified", &[("place", place)])
            }
            Attention::Beside { place, count } => {
                let count = count.to_string();
                self.with("attention_beside", &[("place", place), ("count", &count)])
            }
            Attention::OnNoList { place, algorithm } => {
                let values = [("place", place.as_str()), ("algorithm", algorithm)];
                self.with("attention_on_no_list", &values)
            }
            Attention::LooksAlike { file, form, count } => {
                let count = count.to_string();
                let values = [("file", file.as_str()), ("form", form), ("count", &count)];
                self.with("attention_looks_alike", &values)
            }
            Attention::Cut { count } => self.counted("cut", *count),
            Attention::NoSearch => self.0.text("attention_no_search").to_owned(),
        }
    }

    fn place(&self, place: &Place) -> PlaceView {
        let on_volume = place.on_volume.as_ref();
        let lists = [
            ("clear", true, &place.clear),
            ("unread", true, &place.unread),
            ("beside", false, &place.beside),
        ];
        let (is_broken, findings) = match &place.verified {
            Verified::Checked { is_whole, findings, .. } => (!is_whole, findings.clone()),
            Verified::Not { .. } => (false, Vec::new()),
        };
        PlaceView {
            name: place.name.clone(),
            product: match place.kind {
                Kind::Store | Kind::Server | Kind::Unknown => place.product.clone(),
                Kind::Key => self.0.text("kind_key").to_owned(),
                Kind::Volume => self.0.text("kind_volume").to_owned(),
                Kind::Columns => self.0.text("kind_columns").to_owned(),
                Kind::Table => self.0.text("kind_table").to_owned(),
            },
            on_volume: on_volume.map(|volume| self.with("on_volume", &[("volume", volume)])),
            is_columns: place.sealed.iter().any(|share| share.column.is_some()),
            is_known: place.is_known(),
            shares: place.sealed.iter().map(|share| self.share(share)).collect(),
            lists: lists
                .into_iter()
                .filter(|(.., list)| !list.is_empty())
                .map(|(key, is_open, list)| self.list(self.0.text(key), is_open, list))
                .collect(),
            verified: self.verified(&place.verified),
            is_broken,
            findings,
        }
    }

    fn share(&self, share: &Share) -> ShareView {
        let unit = match share.unit {
            Unit::Files => "files",
            Unit::Blocks => "blocks",
            Unit::Rows => "rows",
            Unit::Volumes => "volumes",
        };
        let amount = match share.unit {
            Unit::Volumes => self.0.text(unit).to_owned(),
            _ => self.counted(unit, share.count),
        };
        ShareView {
            cipher: share.cipher.clone(),
            mode: share.mode.clone(),
            key: match &share.key_id {
                Some(id) => format!("{id} {}", share.key_version),
                None => format!("? {}", share.key_version),
            },
            module: match &share.maker {
                Maker::Sealstone => self.0.text("by_us").to_owned(),
                Maker::Module(title) => title.clone(),
                Maker::NotRecorded => self.0.text("not_recorded").to_owned(),
            },
            amount: match share.bytes {
                Some(bytes) => format!("{amount}, {}", bytes_in_words(bytes)),
                None => amount,
            },
            lists: match (share.fips, share.kcmvp) {
                (true, true) => "FIPS 140, KCMVP".into(),
                (true, false) => "FIPS 140".into(),
                (false, true) => "KCMVP".into(),
                (false, false) => self.0.text("on_no_list").to_owned(),
            },
            column: share.column.clone(),
            leaks: share.leaks.as_ref().map(|leaks| {
                let leaks = self.explained(leaks);
                self.with("leaks", &[("leaks", &leaks)])
            }),
        }
    }

    fn list(&self, title: &'static str, is_open: bool, list: &[Clear]) -> ListView {
        let left = list.len().saturating_sub(LISTED_MAX) as u64;
        ListView {
            title,
            is_open,
            lines: list.iter().take(LISTED_MAX).map(|clear| self.line(clear)).collect(),
            more: (left > 0).then(|| self.counted("more", left)),
        }
    }

    fn verified(&self, verified: &Verified) -> String {
        match verified {
            Verified::Checked { at, is_whole, earlier, .. } => {
                let key = if *is_whole { "verified_whole" } else { "verified_broken" };
                let words = self.with(key, &[("at", at)]);
                match earlier {
                    Some(file) => {
                        let earlier = self.with("verified_earlier", &[("file", file)]);
                        format!("{words} ({earlier})")
                    }
                    None => words,
                }
            }
            Verified::Not { why } => match why {
                NotVerified::NotAsked => self.0.text("not_asked").into(),
                NotVerified::NoKey => self.0.text("no_key").into(),
                NotVerified::WhenRead => self.0.text("when_read").into(),
                NotVerified::Never => self.0.text("never").into(),
                NotVerified::InUse => self.0.text("in_use").into(),
                NotVerified::Failed(reason) => self.with("failed", &[("reason", reason)]),
            },
        }
    }

    /// - `all_seen`: whether every key that was named could be looked at
    fn key(&self, key: &Key, all_seen: bool) -> KeyView {
        let held = key.held.as_ref();
        let nobody = if all_seen { "nobody" } else { "unknown" };
        let owner = |held: &Held| {
            let (owner, mode) = (held.owner.as_deref()?, held.mode.as_deref()?);
            Some(self.with("owner", &[("owner", owner), ("mode", mode)]))
        };
        KeyView {
            id: key.id.clone(),
            held_by: held.map_or_else(|| self.0.text(nobody).to_owned(), |held| held.place.clone()),
            owner: held.and_then(owner),
            protection: held.map_or_else(
                || self.0.text("unknown").to_owned(),
                |held| self.protection(&held.protection),
            ),
            versions: key
                .versions
                .iter()
                .map(|version| self.version(version, held.is_some() || all_seen))
                .collect(),
            rotation: match &key.rotate_by {
                Some(day) if key.is_overdue => self.with("overdue", &[("day", day)]),
                Some(day) => day.clone(),
                None => self.0.text("unknown").to_owned(),
            },
            is_overdue: key.is_overdue,
        }
    }

    fn protection(&self, protection: &Protection) -> String {
        match protection {
            Protection::Nothing => self.0.text("protection_nothing").into(),
            Protection::Passphrase => self.0.text("protection_passphrase").into(),
            Protection::Holders { names } => {
                self.with("protection_holders", &[("names", &names.join(", "))])
            }
            Protection::Token { token } => self.with("protection_token", &[("token", token)]),
            Protection::Server => self.0.text("protection_server").into(),
        }
    }

    /// - `is_known`: whether it is known who holds it
    fn version(&self, version: &Version, is_known: bool) -> VersionView {
        let number = match &version.id {
            Some(id) => format!("{} ({id})", version.version),
            None => version.version.to_string(),
        };
        let places = version.places.to_string();
        let words = match version.places {
            0 => self.with("version_unused", &[("version", &number)]),
            _ => self.with("version_in_use", &[("version", &number), ("places", &places)]),
        };
        VersionView {
            words: match version.is_held || !is_known {
                true => words,
                false => format!("{words} ({})", self.0.text("version_not_held")),
            },
            age: match version.age_days {
                Some(0) => self.0.text("today").to_owned(),
                Some(days) => self.with("days", &[("count", &days.to_string())]),
                None => self.0.text("unknown").to_owned(),
            },
        }
    }

    fn search(&self, search: &Search) -> SearchView {
        let hit = |file: &String, hit: &Hit| HitView {
            file: file.clone(),
            what: match hit.kind {
                leak::Kind::Form => self.explained(&hit.what),
                _ => hit.what.clone(),
            },
            encoding: {
                let encoding = self.0.text(&format!("as_{}", hit.encoding.word()));
                match hit.within {
                    Some(compression) => self.with(
                        "within",
                        &[("encoding", encoding), ("compression", compression.word())],
                    ),
                    None => encoding.to_owned(),
                }
            },
            first: hit.first_offset,
            count: hit.count,
        };
        let forms = search.forms.join(", ");
        SearchView {
            summary: self.with(
                "searched",
                &[
                    ("markers", &search.markers.to_string()),
                    ("forms", &search.forms.len().to_string()),
                    ("files", &search.files.to_string()),
                    ("bytes", &bytes_in_words(search.bytes)),
                ],
            ),
            forms: (!forms.is_empty()).then(|| self.with("searched_forms", &[("forms", &forms)])),
            places: self.with("searched_places", &[("places", &search.places.join(", "))]),
            cut: (search.cut > 0).then(|| self.counted("cut", search.cut)),
            hits: search
                .hits
                .iter()
                .flat_map(|(file, hits)| hits.iter().map(|one| hit(file, one)))
                .collect(),
            unread: search.unread.iter().map(|clear| self.line(clear)).collect(),
        }
    }

    fn limits(&self) -> Vec<String> {
        let limits = [
            self.with("limit_module", &[("note", NOT_A_MODULE)]),
            self.0.text("limit_headers").to_owned(),
            self.0.text("limit_elsewhere").to_owned(),
            self.0.text("limit_search").to_owned(),
            self.0.text("limit_messages").to_owned(),
        ];
        limits.into_iter().filter(|limit| !limit.is_empty()).collect()
    }

    fn line(&self, clear: &Clear) -> String {
        let Clear { name, bytes, remark, values } = clear;
        // a file has its name in every language, whatever that reads like
        let is_file = bytes.is_some() && values.is_none();
        let mut line = if is_file { name.clone() } else { self.explained(name) };
        if let Some(bytes) = bytes {
            line.push_str(&format!(", {}", bytes_in_words(*bytes)));
        }
        if let Some(remark) = remark {
            line.push_str(&format!(": {}", self.explained(remark)));
        }
        line
    }

    /// Returns `english` in this language where it is known, as an explanation is, and as it is
    /// otherwise, as a name is, or an error.
    fn explained(&self, english: &str) -> String {
        explanation(english, self.1).unwrap_or_else(|| english.to_owned())
    }
}

fn bytes_in_words(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().si().to_string()
}
