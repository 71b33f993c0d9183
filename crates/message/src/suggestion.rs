//! The known name that a mistyped name was probably meant to be, for every "did you mean" of the
//! program.

/// Similarity of two names when one is a whole part of the other: `ycsb-a` and `a`, `scan` and
/// `batch-scan`.
const PART: f64 = 0.9;
/// Similarity of two names when one ends with the other: `workloada` and `a`.
const ENDING: f64 = 0.8;
/// Names less alike than this have nothing in common that a reader would see.
const SIMILAR: f64 = 0.7;

/// Names that others use for something, each with the name used here; suggested where the second is
/// a known name. Both are in the form used for comparison: lower case, with `-`.
const SYNONYMS: &[(&str, &str)] = &[
    // stores and servers: MySQL's protocol is spoken by both, and the server of a lab is MariaDB
    ("mariadb", "mysql"),
    ("maria", "mysql"),
    ("maria", "mariadb"),
    ("mysql", "mariadb"),
    ("mysqld", "mariadb"),
    ("mariadbd", "mariadb"),
    ("percona", "mysql"),
    ("mongo", "mongodb"),
    ("mongod", "mongodb"),
    ("documentdb", "mongodb"),
    ("pg", "postgres"),
    ("pgsql", "postgres"),
    ("psql", "postgres"),
    ("postgresql", "postgres"),
    ("rocks", "rocksdb"),
    ("leveldb", "rocksdb"),
    ("myrocks", "rocksdb"),
    ("valkey", "redis"),
    ("keydb", "redis"),
    ("redis-server", "redis"),
    ("iscsi", "tgt"),
    ("tgtd", "tgt"),
    ("kmip", "pykmip"),
    ("kms", "pykmip"),
    ("disk", "block"),
    ("device", "block"),
    ("blockdevice", "block"),
    // ciphers: the longest key, and what TLS and OpenSSL call them
    ("rijndael", "aes-256"),
    ("aes", "aes-256"),
    ("aes256", "aes-256"),
    ("aes192", "aes-192"),
    ("aes128", "aes-128"),
    ("aria", "aria-256"),
    ("lea", "lea-256"),
    ("seed", "seed-128"),
    ("pipo", "pipo-256"),
    ("des", "3des"),
    ("des3", "3des"),
    ("tdes", "3des"),
    ("tdea", "3des"),
    ("triple-des", "3des"),
    ("desede", "3des"),
    ("des-ede3", "3des"),
    ("bf", "blowfish"),
    ("plain", "none"),
    ("plaintext", "none"),
    ("off", "none"),
    // suites
    ("aes", "aes-256-gcm"),
    ("aria", "aria-256-gcm"),
    ("lea", "lea-256-gcm"),
    ("gcm", "aes-256-gcm"),
    ("sha", "aes-256-sha256"),
    ("sha2", "aes-256-sha256"),
    ("sha256", "aes-256-sha256"),
    ("sha-256", "aes-256-sha256"),
    ("sha1", "aes-256-sha1"),
    ("md5", "aes-256-md5"),
    ("ssl", "tls"),
    // commands
    ("bench", "compare"),
    ("benchmark", "compare"),
    ("measure", "compare"),
    ("create", "new"),
    ("generate", "new"),
    ("start", "up"),
    ("stop", "down"),
    ("encrypt", "seal"),
    ("decrypt", "open"),
    ("decrypt", "unseal"),
    ("open", "unseal"),
    ("check", "verify"),
    ("ls", "list"),
    ("delete", "retire"),
    // backends
    ("aesni", "aes-ni"),
    ("software", "portable"),
    ("generic", "portable"),
    // places and people
    ("at-rest", "rest"),
    ("tde", "rest"),
    ("disk", "rest"),
    ("files", "rest"),
    ("column", "field"),
    ("columns", "field"),
    ("fields", "field"),
    ("network", "wire"),
    ("transit", "wire"),
    ("in-transit", "wire"),
    ("tls", "wire"),
    ("thief", "disk-thief"),
    ("backup", "backup-reader"),
    ("eavesdropper", "network"),
    ("sniffer", "network"),
    ("root", "server-admin"),
    ("admin", "server-admin"),
    ("administrator", "server-admin"),
    // methods and formats of columns
    ("fpe", "ff1"),
    ("ff3", "ff1"),
    ("gcm", "aead"),
    ("random", "aead"),
    ("randomized", "aead"),
    ("tel", "phone"),
    ("telephone", "phone"),
    ("mobile", "phone"),
    ("cellphone", "phone"),
    ("cell", "phone"),
    ("hp", "phone"),
    ("전화", "phone"),
    ("전화번호", "phone"),
    ("mail", "email"),
    ("e-mail", "email"),
    ("이메일", "email"),
    ("ssn", "rrn"),
    ("jumin", "rrn"),
    ("resident", "rrn"),
    ("주민번호", "rrn"),
    ("주민등록번호", "rrn"),
    ("credit-card", "card"),
    ("creditcard", "card"),
    ("pan", "card"),
    ("카드", "card"),
    ("birthday", "date"),
    ("birth", "date"),
    ("날짜", "date"),
    ("number", "digits"),
    ("numbers", "digits"),
    ("numeric", "digits"),
    ("int", "digits"),
    ("alpha", "letters"),
    ("alnum", "alphanumerics"),
    ("korean", "hangul"),
    ("한글", "hangul"),
    // workloads, lists, delimiters
    ("tpcc", "oltp"),
    ("tpc-c", "oltp"),
    ("fips140", "fips"),
    ("korea", "kcmvp"),
    ("cmvp", "fips"),
    ("tsv", "tab"),
    ("csv", "comma"),
    ("bar", "pipe"),
];

