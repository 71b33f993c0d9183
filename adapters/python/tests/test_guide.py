"""The Python of docs/guide/python.md, as it stands there."""

import pathlib
import re

import pytest

from conftest import command

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/guide/python.md"
POLICY = """
key = "people.key"
[tables.people.columns.rrn]
method = "ff1"
format = "rrn"
[tables.people.columns.memo]
method = "aead"
tweak = "row:id"
"""


def blocks(spark: bool) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in found if block.startswith("# with Spark") == spark]


@pytest.fixture
def directory(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    command(tmp_path, "keys", "new", "people.key")
    (tmp_path / "fields.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("id,rrn,phone,memo\n1,870605-1234567,010-1234-5678,first\n")
    return tmp_path


def test_the_guide(directory, capsys):
    names: dict = {}
    assert len(blocks(spark=False)) == 5
    for block in blocks(spark=False):
        exec(block, names)
    assert capsys.readouterr().out.startswith("rrn 1 (0, 'it has 4 characters")
    assert list(names["phones"]) == ["010-1234-5678"] and len(names["wanted"]) == 8


def test_the_guide_on_the_command_line(directory):
    names: dict = {}
    for block in blocks(spark=False)[:2]:
        exec(block, names)
    command(directory, "field", "open", "sealed.csv", "--changed", "--key", "people.key", "--out", "opened.csv")
    assert (directory / "opened.csv").read_text() == (directory / "people.csv").read_text()
