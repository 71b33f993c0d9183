"""The same values as the command line: what one seals, the other opens."""

import pathlib

import pandas
import polars
import pyarrow.csv
import pytest

import sealstone
from conftest import command

POLICY = """
cipher = "aria-256"
key = "people.key"
[tables.people.columns.rrn]
method = "ff1"
format = "rrn"
[tables.people.columns.phone]
method = "ff1"
format = "phone"
tweak = "row:id"
index = true
[tables.people.columns.memo]
method = "aead"
tweak = "row:id"
empty = "keep"
"""
CSV = (
    "id,name,rrn,phone,memo\n"
    '1,홍길동,870605-1234567,010-1234-5678,"first, with a comma"\n'
    "20,김철수,000101-3000002,010-8765-4321,second\n"
    "-3,이영희,991231-2345678,+82 2 312 5678,third\n"
)


@pytest.fixture
def directory(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    command(tmp_path, "keys", "new", "people.key")
    (tmp_path / "fields.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text(CSV)
    return tmp_path


def readers():
    return [
        ("pandas", lambda path: pandas.read_csv(path), lambda data: list(data["id"])),
        ("polars", lambda path: polars.read_csv(path), lambda data: data["id"].to_list()),
        ("pyarrow", lambda path: pyarrow.csv.read_csv(path), lambda data: data["id"].to_pylist()),
    ]


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader[0])
def test_sealed_by_the_command_line(directory, reader):
    _, read, ids = reader
    command(directory, "field", "seal", "people.csv", "--policy", "fields.toml", "--out", "sealed.csv")
    sealed, clear = read("sealed.csv"), read("people.csv")
    # numbers, as these libraries read them, name the same rows as the text of the file
    assert ids(sealed) == [1, 20, -3]
    manifest = pathlib.Path("sealed.csv.sealed.toml")
    assert sealstone.open(sealed, manifest, key="people.key").equals(clear)
    policy = sealstone.Policy.from_file("fields.toml")
    again = sealstone.seal(clear, policy).data
    assert list(again["phone"]) == list(sealed["phone"]) and list(again["rrn"]) == list(sealed["rrn"])
    assert list(again["phone_index"]) == list(sealed["phone_index"])


def test_opened_by_the_command_line(directory):
    policy = sealstone.Policy.from_file("fields.toml")
    sealed, manifest = sealstone.seal(pandas.read_csv("people.csv"), policy)
    sealed.to_csv("sealed.csv", index=False)
    pathlib.Path("sealed.csv.sealed.toml").write_text(manifest)
    words = ["field", "open", "sealed.csv", "--key", "people.key", "--out", "opened.csv", "--changed"]
    command(directory, *words)
    assert pathlib.Path("opened.csv").read_text() == CSV