/// Returns the name among `known` that `name` was probably meant to be; empty where none is like
/// it. Case does not matter, and neither does `_` for `-`.
///
/// A synonym that others use comes first. The measure is then the Jaro-Winkler similarity, which
/// favours a common beginning: `aes` is nearer to `aes-256` than to `3des`. A name that is a whole
/// part of the other is at least `PART` like it. Of names that are equally near the last is
/// returned. A name that is neither part nor beginning of the other must be within a few letters of
/// it.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> &'a str {
    similar(name, known).unwrap_or("")
}

/// As [`nearest`]; `None` if not even that name is similar.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase().replace(['_', ' '], "-");
    let known: Vec<&'a str> = known.into_iter().collect();
    let meant = |ours: &str| known.iter().find(|name| name.eq_ignore_ascii_case(ours)).copied();
    let called = SYNONYMS.iter().filter(|(theirs, _)| *theirs == wanted);
    called.filter_map(|(_, ours)| meant(ours)).next().or_else(|| most_like(&wanted, &known))
}

fn most_like<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |candidate: &&'a str| {
        let lower = candidate.to_lowercase().replace('_', "-");
        let is_part =
            |part: &str, of: &str| !part.is_empty() && of.split('-').any(|piece| piece == part);
        let distance = strsim::osa_distance(wanted, &lower);
        let least = match () {
            () if is_part(&lower, wanted) || is_part(wanted, &lower) => PART,
            () if !lower.is_empty() && wanted.ends_with(&lower) => ENDING,
            // two letters of three in the wrong order are little like the name by the measure
            () if distance == 1 && wanted.chars().count() > 2 => SIMILAR,
            () => 0.0,
        };
        let begins = !lower.is_empty()
            && !wanted.is_empty()
            && (lower.starts_with(wanted) || wanted.starts_with(&lower));
        let is_near = least > 0.0 || begins || distance <= slips(wanted, &lower);
        let measured = if is_near { strsim::jaro_winkler(wanted, &lower).max(least) } else { 0.0 };
        (*candidate, measured)
    };
    let best = known.iter().map(likeness).max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (best.1 >= SIMILAR).then_some(best.0)
}

