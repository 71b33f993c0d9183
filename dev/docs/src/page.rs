//! Structure of a page of Markdown: sections with their headings, links, code, tables and prose.
//! The anchors of headings are those that GitHub gives them.

use std::collections::HashMap;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A page, as its sections in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first one is what comes before the first heading, and may be empty.
    pub sections: Vec<Section>,
}

/// A heading with what follows it, up to the next heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Level of the heading, from 1; 0 for what comes before the first.
    pub level: usize,
    /// Text of the heading, without marks.
    pub title: String,
    /// Anchor of the heading, without `#`.
    pub anchor: String,
    /// Line of the heading, from 1.
    pub line: usize,
    /// In order, with those of pictures.
    pub links: Vec<Link>,
    /// Blocks of code, in order.
    pub blocks: Vec<String>,
    /// Code within text, in order.
    pub words: Vec<String>,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Paragraphs and items of lists; code within them is one word.
    pub prose: Vec<String>,
}

/// A link or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Address as it is written.
    pub target: String,
    /// Line, from 1.
    pub line: usize,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Number of columns.
    pub columns: usize,
    /// Rows with the texts of their cells; the head is the first.
    pub rows: Vec<Vec<String>>,
}

/// Placeholder for code within prose, which counts as one word.
const CODE: &str = "`code`";

impl Page {
    /// Returns the page whose Markdown is `text`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader::new(text);
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            reader.read(event, range.start);
        }
        reader.end_paragraph();
        Self { sections: reader.sections }
    }

    /// Returns the section with the anchor `anchor`.
    #[must_use]
    pub fn section(&self, anchor: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.level > 0 && section.anchor == anchor)
    }

    /// Returns all links, in order.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.sections.iter().flat_map(|section| &section.links)
    }
}

/// Returns the anchor of a heading with the text `title`, without the number that a repeated one
/// gets.
#[must_use]
pub fn anchor(title: &str) -> String {
    let kept = title.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// State of reading a page.
struct Reader<'a> {
    text: &'a str,
    sections: Vec<Section>,
    /// Number of times that each anchor was given.
    anchors: HashMap<String, usize>,
    within: Within,
    /// Text of the heading, the paragraph, the block or the cell that is being read.
    pending: String,
    is_in_picture: bool,
}

/// The part of a page to which the text being read belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Prose,
    Heading,
    Block,
    Table,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            sections: vec![Section::default()],
            anchors: HashMap::new(),
            within: Within::Prose,
            pending: String::new(),
            is_in_picture: false,
        }
    }

    fn section(&mut self) -> &mut Section {
        self.sections.last_mut().expect("the first is always there")
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !text.trim().is_empty() {
            self.section().prose.push(text);
        }
    }

    fn read(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.begin(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if !self.is_in_picture => self.pending.push_str(&text),
            Event::Code(code) => {
                self.section().words.push(code.to_string());
                let shown = if self.within == Within::Prose { CODE } else { &code };
                self.pending.push_str(shown);
            }
            Event::SoftBreak | Event::HardBreak => self.pending.push(' '),
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                let line = self.line(at);
                self.sections.push(Section { level: number(level), line, ..Section::default() });
                self.within = Within::Heading;
            }
            Tag::CodeBlock(_) => {
                self.end_paragraph();
                self.within = Within::Block;
            }
            Tag::Table(columns) => {
                self.end_paragraph();
                let table = Table { columns: columns.len(), rows: Vec::new() };
                self.section().tables.push(table);
                self.within = Within::Table;
            }
            Tag::TableHead | Tag::TableRow => self.table().rows.push(Vec::new()),
            Tag::Paragraph | Tag::Item | Tag::List(_) | Tag::BlockQuote(_) => self.end_paragraph(),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }
                if !dest_url.starts_with("mailto:") =>
            {
                let link = Link { target: dest_url.to_string(), line: self.line(at) };
                self.section().links.push(link);
            }
            _ => {}
        }
        if self.text[at..].starts_with("![") {
            self.is_in_picture = true;
        }
    }

    fn table(&mut self) -> &mut Table {
        self.section().tables.last_mut().expect("a row is in a table")
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let title = std::mem::take(&mut self.pending);
                let plain = anchor(&title);
                let times = self.anchors.entry(plain.clone()).or_default();
                let anchor = if *times == 0 { plain } else { format!("{plain}-{times}") };
                *times += 1;
                let section = self.section();
                (section.title, section.anchor) = (title, anchor);
                self.within = Within::Prose;
            }
            TagEnd::CodeBlock => {
                let text = std::mem::take(&mut self.pending);
                self.section().blocks.push(text);
                self.within = Within::Prose;
            }
            TagEnd::TableCell => {
                let text = std::mem::take(&mut self.pending);
                self.table().rows.last_mut().expect("a cell is in a row").push(text);
            }
            TagEnd::Table => self.within = Within::Prose,
            TagEnd::Image => self.is_in_picture = false,
            TagEnd::Paragraph | TagEnd::Item | TagEnd::List(_) | TagEnd::BlockQuote(_) => {
                self.end_paragraph();
            }
            _ => {}
        }
    }
}

fn number(level: HeadingLevel) -> usize {
    level as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# A `word` and more

Text with [a link](b.md#c) and `code
in it`.
- one
- two
  lines

![picture](p.svg)

    make x   # comment

## Twice
| a | `b` |
|---|---|
| 1 | [2](d.md) |

## Twice
```toml
x = 1
```
### 키를 잃으면?
";

    #[test]
    fn a_page_has_its_parts() {
        let page = Page::parse(PAGE);
        let anchors: Vec<(usize, &str, usize)> = page
            .sections
            .iter()
            .map(|section| (section.level, section.anchor.as_str(), section.line))
            .collect();
        let expected = [
            (0, "", 0),
            (1, "a-word-and-more", 1),
            (2, "twice", 13),
            (2, "twice-1", 18),
            (3, "키를-잃으면", 22),
        ];
        assert_eq!(anchors, expected);
        let first = &page.sections[1];
        assert_eq!(first.prose, ["Text with a link and `code`.", "one", "two lines"]);
        assert_eq!(first.blocks, ["make x   # comment\n"]);
        assert_eq!(first.words, ["word", "code in it"]);
        let table = &page.sections[2].tables[0];
        assert_eq!((table.columns, &table.rows[1]), (2, &vec!["1".to_owned(), "2".to_owned()]));
        let links: Vec<(&str, usize)> =
            page.links().map(|link| (link.target.as_str(), link.line)).collect();
        assert_eq!(links, [("b.md#c", 3), ("p.svg", 9), ("d.md", 16)]);
        assert_eq!(page.sections[3].blocks, ["x = 1\n"]);
        assert_eq!(page.section("twice-1").map(|section| section.line), Some(18));
    }
}
