//! The commands on a page of documentation, verbatim, and the remarks that control how a test runs
//! them. Not here: running them (`tests/pages.rs`).
//!
//! A block of commands is indented by four spaces, or fenced as `sh`, and begins with one of
//! [`PROGRAMS`]. HTML comments directly above it, which a reader does not see, hold directions for
//! a test:
//!
//! | comment | meaning |
//! |---|---|
//! | `<!-- before: COMMANDS -->` | a shell runs them first |
//! | `<!-- types: ONE, TWO -->` | what is typed when the block's commands ask |
//! | `<!-- exit 1 -->` | the exit code of every command of the block |
//! | `<!-- needs: mongod, pykmip -->` | servers without which the block is a counted skip |
//! | `<!-- not run: REASON -->` | a listed exception |
//! | `<!-- only parsed: REASON -->` | a listed exception: only the settings are checked |
//!
//! Of the last three and of `exit`, `<!-- not run "WORDS": REASON -->` is about the block's
//! commands with these words.

/// Programs with which a command can begin.
pub const PROGRAMS: [&str; 24] = [
    "sealstone",
    "make",
    "cargo",
    "mv",
    "cp",
    "mkdir",
    "sh",
    "rm",
    "umask",
    "printf",
    "cat",
    "ldb",
    "db_bench",
    "cc",
    "c++",
    "go",
    "export",
    "python3",
    "apt-get",
    "docker",
    "sudo",
    "tar",
    "ssh",
    "scp",
];

/// A block of commands.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Line of the page that it begins on, from 1.
    pub line: usize,
    /// In order, continued lines joined as a shell does.
    pub commands: Vec<String>,
    /// Commands to run before the block.
    pub before: Vec<String>,
    /// Lines to type.
    pub types: Vec<String>,
    /// Servers that it takes.
    pub needs: Vec<String>,
    /// Remarks that apply to some or all commands.
    pub remarks: Vec<Remark>,
}

/// Information about some commands that a test needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Words that the command contains; empty: all commands.
    pub words: String,
    /// Content of the remark.
    pub says: Says,
}

/// Content of a [`Remark`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// The exit code.
    Exit(i32),
    /// It is not run, for a reason.
    NotRun(String),
    /// Its settings are checked and it is not run, for a reason.
    OnlyParsed(String),
}

impl Block {
    /// Returns the exit code of `command` according to the remarks, and the exception that applies
    /// to it, if any.
    #[must_use]
    pub fn of(&self, command: &str) -> (i32, Option<&Says>) {
        let mine = || {
            self.remarks
                .iter()
                .filter(|remark| command.contains(&remark.words))
                .map(|remark| &remark.says)
        };
        let exit =
            mine().find_map(|says| if let Says::Exit(code) = says { Some(*code) } else { None });
        (exit.unwrap_or(0), mine().find(|says| !matches!(says, Says::Exit(_))))
    }
}

/// Returns the blocks of commands of the Markdown text `page`, in order.
///
/// # Errors
/// A comment of another form, or a comment without a following block of commands.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut next = Block::default();
    let mut pending: Option<usize> = None;
    let mut lines = page.lines().enumerate().peekable();
    let mut after_blank = true;
    while let Some((at, line)) = lines.next() {
        let line_number = at + 1;
        let fenced = line.trim_end() == "```sh";
        if line.starts_with("<!--") {
            let mut comment = line.to_owned();
            while !comment.contains("-->") {
                let Some((_, more)) = lines.next() else {
                    return Err(format!("line {line_number}: no end of it"));
                };
                comment = format!("{comment}\n{more}");
            }
            if remark(&comment, &mut next)
                .map_err(|error| format!("line {line_number}: {error}"))?
            {
                pending = pending.or(Some(line_number));
            }
        } else if line.starts_with("```") && !fenced {
            while lines.next().is_some_and(|(_, line)| !line.starts_with("```")) {}
        } else if fenced || after_blank && line.starts_with("    ") {
            let mut text = if fenced { String::new() } else { format!("{}\n", &line[4..]) };
            while let Some((_, line)) = lines.next_if(|(_, line)| match fenced {
                true => !line.starts_with("```"),
                false => line.starts_with("    "),
            }) {
                text.push_str(if fenced { line } else { &line[4..] });
                text.push('\n');
            }
            let commands: Vec<String> = text
                .replace("\\\n", "")
                .lines()
                .filter(|line| !line.trim().is_empty())
                .map(String::from)
                .collect();
            if commands.first().is_some_and(|first| begins_with_program(first)) {
                blocks.push(Block { line: line_number, commands, ..std::mem::take(&mut next) });
                pending = None;
            } else if let Some(line) = pending {
                return Err(format!(
                    "line {line}: it says something of a block that has no commands"
                ));
            }
        } else if let (false, Some(line)) = (line.trim().is_empty(), pending) {
            return Err(format!("line {line}: no block of commands follows it"));
        }
        after_blank = line.trim().is_empty() || line.starts_with("<!--");
    }
    match pending {
        Some(line) => Err(format!("line {line}: no block of commands follows it")),
        None => Ok(blocks),
    }
}

fn begins_with_program(command: &str) -> bool {
    command
        .split_whitespace()
        .find(|word| !is_assignment(word))
        .is_some_and(|word| PROGRAMS.contains(&word))
}

