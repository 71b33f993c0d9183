"""Files by Spark's workers: what the command line writes, whole or not at all, whatever becomes of a task."""

import os
import pathlib
import signal
import threading
import time

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.serializers import CloudPickleSerializer

import sealstone
import sealstone.spark
from conftest import command, secrets_of
from sealstone import _spark_files

# nothing of it is drawn at random, so that two runs write the same bytes
POLICY = """
cipher = "aria-256"
key = "{key}"
[tables.people.columns.rrn]
method = "ff1"
format = "rrn"
[tables.people.columns.phone]
method = "ff1"
format = "phone"
index = {{ bits = 32 }}
"""
HEADER = "id,rrn,phone,note"


@pytest.fixture
def policy(key) -> sealstone.Policy:
    return sealstone.Policy.parse(POLICY.format(key=key))


def part(rows: range) -> str:
    # quoted line ends are why no file is cut into pieces
    lines = [f'{n},870605-1234567,010-{n % 10_000:04}-{n * 7 % 10_000:04},"a ""note""\nof {n}"' for n in rows]
    return "\n".join([HEADER, *lines]) + "\n"


@pytest.fixture
def lake(tmp_path) -> pathlib.Path:
    """A table in parts, as a data lake keeps it, and what else lies there."""
    lake = tmp_path / "lake"
    for number, name in enumerate(["part-0.csv", "part-1.csv", "year=2025/part-0.csv"]):
        (lake / name).parent.mkdir(parents=True, exist_ok=True)
        (lake / name).write_text(part(range(number * 500, number * 500 + 500)))
    rows = range(1_500, 2_000)
    columns = {"id": list(rows), "rrn": ["870605-1234567"] * 500, "phone": [f"010-1234-{n:04}" for n in rows]}
    pyarrow.parquet.write_table(pyarrow.table(columns), lake / "part-2.parquet")
    (lake / "_SUCCESS").touch()
    (lake / ".part-0.csv.crc").write_bytes(b"crc")
    return lake


NAMES = ["part-0.csv", "part-1.csv", "part-2.parquet", "year=2025/part-0.csv"]


