"""Single columns, and what is wrong with values, keys, columns and arguments."""

import copy
import os
import pathlib
import pickle
import re
import threading

import pandas
import polars
import pyarrow
import pytest

import sealstone
from conftest import command

PHONES = ["010-1234-5678", None, "010-8765-4321"]


def columns(values):
    """The same column in every library."""
    return [
        pyarrow.array(values),
        pyarrow.array(values, pyarrow.large_string()),
        pyarrow.array(values, pyarrow.string_view()),
        pyarrow.chunked_array([values[:1], [], values[1:]], pyarrow.string()),
        pyarrow.array([None, "x", *values, "y"]).slice(2, len(values)),
        pandas.Series(values, name="phone", index=range(5, 5 + len(values))),
        pandas.Series(values, dtype=object),
        polars.Series("phone", values),
        polars.Series("phone", [None, *values]).slice(1),
    ]


def listed(column):
    if isinstance(column, pandas.Series):
        return [None if pandas.isna(value) else value for value in column]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


@pytest.fixture
def phone(key):
    return sealstone.Column("phone=ff1:phone", key=key, table="people", index=24)


def test_columns_of_each_library(phone, key):
    first = None
    for values in columns(PHONES):
        sealed = phone.seal(values)
        assert type(sealed) is type(values)
        first = first or listed(sealed)
        assert listed(sealed) == first and first[1] is None and first[0] != PHONES[0]
        assert listed(phone.open(sealed)) == PHONES
        assert listed(sealstone.open(sealed, phone.manifest, key=key)) == PHONES
        assert [index and len(index) for index in listed(phone.index(values))] == [6, None, 6]
        if isinstance(values, pandas.Series):
            assert list(sealed.index) == list(values.index) and sealed.dtype == values.dtype
        elif not isinstance(values, polars.Series):
            assert sealed.type == values.type


def categories(values):
    """The same column by number: dictionaries, categories, enums."""
    known = sorted({value for value in values if value is not None})
    arrow = pyarrow.array(values).dictionary_encode()
    return [
        arrow,
        pyarrow.DictionaryArray.from_arrays(arrow.indices.cast("uint8"), arrow.dictionary.cast("large_string")),
        pyarrow.chunked_array([arrow.slice(0, 1), pyarrow.array(values[1:]).dictionary_encode()]),
        pandas.Series(values, name="phone", dtype="category"),
        pandas.Series(pandas.Categorical(values, categories=["unused, and no phone", *known], ordered=True)),
        polars.Series("phone", values, dtype=polars.Categorical),
        polars.Series("phone", values, dtype=polars.Enum(["unused, and no phone", *known])),
    ]


def test_categories_become_text(phone, key):
    wanted = phone.seal(pyarrow.array(PHONES * 3)).to_pylist()
    memo = sealstone.Column("memo=aead", key=key, table="people")
    for values in categories(PHONES * 3):
        sealed = phone.seal(values)
        assert type(sealed) is type(values) or isinstance(values, pyarrow.DictionaryArray)
        assert listed(sealed) == wanted
        # no type and no metadata still has the clear values
        assert "unused" not in repr(sealed.dtype if hasattr(sealed, "dtype") else sealed.type)
        assert listed(phone.open(sealed)) == PHONES * 3
        assert len({index for index in listed(phone.index(values))}) == 3
        assert len(set(listed(memo.seal(values)))) == 7 and listed(memo.open(memo.seal(values))) == PHONES * 3
    again = pyarrow.array(wanted).dictionary_encode()
    assert listed(phone.open(again)) == PHONES * 3
    with pytest.raises(sealstone.Misfit) as caught:
        phone.seal(pandas.Series(["Secret99", "010-1234-5678", "Secret99"], dtype="category"))
    assert [row for row, _ in caught.value.rows] == [0, 2] and "Secret99" not in str(caught.value)
    for nothing in [pandas.Series([None], dtype="category"), polars.Series([None], dtype=polars.Categorical)]:
        assert listed(phone.seal(nothing)) == [None]


