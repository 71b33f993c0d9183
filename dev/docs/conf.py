# Settings of Sphinx for `make docs`: the pages of the repository as they are, with the repository as the source folder.
# Not here: the list of pages (contents.md), checks of their links (dev/docs/tests/pages.rs).

import re
from pathlib import Path

from sphinx.search import languages
from sphinx.search.en import SearchEnglish

project = "Sealstone"
author = "the authors of Sealstone"
release = re.search(r'^version = "(.+)"', (Path(__file__).parents[2] / "Cargo.toml").read_text(), re.M).group(1)

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md", "results/*.md"]
# anchors as GitHub makes them
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Sealstone {release}"
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"

CONTENTS = (Path(__file__).parent / "contents.md").read_text()


class EnglishAndKorean(SearchEnglish):
    """English words, and Korean ones by their beginnings too, since particles and endings are written on to them."""

    def split(self, text):
        words = super().split(text)
        hangul = [word for word in words if re.fullmatch(r"[가-힣]{3,}", word)]
        return words + [word[:length] for word in hangul for length in range(2, len(word))]


languages["en"] = EnglishAndKorean


def add_contents(_app, page, source):
    """Puts the list of pages at the end of the first one."""
    if page == root_doc:
        source[0] += "\n" + CONTENTS


def setup(app):
    app.connect("source-read", add_contents)