def below(directory: pathlib.Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def by_command_line(directory: pathlib.Path, name: str, key: str) -> bytes:
    """What the command line makes of a file."""
    (directory / "fields.toml").write_text(POLICY.format(key=key))
    out = directory / "by-command-line"
    command(directory, "field", "seal", f"lake/{name}", "--policy", "fields.toml", "--out", str(out), "--yes")
    return out.read_bytes()


def test_what_the_command_line_writes(spark, lake, policy, key, tmp_path):
    out = tmp_path / "sealed"
    written = sealstone.spark.seal_files(spark, lake, out, policy)
    assert written == [(str(out / name), 500, 0) for name in NAMES]
    assert below(out) == sorted([*NAMES, *(f"{name}.sealed.toml" for name in NAMES)])
    for name in NAMES:
        sealed = (out / name).read_bytes()
        assert sealed == by_command_line(tmp_path, name, key), name
        assert sealed != (lake / name).read_bytes()
        # with its manifest, which has a MAC over the whole file
        opened = tmp_path / "opened"
        command(tmp_path, "field", "open", f"sealed/{name}", "--key", key, "--out", str(opened), "--yes")
        if name.endswith(".csv"):
            assert opened.read_bytes() == (lake / name).read_bytes(), name
        else:
            assert pyarrow.parquet.read_table(opened).equals(pyarrow.parquet.read_table(lake / name))
    # and back
    back = tmp_path / "back"
    assert len(sealstone.spark.open_files(spark, out, back, policy)) == 4
    assert below(back) == NAMES
    for name in (name for name in NAMES if name.endswith(".csv")):
        assert (back / name).read_bytes() == (lake / name).read_bytes()
        assert (back / name).stat().st_mode & 0o777 == 0o600


def test_what_the_command_line_sealed_opens(spark, lake, key, tmp_path):
    (tmp_path / "fields.toml").write_text(POLICY.format(key=key))
    (tmp_path / "sealed").mkdir()
    words = ["field", "seal", "lake/part-0.csv", "--policy", "fields.toml", "--out", "sealed/part-0.csv"]
    command(tmp_path, *words)
    back = tmp_path / "back"
    sealstone.spark.open_files(spark, tmp_path / "sealed/part-0.csv", back, key=key)
    assert (back / "part-0.csv").read_bytes() == (lake / "part-0.csv").read_bytes()


def test_files_are_named_in_several_ways(spark, lake, policy, tmp_path):
    def names(number: int, files) -> list[str]:
        out = tmp_path / f"out-{number}"
        return [os.path.relpath(file.path, out) for file in sealstone.spark.seal_files(spark, files, out, policy)]

    assert names(0, lake / "part-0.csv") == ["part-0.csv"]
    assert names(1, f"file://{lake}/part-?.csv") == ["part-0.csv", "part-1.csv"]
    assert names(2, [lake / "part-1.csv", str(lake / "*.parquet")]) == ["part-1.csv", "part-2.parquet"]
    with pytest.raises(sealstone.Error, match="would both be written as"):
        names(3, [lake / "part-0.csv", lake / "year=2025/part-0.csv"])
    assert not (tmp_path / "out-3").exists()


def test_how_a_file_is_written(spark, policy, tmp_path):
    (tmp_path / "a.csv").write_bytes(part(range(5)).replace(",", ";").replace("note", "메모").encode("cp949"))
    out = tmp_path / "out"
    sealstone.spark.seal_files(spark, tmp_path / "a.csv", out, policy, delimiter=";", encoding="CP949")
    assert (out / "a.csv").read_bytes().decode("cp949").startswith("id;rrn;phone;메모;phone_index\n0;")
    with pytest.raises(sealstone.Error, match="unknown encoding \"latin1\"\nknown encodings: UTF-8, CP949"):
        sealstone.spark.seal_files(spark, tmp_path / "a.csv", out, policy, encoding="latin1")
    with pytest.raises(sealstone.Error, match="unknown delimiter 'x'"):
        sealstone.spark.seal_files(spark, tmp_path / "a.csv", out, policy, delimiter="x")


def test_a_value_that_does_not_fit(spark, lake, policy, tmp_path):
    out = tmp_path / "sealed"
    with open(lake / "part-1.csv", "a") as file:
        file.write("7,870605-1234567,Secret99,n\n")
    with pytest.raises(sealstone.Error) as caught:
        sealstone.spark.seal_files(spark, lake, out, policy)
    words = str(caught.value).splitlines()
    # a record has two lines
    assert words[0].startswith(f"{lake}/part-1.csv, line 1002, column phone: character 1 is"), words
    assert words[1].endswith('on_error="report"') and "Secret99" not in str(caught.value)
    # not the other files either, and nothing by another name
    assert below(out) == [] and list(out.iterdir()) == []
    written = sealstone.spark.seal_files(spark, lake, out, policy, on_error="report")
    assert [file.left_out for file in written] == [0, 1, 0, 0]
    assert (out / "part-1.csv.rejects.csv").read_text().splitlines()[1].startswith("1002,phone,")
    assert below(out) == sorted([*NAMES, *(f"{name}.sealed.toml" for name in NAMES), "part-1.csv.rejects.csv"])


def test_files_that_cannot_be_sealed(spark, lake, policy, tmp_path):
    out = tmp_path / "out"

    def refused(files, words: str, **how) -> None:
        with pytest.raises(sealstone.Error, match=words):
            sealstone.spark.seal_files(spark, files, out, policy, **how)
        assert not out.exists() or list(out.iterdir()) == []

    refused(tmp_path / "none.csv", r"cannot read .*none\.csv: there is no such file")
    refused(f"{lake}/*.txt", r"cannot read .*\*\.txt: there is no such file")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no files")
    for address in ["hdfs://node/lake", "s3a://bucket/lake", "dbfs:/lake"]:
        refused(address, f"{address}: files must be at a path that every machine has")
    refused(lake, "on_error is 'null'", on_error="null")
    (lake / "part-1.csv").write_text("")
    refused(lake, r"part-1\.csv, it is empty")
    (lake / "part-1.csv").write_text("id,phone,note\n1,010-1234-5678,n\n")
    refused(lake, r'part-1\.csv, line 1: no column "rrn"')
    (lake / "part-1.csv").write_text(f'{HEADER}\n1,"870605-1234567,010-1234-5678,n\n')
    refused(lake, r"part-1\.csv, line 2: the quote that opens here is never closed")
    (lake / "part-1.csv").unlink()
    (lake / "part-1.csv").symlink_to(lake / "gone.csv")
    with pytest.raises(sealstone.Error, match="it is the file|there is no such file"):
        sealstone.spark.seal_files(spark, lake / "part-1.csv", out, policy)


def test_a_target_that_is_there(spark, lake, policy, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-1.csv").write_text("mine")
    with pytest.raises(sealstone.Error, match=r"part-1\.csv is there already\n.*overwrite=True"):
        sealstone.spark.seal_files(spark, lake, out, policy)
    assert below(out) == ["part-1.csv"] and (out / "part-1.csv").read_text() == "mine"
    sealstone.spark.seal_files(spark, lake, out, policy, overwrite=True)
    assert len((out / "part-1.csv").read_text().splitlines()) == 1_001
    # a manifest alone is worth as much: without it a sealed file that was moved away would be lost
    (out / "part-1.csv").unlink()
    with pytest.raises(sealstone.Error, match=r"part-1\.csv\.sealed\.toml is there already"):
        sealstone.spark.seal_files(spark, lake / "part-1.csv", out, policy)
    with pytest.raises(sealstone.Error, match="the output would replace .*, which is read"):
        sealstone.spark.seal_files(spark, lake, lake, policy, overwrite=True)


def test_a_changed_file_is_not_opened(spark, lake, policy, key, other_key, tmp_path):
    sealed, back = tmp_path / "sealed", tmp_path / "back"
    sealstone.spark.seal_files(spark, lake / "part-0.csv", sealed, policy)
    with open(sealed / "part-0.csv", "a") as file:
        file.write((sealed / "part-0.csv").read_text().splitlines(keepends=True)[1].replace("0", "1", 1))
        file.write('of 1",00000000\n')
    with pytest.raises(sealstone.Error, match=r"(?s)part-0\.csv is not the file that .* open it with changed=True"):
        sealstone.spark.open_files(spark, sealed, back, key=key)
    assert below(back) == []
    assert sealstone.spark.open_files(spark, sealed, back, key=key, changed=True)[0].rows == 501
    with pytest.raises(sealstone.Error, match="version 1 not found in key file .*other.key"):
        sealstone.spark.open_files(spark, sealed, back, key=other_key, overwrite=True)
    (sealed / "part-0.csv.sealed.toml").unlink()
    with pytest.raises(sealstone.Error, match="no manifest .*: it says how"):
        sealstone.spark.open_files(spark, sealed, back, key=key, overwrite=True)


def test_a_key_that_cannot_be_had(spark, lake, policy, key, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(sealstone.Error, match="no key file at"):
        sealstone.spark.seal_files(spark, lake, out, policy, key=str(tmp_path / "none.key"))
    assert not out.exists()
    # by the workers alone
    copied = tmp_path / "people.key"
    copied.touch(0o600)
    copied.write_text(pathlib.Path(key).read_text())

    class Taken:
        @staticmethod
        def of_policy(*arguments):
            cipher = sealstone._sealstone.TableCipher.of_policy(*arguments)
            copied.unlink()
            return cipher

    monkeypatch.setattr(_spark_files, "TableCipher", Taken)
    with pytest.raises(sealstone.Error, match="no key file at"):
        sealstone.spark.seal_files(spark, lake, out, policy, key=str(copied))
    assert list(out.iterdir()) == []


def test_one_version_of_the_key(spark, lake, tmp_path, monkeypatch):
    command(tmp_path, "keys", "new", "turned.key")
    policy = sealstone.Policy.parse(POLICY.format(key=tmp_path / "turned.key"))

    class Turned:
        @staticmethod
        def of_policy(*arguments):
            cipher = sealstone._sealstone.TableCipher.of_policy(*arguments)
            command(tmp_path, "keys", "rotate", "turned.key")
            return cipher

    monkeypatch.setattr(_spark_files, "TableCipher", Turned)
    out = tmp_path / "out"
    sealstone.spark.seal_files(spark, lake, out, policy)
    assert all("key-version = 1" in (out / f"{name}.sealed.toml").read_text() for name in NAMES)
    assert len(sealstone.spark.open_files(spark, out, tmp_path / "back", policy)) == 4


def test_no_key_is_sent(spark, lake, policy, key, tmp_path, monkeypatch):
    taken = []
    frame = type(spark.range(1))
    real = frame.mapInArrow
    monkeypatch.setattr(frame, "mapInArrow", lambda self, work, schema: taken.append(work) or real(self, work, schema))
    sealstone.spark.seal_files(spark, lake, tmp_path / "out", policy)
    sealstone.spark.open_files(spark, tmp_path / "out", tmp_path / "back", policy)
    assert len(taken) == 2
    for work in taken:
        pickled = CloudPickleSerializer().dumps(work)
        # the search would find what is there
        assert key.encode() in pickled and b"_task" in pickled
        for secret in secrets_of(key):
            assert secret not in pickled
        held = [cell.cell_contents for cell in work.__closure__]
        assert len(held) == 1
        files = held[0][1]
        assert all(isinstance(text, str) for file in files for text in file)
        assert all(isinstance(value, (str, int, type(None))) for value in held[0] if value is not files)


def job_of(cipher, files, staging: pathlib.Path, key: str) -> _spark_files._Job:
    staging.mkdir(parents=True)
    return _spark_files._Job(cipher.manifest, files, str(staging), key, None, ",", "UTF-8", False, "fail", 1)


def test_a_task_that_runs_twice(lake, key, tmp_path):
    # values with fresh nonces, so that the two attempts differ, and so do their manifests
    text = POLICY.format(key=key) + '[tables.people.columns.note]\nmethod = "aead"\n'
    cipher = sealstone._sealstone.TableCipher.of_policy(sealstone.Policy.parse(text))
    out = tmp_path / "out"
    files = ((str(lake / "part-0.csv"), "part-0.csv"),)
    job = job_of(cipher, files, out / ".sealstone-job", key)
    # both to their end, in whichever order
    first, second = (_spark_files._one(job, 0, attempt) for attempt in ["0.1", "0.2"])
    assert first == second == (500, 0)
    staged = [pathlib.Path(job.staging, attempt, "part-0.csv").read_bytes() for attempt in ["0.1", "0.2"]]
    assert staged[0] != staged[1]
    _spark_files._move(job, str(out), 0, "0.2", *second)
    _spark_files._remove(job.staging)
    assert below(out) == ["part-0.csv", "part-0.csv.sealed.toml"] and list(out.iterdir())
    assert (out / "part-0.csv").read_bytes() == staged[1]
    command(tmp_path, "field", "open", "out/part-0.csv", "--key", key, "--out", "opened.csv")
    assert (tmp_path / "opened.csv").read_bytes() == (lake / "part-0.csv").read_bytes()
    # one that starts when all is over writes nothing
    with pytest.raises(sealstone.Error, match="No such file or directory\nthe files, and the directory"):
        _spark_files._one(job, 0, "0.3")
    assert below(out) == ["part-0.csv", "part-0.csv.sealed.toml"]


def writers(directory: pathlib.Path) -> list[int]:
    """The processes that write below a directory."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            links = [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
        except OSError:
            continue
        if int(process) != os.getpid() and any(link.startswith(f"{directory}/") for link in links):
            found.append(int(process))
    return found


def test_a_worker_that_is_killed(spark, policy, key, tmp_path):
    lake, out = tmp_path / "lake", tmp_path / "out"
    lake.mkdir()
    text = part(range(400_000))
    for name in ["a.csv", "b.csv"]:
        (lake / name).write_text(text)
    killed = []

    def kill() -> None:
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            for process in writers(out):
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        written = sealstone.spark.seal_files(spark, lake, out, policy)
    finally:
        killer.join()
    assert killed
    assert [file.rows for file in written] == [400_000, 400_000]
    # nothing of what was killed is left, hidden or not
    assert sorted(path.name for path in out.iterdir()) == ["a.csv", "a.csv.sealed.toml", "b.csv", "b.csv.sealed.toml"]
    assert (out / "a.csv").read_bytes() == (out / "b.csv").read_bytes() == by_command_line(tmp_path, "a.csv", key)


def test_a_passphrase_file(spark, lake, tmp_path):
    passphrase = tmp_path / "passphrase"
    passphrase.touch(0o600)
    passphrase.write_text("correct horse battery\n")
    command(tmp_path, "keys", "new", "locked.key", "--passphrase-file", str(passphrase))
    policy = sealstone.Policy.parse(POLICY.format(key=tmp_path / "locked.key"))
    out = tmp_path / "out"
    assert len(sealstone.spark.seal_files(spark, lake, out, policy, passphrase_file=passphrase)) == 4
    words = ["field", "open", str(out / "part-0.csv"), "--key", "locked.key", "--out", "opened.csv"]
    command(tmp_path, *words, "--passphrase-file", str(passphrase))
    assert (tmp_path / "opened.csv").read_bytes() == (lake / "part-0.csv").read_bytes()