def test_columns_of_a_policy(policy, key):
    phones = pandas.Series(PHONES, name="phone")
    sealed, manifest = sealstone.seal(phones, policy)
    assert listed(sealstone.open(sealed, manifest, key=key)) == PHONES
    memos, ids = pyarrow.array(["a", None, "c"]), pyarrow.array([1, 2, 3])
    sealed, manifest = sealstone.seal(memos, policy, column="memo", rows=ids)
    opened = sealstone.open(sealed, manifest, key=key, column="memo", rows=polars.Series([1, 2, 3]))
    assert opened.to_pylist() == ["a", None, "c"]
    with pytest.raises(sealstone.Misfit) as caught:
        sealstone.open(sealed, manifest, key=key, column="memo", rows=pyarrow.array([3, 2, 1]))
    assert caught.value.count == 2
    with pytest.raises(sealstone.Error, match="bound to column id, which was not given"):
        sealstone.seal(memos, policy, column="memo")
    with pytest.raises(sealstone.Error, match="2 rows for 3 values"):
        sealstone.seal(memos, policy, column="memo", rows=ids.slice(1))
    with pytest.raises(sealstone.Error, match="one of memo, phone, rrn|one of rrn, phone, memo"):
        sealstone.seal(memos, policy)
    with pytest.raises(sealstone.Error, match="no column meno; did you mean memo?"):
        sealstone.seal(memos, policy, column="meno")


def test_values_that_do_not_fit(policy, people, key):
    people["phone"] = ["010-1234-5678", "Secret99", None, "7"]
    for data in [pandas.DataFrame(people), polars.DataFrame(people), pyarrow.table(people)]:
        with pytest.raises(sealstone.Misfit) as caught:
            sealstone.seal(data, policy)
        error = caught.value
        assert (error.column, error.count, [row for row, _ in error.rows]) == ("phone", 2, [1, 3])
        words = f"{error} {error!r} {error.args}"
        assert "row 1: " in str(error) and "Secret99" not in words and "'7'" not in words
        assert isinstance(error, sealstone.Error) and str(pickle.loads(pickle.dumps(error))) == str(error)
        sealed, manifest = sealstone.seal(data, policy, on_error="null")
        assert listed(sealed["phone"])[1:] == [None] * 3
        assert listed(sealstone.open(sealed, manifest, key=key)["phone"]) == ["010-1234-5678", None, None, None]


def test_many_values_that_do_not_fit(phone):
    values = pyarrow.chunked_array([["x"] * 70_000, ["010-1234-5678"], ["x"] * 70_000])
    with pytest.raises(sealstone.Misfit) as caught:
        phone.seal(values, threads=3)
    assert (caught.value.count, len(caught.value.rows)) == (140_000, 100)
    assert phone.seal(values, on_error="null").null_count == 140_000


def test_sealed_values_that_were_changed(policy, people, key):
    sealed, manifest = sealstone.seal(pandas.DataFrame(people), policy)
    sealed.loc[0, "memo"] = sealed.loc[1, "memo"]
    with pytest.raises(sealstone.Misfit) as caught:
        sealstone.open(sealed, manifest, key=key)
    assert (caught.value.column, [row for row, _ in caught.value.rows]) == ("memo", [0])
    sealed.loc[0, "memo"] = "no sealed value"
    with pytest.raises(sealstone.Misfit, match="not a sealed value"):
        sealstone.open(sealed, manifest, key=key)


def test_another_key(policy, people, other_key, key, tmp_path):
    sealed, manifest = sealstone.seal(polars.DataFrame(people), policy)
    with pytest.raises(sealstone.Error, match="other"):
        sealstone.open(sealed, manifest, key=other_key)
    # another key of the same name, which FF1 alone would not notice
    name = next(line for line in pathlib.Path(key).read_text().splitlines() if line.startswith("id = "))
    text = re.sub("^id = .*$", name, pathlib.Path(other_key).read_text(), flags=re.MULTILINE)
    (tmp_path / "people.key").touch(0o600)
    (tmp_path / "people.key").write_text(text)
    with pytest.raises(sealstone.Error, match="does not fit the manifest"):
        sealstone.open(sealed, manifest, key=str(tmp_path / "people.key"))
    changed = manifest.replace('tweak = "column"', 'tweak = "none"', 1)
    assert changed != manifest
    with pytest.raises(sealstone.Error, match="does not fit the manifest"):
        sealstone.open(sealed, changed, key=key)
    with pytest.raises(sealstone.Error, match="manifest"):
        sealstone.open(sealed, "no manifest", key=key)
    with pytest.raises(sealstone.Error, match="no key file at"):
        sealstone.open(sealed, manifest, key=str(tmp_path / "missing.key"))
    with pytest.raises(sealstone.Error, match="no key\n"):
        sealstone.open(sealed, manifest)