/// Returns the number of letters in which two names of these lengths may differ and still count as
/// the same.
fn slips(one: &str, other: &str) -> usize {
    match one.chars().count().max(other.chars().count()) {
        0..=3 => 1,
        4..=7 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_beginnings_lead_to_the_name() {
        let known =
            ["3des", "aes-128", "aes-256", "records", "records-from", "batch-load", "rocksdb"];
        for (name, want) in [
            ("aes", "aes-256"),
            ("AES_128", "aes-128"),
            ("tdes", "3des"),
            ("3eds", "3des"),
            ("recods", "records"),
            ("records_form", "records-from"),
            ("records-forms", "records-from"),
            ("bach-load", "batch-load"),
            ("load", "batch-load"),
            ("rocks", "rocksdb"),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
        assert_eq!(nearest("aes", []), "");
        assert_eq!(nearest("", known), "");
    }

    #[test]
    fn a_name_as_another_program_writes_it_leads_to_ours() {
        let known = ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"];
        for letter in ["a", "b", "c", "d", "e", "f"] {
            for name in ["ycsb-", "ycsb_", "YCSB-", "ycsb", "workload", "workload-"] {
                assert_eq!(nearest(&format!("{name}{letter}"), known), letter, "{name}{letter}");
            }
        }
        for (name, want) in [("scan", "batch-scan"), ("tpcc-oltp", "oltp"), ("oltpp", "oltp")] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }

    #[test]
    fn what_others_call_something_leads_to_our_name() {
        let stores = ["rocksdb", "mongodb", "redis", "postgres", "mysql", "ssdb", "block"];
        let servers = ["mongodb", "redis", "postgres", "mariadb", "tgt", "pykmip"];
        let ciphers = [
            "aes-128", "aes-192", "aes-256", "aria-128", "aria-256", "seed-128", "lea-256", "3des",
        ];
        let formats = ["digits", "letters", "hangul", "card", "rrn", "phone", "email", "date"];
        for (known, names) in [
            (
                &stores[..],
                &[
                    ("mariadb", "mysql"),
                    ("MariaDB", "mysql"),
                    ("mongo", "mongodb"),
                    ("pg", "postgres"),
                ][..],
            ),
            (
                &stores,
                &[
                    ("postgresql", "postgres"),
                    ("rocks", "rocksdb"),
                    ("valkey", "redis"),
                    ("sqlite", ""),
                ],
            ),
            (
                &servers,
                &[("mysql", "mariadb"), ("mongo", "mongodb"), ("iscsi", "tgt"), ("kmip", "pykmip")],
            ),
            (
                &ciphers,
                &[
                    ("aes256", "aes-256"),
                    ("AES", "aes-256"),
                    ("aria", "aria-256"),
                    ("triple_des", "3des"),
                ],
            ),
            (&ciphers, &[("chacha20", ""), ("sm4", ""), ("camellia-256", "")]),
            (
                &formats,
                &[
                    ("tel", "phone"),
                    ("전화번호", "phone"),
                    ("ssn", "rrn"),
                    ("iban", ""),
                    ("uuid", ""),
                ],
            ),
            (
                &["aes-256-gcm", "aes-256-sha1", "aes-256-sha256"],
                &[("sha", "aes-256-sha256"), ("sha1", "aes-256-sha1")],
            ),
        ] {
            for (name, want) in names {
                assert_eq!(nearest(name, known.iter().copied()), *want, "{name}");
            }
        }
        // each is suggested only for a known name, and no name is its own synonym
        assert!(
            SYNONYMS
                .iter()
                .all(|(theirs, ours)| theirs != ours && *theirs == theirs.to_lowercase())
        );
    }

    #[test]
    fn a_name_like_no_other_is_similar_to_none() {
        let known = ["records", "records-from", "threads"];
        assert_eq!(similar("recors", known), Some("records"));
        assert_eq!(similar("zzz", known), None);
        assert_eq!(similar("x", []), None);
    }
}
