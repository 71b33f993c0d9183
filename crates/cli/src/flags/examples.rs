//! An example for every command, so that each page of help has one: a line or two under `-h`, where
//! the page must fit the screen, and all examples under `--help`.

use clap::{Arg, Command};
use sealstone_stores::sealed_servers;

/// Commands, without the program's name, and what shows how each is used.
const EXAMPLES: &[(&str, &str)] = &[
    ("", "sealstone compare"),
    ("compare", "sealstone compare --ciphers none,aes-256,aria-256 --workloads a,c"),
    ("report", "sealstone report sealstone-results/results.json --out report.html"),
    ("ciphers", "sealstone ciphers --speed --ciphers aes-256,aria-256"),
    ("workloads", "sealstone workloads --print a > orders.toml"),
    ("keys", "sealstone keys new store.key"),
    ("keys new", "sealstone keys new store.key --id orders --protect"),
    ("keys list", "sealstone keys list ."),
    ("keys show", "sealstone keys show store.key"),
    ("keys passwd", "sealstone keys passwd store.key"),
    ("keys holder", "sealstone keys holder add store.key --name kim"),
    ("keys holder add", "sealstone keys holder add store.key --name kim"),
    ("keys holder remove", "sealstone keys holder remove store.key --name kim"),
    ("keys rotate", "sealstone keys rotate store.key"),
    ("keys retire", "sealstone keys retire store.key --version 1 --store orders"),
    ("keys export", "sealstone keys export store.key --version 1 --out copy.key"),
    ("keys import", "sealstone keys import store.key --from copy.key"),
    ("keys check", "sealstone keys check store.key"),
    ("rest", "sealstone rest status orders"),
    ("rest status", "sealstone rest status orders"),
    ("rest verify", "sealstone rest verify orders --key orders.key --anchor orders.anchor"),
    ("rest rotate", "sealstone rest rotate orders --key orders.key"),
    ("rest reseal", "sealstone rest reseal orders --key orders.key --cipher aria-256"),
    ("rest unseal", "sealstone rest unseal orders --key orders.key --out orders-plain"),
    ("rest get", "sealstone rest get orders 'order 17' --key orders.key"),
    ("rest scan", "sealstone rest scan orders --key orders.key --prefix 'order 1' --limit 10"),
    ("rest dump", "sealstone rest dump orders --key orders.key > records"),
    ("field", "sealstone field check people.csv --column phone=ff1:phone"),
    (
        "field seal",
        "sealstone field seal people.csv --column phone=ff1:phone \\\n      --key people.key --out \
         sealed.csv",
    ),
    ("field open", "sealstone field open sealed.csv --key people.key --out people.csv"),
    ("field check", "sealstone field check people.csv --column phone=ff1:phone"),
    ("field reseal", "sealstone field reseal sealed.csv --key people.key --out again.csv"),
    (
        "field migrate",
        "sealstone field migrate @address --table people \\\n      --column phone=ff1:phone --key \
         people.key",
    ),
    ("volume", "sealstone volume create pg.volume --size 100GiB --key pg.key"),
    ("volume create", "sealstone volume create pg.volume --size 100GiB --key pg.key"),
    ("volume attach", "sealstone volume attach pg.volume --key pg.key"),
    ("volume detach", "sealstone volume detach pg.volume"),
    ("volume mount", "sealstone volume mount pg.volume /srv/pg --key pg.key --mkfs ext4"),
    ("volume unmount", "sealstone volume unmount /srv/pg"),
    ("volume status", "sealstone volume status pg.volume"),
    ("volume verify", "sealstone volume verify pg.volume --key pg.key"),
    ("volume freeze", "sealstone volume freeze pg.volume"),
    ("volume grow", "sealstone volume grow pg.volume --size 200GiB"),
    ("volume rotate", "sealstone volume rotate pg.volume --key pg.key"),
    (
        "volume reseal",
        "sealstone volume reseal pg.volume --key pg.key --out pg.new --cipher lea-256",
    ),
    ("volume unseal", "sealstone volume unseal pg.volume --key pg.key --out /srv/pg.clear"),
    ("volume unit", "sealstone volume unit pg.volume /srv/pg --key pg.key"),
    ("lab", "sealstone lab up postgres"),
    ("lab up", "sealstone lab up mongodb --nodes 3 --cipher aria-256"),
    ("lab up mongodb", "sealstone lab up mongodb --nodes 3 --cipher aria-256"),
    ("lab up redis", "sealstone lab up redis --nodes 6 --dir r"),
    ("lab up postgres", "sealstone lab up postgres --dir p"),
    ("lab up mariadb", "sealstone lab up mariadb --dir m"),
    ("lab up ssdb", "sealstone lab up ssdb --ssdb-server /opt/ssdb/ssdb-server --dir s"),
    ("lab up tgt", "sealstone lab up tgt --dir t"),
    ("lab up pykmip", "sealstone lab up pykmip --dir kms"),
    ("lab list", "sealstone lab list"),
    ("lab status", "sealstone lab status sealstone-lab"),
    ("lab down", "sealstone lab down sealstone-lab"),
    ("wire", "sealstone wire status"),
    ("wire up", "sealstone wire up --key wire.key --peer 203.0.113.7 --address 10.9.0.1/24"),
    ("wire guard", "sealstone wire guard --address 10.9.0.1/24 --route 10.20.0.0/16"),
    ("wire status", "sealstone wire status"),
    ("wire down", "sealstone wire down sealstone0"),
    ("wire unit", "sealstone wire unit"),
    ("wire suites", "sealstone wire suites"),
    ("completions", "source <(sealstone completions bash)"),
    ("man", "sealstone man --out ~/.local/share/man/man1"),
];