def test_keys_that_were_rotated(tmp_path):
    command(tmp_path, "keys", "new", "turned.key")
    key = str(tmp_path / "turned.key")
    phone = sealstone.Column("phone=ff1:phone", key=key, table="people")
    sealed = phone.seal(pyarrow.array(PHONES))
    command(tmp_path, "keys", "rotate", "turned.key")
    later = sealstone.Column("phone=ff1:phone", key=key, table="people")
    assert later.seal(pyarrow.array(PHONES)).to_pylist() != sealed.to_pylist()
    assert sealstone.open(sealed, phone.manifest, key=key).to_pylist() == PHONES


def test_passphrases(tmp_path, monkeypatch):
    monkeypatch.delenv("SEALSTONE_PASSPHRASE_FILE", raising=False)
    secret = "correct horse battery"
    passphrase = tmp_path / "passphrase"
    passphrase.touch(0o600)
    passphrase.write_text(secret + "\n")
    command(tmp_path, "keys", "new", "locked.key", "--passphrase-file", str(passphrase))
    key = str(tmp_path / "locked.key")
    with pytest.raises(sealstone.Error, match="protected by a passphrase"):
        sealstone.Column("phone=ff1:phone", key=key, table="people")
    named = sealstone.Column("phone=ff1:phone", key=key, table="people", passphrase_file=passphrase)
    monkeypatch.setenv("SEALSTONE_PASSPHRASE_FILE", str(passphrase))
    found = sealstone.Column("phone=ff1:phone", key=key, table="people")
    assert found.seal(pyarrow.array(PHONES)).equals(named.seal(pyarrow.array(PHONES)))
    assert secret not in f"{found!r} {vars(found)} {found.manifest}"


def test_nothing_shows_the_key(policy, key, people):
    secret = next(line for line in pathlib.Path(key).read_text().splitlines() if line.startswith("secret"))
    secret = secret.split('"')[1]
    sealed, manifest = sealstone.seal(polars.DataFrame(people), policy)
    column = sealstone.Column("phone=ff1:phone", key=key, table="people")
    words = f"{policy!r} {column!r} {column._cipher!r} {manifest} {sealed} {column.manifest}"
    assert secret not in words and secret.upper() not in words and key not in repr(policy) + repr(column)
    for refused in [policy, column]:
        with pytest.raises(TypeError):
            pickle.dumps(refused)
        with pytest.raises(TypeError):
            copy.deepcopy(refused)


def test_columns_that_are_not_there(policy, people, key):
    for make in [pandas.DataFrame, polars.DataFrame, pyarrow.table]:
        data = {("phome" if name == "phone" else name): values for name, values in people.items()}
        with pytest.raises(sealstone.Error, match=r"no column phone; did you mean phome\?"):
            sealstone.seal(make(data), policy)
        del people["id"]
        with pytest.raises(sealstone.Error, match="no column id"):
            sealstone.seal(make(people), policy)
        people["id"] = [1, 2, 30, 4]
        with pytest.raises(sealstone.Error, match="a column phone_index already"):
            sealstone.seal(make({**people, "phone_index": people["phone"]}), policy)
        sealed, manifest = sealstone.seal(make(people), policy)
        without = sealed.drop(columns="phone_index") if make is pandas.DataFrame else sealed.drop(["phone_index"])
        with pytest.raises(sealstone.Error, match="no column phone_index"):
            sealstone.open(without, manifest, key=key)
    twice = pandas.DataFrame([["1", "2"]], columns=["phone", "phone"])
    one = sealstone.Policy.parse(f'key = "{key}"\n[tables.t.columns.phone]\nmethod = "aead"')
    with pytest.raises(sealstone.Error, match="2 columns are called phone"):
        sealstone.seal(twice, one)