/// Returns whether `word` sets a variable of the shell.
fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// Returns whether `command` only sets variables, which the page's later commands then have.
#[must_use]
pub fn sets_variables(command: &str) -> bool {
    command.starts_with("export ") || command.split_whitespace().all(is_assignment)
}

/// Applies `comment` to `block`; returns whether it is about a block.
fn remark(comment: &str, block: &mut Block) -> Result<bool, String> {
    let text = comment.trim_start_matches("<!--").split("-->").next().unwrap_or_default().trim();
    let list = |rest: &str| rest.split(',').map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    if let Some(rest) = text.strip_prefix("before:") {
        block.before.push(rest.trim().to_owned());
    } else if let Some(rest) = text.strip_prefix("types:") {
        block.types = list(rest);
    } else if let Some(rest) = text.strip_prefix("needs:") {
        block.needs = list(rest);
    } else if let Some(rest) = text.strip_prefix("exit ") {
        let (code, words) = rest.split_once(' ').unwrap_or((rest, ""));
        let code = code.parse().map_err(|_| format!("{code} is no exit code"))?;
        block.remarks.push(Remark {
            words: words.trim().trim_matches('"').to_owned(),
            says: Says::Exit(code),
        });
    } else if let Some((says, rest)) = [("not run", false), ("only parsed", true)]
        .into_iter()
        .find_map(|(start, parsed)| text.strip_prefix(start).map(|rest| (parsed, rest.trim())))
    {
        let (words, reason) = rest.split_once(':').ok_or("it gives no reason")?;
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err("it gives no reason".into());
        }
        let says = if says { Says::OnlyParsed(reason) } else { Says::NotRun(reason) };
        block.remarks.push(Remark { words: words.trim().trim_matches('"').to_owned(), says });
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Directories of the system that pages name.
const SYSTEM: [&str; 5] = ["/etc/sealstone", "/data", "/var/lib", "/var/log", "/var/crash"];

/// Returns `text` with the directories of `SYSTEM` below `root`.
#[must_use]
pub fn rooted(text: &str, root: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if " ='\"\n:>".contains(before) && SYSTEM.iter().any(|dir| rest.starts_with(dir)) {
            out.push_str(root);
        }
        out.push(next);
        before = next;
        rest = &rest[next.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Title

<!-- a remark for people -->
<!-- before: mkdir x
printf y > x/y -->
<!-- types: one, two -->

    sealstone keys new a.key --protect   # asks
    sealstone compare --a \\
        --b

prints

    1042 files

<!-- exit 1 \"retire\" -->
<!-- not run \"make\": it takes an hour -->
```sh
make all
sealstone keys retire
```

```toml
    sealstone = 1
```
- a list
    sealstone in a list
";

    #[test]
    fn commands_are_found_with_what_is_said_of_them() {
        let found = blocks(PAGE).unwrap();
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_eq!((found[0].line, found[1].line), (8, 18));
        assert_eq!(
            found[0].commands,
            ["sealstone keys new a.key --protect   # asks", "sealstone compare --a     --b"]
        );
        assert_eq!(
            (&found[0].before[..], &found[0].types[..]),
            (&["mkdir x\nprintf y > x/y".into()][..], &["one".into(), "two".into()][..])
        );
        assert_eq!(found[0].of("sealstone keys"), (0, None));
        assert_eq!(found[1].of("make all"), (0, Some(&Says::NotRun("it takes an hour".into()))));
        assert_eq!(found[1].of("sealstone keys retire"), (1, None));
    }

    #[test]
    fn variables_belong_to_commands() {
        let found =
            blocks("    LD_PRELOAD=$PLUGIN ldb --db=orders scan\n\n    NAME=value\n").unwrap();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            sets_variables("PLUGIN=~/.cargo/lib/x.so")
                && sets_variables("export CGO_CFLAGS=-I$HOME/include")
        );
        assert!(
            !sets_variables("LD_PRELOAD=$PLUGIN ldb --db=orders scan")
                && !sets_variables("ldb --db=orders")
        );
    }

    #[test]
    fn a_remark_that_is_about_nothing_is_an_error() {
        for (page, want) in [
            ("<!-- exit 1 -->\n\nno commands\n", "line 1: no block of commands follows it"),
            (
                "<!-- exit 1 -->\n\n    output\n",
                "line 1: it says something of a block that has no commands",
            ),
            ("<!-- types: x -->\n", "line 1: no block of commands follows it"),
            ("<!-- not run: -->\n", "line 1: it gives no reason"),
            ("<!-- exit one -->\n", "line 1: one is no exit code"),
        ] {
            assert_eq!(blocks(page).unwrap_err(), want);
        }
    }

    #[test]
    fn directories_of_the_system_lead_elsewhere() {
        assert_eq!(
            rooted(
                "sealstone rest rotate /data/a --key /etc/sealstone/a.key x/data \
                 'kmip://h/k?cert=/etc/sealstone/c'",
                "/t"
            ),
            "sealstone rest rotate /t/data/a --key /t/etc/sealstone/a.key x/data \
             'kmip://h/k?cert=/t/etc/sealstone/c'"
        );
    }
}