/// Rarely needed flags, by the names of their values: only `--help` shows them.
const RARE: &[&str] = &[
    "tweaks",
    "indexes",
    "keep_empty",
    "small_domain",
    "delimiter",
    "encoding",
    "device",
    "tls_ca_file",
    "tls_certificate_key_file",
    "batch",
    "rows_per_second",
    "runtime_dir",
    "extension",
    "accel",
    "approved",
    "on_error",
    "forget",
    "associations",
    "state_dir",
];

/// Number of values up to which the short help of a flag lists them.
const FEW_VALUES: usize = 6;

/// Returns `command`, called `path` without the program's name, and its subcommands, each with its
/// example.
pub(super) fn with_examples(mut command: Command, path: &str) -> Command {
    let all = command.get_after_help().cloned();
    let listed =
        EXAMPLES.iter().find(|(name, _)| *name == path).map(|(_, example)| (*example).to_owned());
    if let Some(example) = listed.or_else(|| of_sealed_server(path)) {
        let more = match all {
            Some(_) if path.is_empty() => "\nMore: sealstone --help".to_owned(),
            Some(_) => format!("\nMore: sealstone {path} --help"),
            None => String::new(),
        };
        let example = format!("Example:\n  {example}");
        command = command.after_help(format!("{example}{more}"));
        // the same page, where there is nothing to add
        command = command.after_long_help(all.map_or(example.into(), |all| all));
    }
    command = command.mut_args(|flag| {
        let is_rare = RARE.contains(&flag.get_id().as_str());
        let flag = with_many_values_in_long_help(flag);
        if is_rare { flag.hide_short_help(true) } else { flag }
    });
    let names: Vec<String> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let inner = format!("{path} {name}");
        command.mut_subcommand(name, |command| with_examples(command, inner.trim()))
    })
}

/// Returns what shows how the command `path` for a server whose files are sealed is used.
fn of_sealed_server(path: &str) -> Option<String> {
    let (name, action) = path.split_once(' ').unwrap_or((path, "check"));
    let server = sealed_servers().find(|server| server.name() == name)?;
    let (option, dir) = server.data_dir_option();
    match action {
        "check" => Some(format!("sealstone {name} check {dir}")),
        "config" => Some(format!("sealstone {name} config --{option} {dir} --key {name}.key")),
        _ => None,
    }
}

/// Returns `flag` with its values under `--help` alone, if it has many of them and each is no more
/// than a name.
fn with_many_values_in_long_help(flag: Arg) -> Arg {
    let values = flag.get_possible_values();
    let shown: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    let is_explained = values.iter().any(|value| value.get_help().is_some());
    if shown.len() <= FEW_VALUES || is_explained || flag.is_hide_possible_values_set() {
        return flag;
    }
    let all = flag.get_long_help().or(flag.get_help()).map(ToString::to_string).unwrap_or_default();
    let long = format!("{all} [possible values: {}]", shown.join(", "));
    flag.long_help(long).hide_possible_values(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a page of help that a screen shows at once, more or less.
    const SCREEN_LINES: usize = 40;

    fn walk(command: &mut Command, path: &str, pages: &mut Vec<(String, String, String)>) {
        let (short, long) =
            (command.render_help().to_string(), command.render_long_help().to_string());
        pages.push((path.to_owned(), short, long));
        // `help` is clap's own
        for inner in command.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name());
            walk(inner, &path, pages);
        }
    }

    /// Splits `line` as a shell does where nothing but single quotes and a redirection is in it.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.replace("\\\n", " ").chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                '>' if !is_quoted => break,
                other => words.last_mut().unwrap().push(other),
            }
        }
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn every_example_is_a_command_line() {
        let of_servers = sealed_servers().flat_map(|server| {
            ["check", "config"]
                .map(|action| of_sealed_server(&format!("{} {action}", server.name())))
        });
        let listed = EXAMPLES.iter().map(|(_, example)| (*example).to_owned());
        for example in listed.chain(of_servers.flatten()) {
            let Some(line) = example.strip_prefix("sealstone ") else {
                assert!(example.starts_with("source <(sealstone "), "{example}");
                continue;
            };
            let words = words(&format!("sealstone {line}"));
            if let Err(error) = crate::definition().try_get_matches_from(words) {
                panic!("{example}: {error}");
            }
        }
    }

    #[test]
    fn every_page_of_help_has_an_example_and_the_short_ones_fit_the_screen() {
        let mut pages = Vec::new();
        // as wide as a terminal, whatever this one is
        walk(&mut crate::definition().term_width(80), "", &mut pages);
        let mut long_ones = Vec::new();
        for (path, short, long) in &pages {
            for page in [short, long] {
                assert!(
                    page.contains("Example:\n  ") || page.contains("Examples:\n  "),
                    "{path}: {page}"
                );
                assert!(
                    page.contains(&format!("  sealstone{path}")) || path.contains("completions"),
                    "{path}: {page}"
                );
            }
            if short.lines().count() > SCREEN_LINES {
                long_ones.push(format!("{path}: {} lines\n{short}", short.lines().count()));
            }
            let widest = short.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= 80, "{path}: {widest} columns\n{short}");
        }
        assert!(long_ones.is_empty(), "{}", long_ones.join("\n"));
        assert!(
            pages.len() > 40
                && EXAMPLES.iter().enumerate().all(|(at, (name, _))| {
                    EXAMPLES[..at].iter().all(|(other, _)| other != name)
                })
        );
    }
}