def test_other_types_are_refused(phone, key):
    for values in [pyarrow.array([1]), pandas.Series([1.5]), polars.Series([True]), pyarrow.array([b"x"])]:
        with pytest.raises(sealstone.Error, match="text alone can"):
            phone.seal(values)
    for values in [pyarrow.array([1]).dictionary_encode(), pandas.Series([1.5], dtype="category")]:
        with pytest.raises(sealstone.Error, match="cast them to text first"):
            phone.seal(values)
    with pytest.raises(sealstone.Error) as caught:
        phone.seal(pandas.Series(["Secret99", 5, 2.5], dtype=object))
    assert "several types" in str(caught.value) and "Secret99" not in str(caught.value)
    with pytest.raises(sealstone.Error, match="no Arrow data: list"):
        phone.seal(["010-1234-5678"])
    policy = sealstone.Policy.parse(f'key = "{key}"\n[tables.t.columns.phone]\nmethod = "aead"\ntweak = "row:id"')
    with pytest.raises(sealstone.Error, match="cannot name rows"):
        sealstone.seal(pyarrow.table({"phone": ["a"], "id": [1.0]}), policy)
    with pytest.raises(sealstone.Error, match="collect"):
        sealstone.seal(polars.LazyFrame({"phone": ["a"]}), policy)
    with pytest.raises(sealstone.Error, match="builtins.dict is no table"):
        sealstone.seal({"phone": ["a"]}, policy)


def test_arguments_that_make_no_sense(policy, people, key):
    data = polars.DataFrame(people)
    for wrong, want in [
        ({"on_error": "ignore"}, "on_error is 'ignore'"),
        ({"threads": 0}, "threads is 0"),
        ({"table": "poeple"}, "did you mean people"),
        ({"column": "phone"}, "this is a table"),
    ]:
        with pytest.raises(sealstone.Error, match=want):
            sealstone.seal(data, policy, **wrong)
    with pytest.raises(sealstone.Error, match="not both"):
        sealstone.seal(data)
    with pytest.raises(sealstone.Error, match="unknown format"):
        sealstone.Column("phone=ff1:phon", key=key, table="people")
    with pytest.raises(sealstone.Error, match="unknown cipher"):
        sealstone.Column("phone=aead", key=key, table="people", cipher="aes-257")
    with pytest.raises(sealstone.Error, match="cannot read policy"):
        sealstone.Policy.from_file("missing.toml")
    with pytest.raises(sealstone.Error, match="method is missing"):
        sealstone.Policy.parse("[tables.a.columns.b]")
    two = sealstone.Policy.parse('[tables.a.columns.b]\nmethod = "aead"\n[tables.c.columns.b]\nmethod = "aead"')
    with pytest.raises(sealstone.Error, match='a, c\nsay which: table="NAME"'):
        sealstone.seal(data, two)
    with pytest.raises(sealstone.Error, match="no key: name one with key="):
        sealstone.seal(data, two, table="a")
    with pytest.warns(UserWarning, match="3des"):
        sealstone.Column("memo=aead", key=key, table="people", cipher="3des")


def test_threads_share_a_column(phone):
    values = pyarrow.array([f"010-1234-{n:06}" for n in range(20_000)])
    wanted, failures = phone.seal(values), []

    def work():
        for _ in range(5):
            if not phone.open(phone.seal(values)).equals(values) or not phone.seal(values).equals(wanted):
                failures.append("other values")

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


def test_other_threads_run_beside_it(phone):
    values = pyarrow.array([f"010-1234-{n % 1_000_000:06}" for n in range(300_000)])
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    phone.seal(values, threads=1)
    after = counted[0]
    stop.set()
    thread.join()
    # with the interpreter's lock held, it would not have counted at all
    assert after - before > 5


def test_forked_processes_have_no_key(phone):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            phone.seal(pyarrow.array(PHONES), threads=1)
            os.write(writer, b"sealed")
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writer)
    said = b"".join(iter(lambda: os.read(reader, 4096), b"")).decode()
    os.waitpid(child, 0)
    assert said.startswith("Error: this process was forked"), said
