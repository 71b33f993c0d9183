"""Spark on several workers: the same values as without it, and no key in what is sent. Not here: single machines."""

import os
import pathlib
import sqlite3
import subprocess

import pandas
import pytest
from pyspark.serializers import CloudPickleSerializer

import sealstone
import sealstone.spark
import test_guide
from conftest import POLICY, command, secrets_of, written
from test_guide import directory  # noqa: F401

ROWS = 3_000


@pytest.fixture(scope="session")
def clear() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "id": range(ROWS),
            "rrn": ["870605-1234567" if n % 5 else None for n in range(ROWS)],
            "phone": [f"010-{n:04}-{n * 7:06}" for n in range(ROWS)],
            "memo": [f"memo {n}" if n % 7 else None for n in range(ROWS)],
            "note": ["n"] * ROWS,
        }
    )


@pytest.fixture
def table(spark, clear):
    rows = [tuple(None if pandas.isna(value) else value for value in row) for row in clear.itertuples(index=False)]
    return spark.createDataFrame(rows, "id long, rrn string, phone string, memo string, note string").repartition(4)


def columns(table) -> dict[str, list]:
    rows = sorted(table.collect(), key=lambda row: row["id"])
    return {name: [row[name] for row in rows] for name in table.columns}


def lists(data) -> dict[str, list]:
    return {name: [None if pandas.isna(value) else value for value in data[name]] for name in data.columns}


def test_what_is_sealed_opens(table, clear, policy, key):
    sealed, manifest = sealstone.spark.seal(table, policy)
    assert sealed.columns == ["id", "rrn", "phone", "memo", "note", "phone_index"]
    seen = columns(sealed)
    alone = lists(sealstone.seal(clear, manifest=manifest, key=key).data)
    # aead draws a nonce for each value
    for name in ["id", "rrn", "phone", "note", "phone_index"]:
        assert seen[name] == alone[name], name
    opened = sealstone.spark.open(sealed, manifest, policy)
    assert opened.schema == table.schema and columns(opened) == lists(clear)
    # what Spark sealed opens without it, and the other way round
    assert lists(sealstone.open(sealed.toPandas().sort_values("id"), manifest, key=key)) == lists(clear)


def test_several_workers(table, policy):
    sealed, _ = sealstone.spark.seal(table, policy)

    def processes(batches):
        import pyarrow

        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"process": [os.getpid()] * batch.num_rows})

    rows = sealed.mapInArrow(processes, "process long").distinct().collect()
    assert len(rows) >= 2 and os.getpid() not in [row["process"] for row in rows]


def sent(frame) -> bytes:
    """What Spark shows of a query, and the function that it sends to the workers."""
    java = frame._jdf.queryExecution()
    plans = [java.logical(), java.analyzed(), java.optimizedPlan(), java.sparkPlan(), java.executedPlan()]
    shown = "".join(f"{plan.toString()} {plan.treeString()} {plan.toJSON()}" for plan in plans) + java.toString()
    command = java.analyzed().functionExpr().func().command()
    function = command if isinstance(command, bytes) else bytes(command.apply(n) % 256 for n in range(command.length()))
    return shown.encode() + function


def test_no_key_is_sent(table, policy, key, tmp_path):
    passphrase = tmp_path / "passphrase"
    passphrase.touch(0o600)
    passphrase.write_text("correct horse battery\n")
    command(tmp_path, "keys", "new", "locked.key", "--passphrase-file", str(passphrase))
    locked = str(tmp_path / "locked.key")
    locked_policy = sealstone.Policy.parse(POLICY.format(key=locked))
    plain, manifest = sealstone.spark.seal(table, policy)
    protected, locked_manifest = sealstone.spark.seal(table, locked_policy, passphrase_file=passphrase)
    frames = [
        plain,
        protected,
        sealstone.spark.open(plain, manifest, key=key),
        sealstone.spark.open(protected, locked_manifest, key=locked, passphrase_file=passphrase),
    ]
    secrets = [*secrets_of(key), b"correct horse battery"]
    for frame in frames:
        everything = sent(frame)
        # the search would find what is there
        assert b"_partition" in everything and (key.encode() in everything or locked.encode() in everything)
        for secret in secrets:
            assert secret not in everything
    assert columns(frames[3])["phone"] == columns(table)["phone"]


def test_the_function_that_is_sent_holds_texts_only(table, policy, key, monkeypatch):
    taken = []
    monkeypatch.setattr(type(table), "mapInArrow", lambda frame, work, schema: taken.append(work) or frame)
    sealstone.spark.seal(table, policy)
    pickled = CloudPickleSerializer().dumps(taken[0])
    assert key.encode() in pickled
    for secret in secrets_of(key):
        assert secret not in pickled
    held = [cell.cell_contents for cell in taken[0].__closure__]
    assert all(isinstance(value, (str, bool, type(None))) for value in held), held


def test_workers_fetch_the_key(table, policy, key, tmp_path):
    copied = tmp_path / "people.key"
    copied.touch(0o600)
    copied.write_text(pathlib.Path(key).read_text())
    sealed, _ = sealstone.spark.seal(table, policy, key=str(copied))
    copied.unlink()
    with pytest.raises(Exception, match="no key file at"):
        sealed.collect()


@pytest.fixture
def key_server(tmp_path):
    """A key server with a key for AES-256: the address of the key, the secrets on it, and what ends it."""
    up = [os.environ["SEALSTONE_BIN"], "lab", "up", "pykmip", "--dir", "kms"]
    started = subprocess.run(up, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if started.returncode != 0:
        pytest.skip(started.stderr.splitlines()[0])
    address = f"kmip:{tmp_path}/kms/lab.kms/key.toml"
    try:
        command(tmp_path, "keys", "new", address)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        databases = [path for path in files if path.read_bytes()[:15] == b"SQLite format 3"]
        secrets = [
            bytes(value)
            for path in databases
            for (value,) in sqlite3.connect(path).execute("SELECT value FROM managed_objects")
        ]
        assert [len(secret) for secret in secrets] == [32]
        yield address, secrets, lambda: command(tmp_path, "lab", "down", "kms")
    finally:
        subprocess.run([*up[:2], "down", "kms"], cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL)


def test_workers_ask_a_key_server(table, clear, key_server):
    address, secrets, end = key_server
    policy = sealstone.Policy.parse(POLICY.replace("aria-256", "aes-256").format(key=address))
    sealed, manifest = sealstone.spark.seal(table, policy)
    opened = sealstone.spark.open(sealed, manifest, policy)
    assert columns(opened) == lists(clear)
    for frame in [sealed, opened]:
        everything = sent(frame)
        assert address.encode() in everything and b"PRIVATE KEY" not in everything
        for secret in secrets:
            assert not any(text in everything for text in written(secret))
    # of another manifest no worker has the key yet
    later, _ = sealstone.spark.seal(table, policy)
    end()
    with pytest.raises(Exception, match="127.0.0.1"):
        later.collect()


def test_a_rotated_key_is_not_mixed(table, clear, tmp_path):
    command(tmp_path, "keys", "new", "turned.key")
    key = str(tmp_path / "turned.key")
    policy = sealstone.Policy.parse(POLICY.format(key=key))
    sealed, manifest = sealstone.spark.seal(table, policy)
    command(tmp_path, "keys", "rotate", "turned.key")
    assert columns(sealstone.spark.open(sealed, manifest, key=key)) == lists(clear)


def test_values_that_do_not_fit(spark, policy):
    schema = "id long, rrn string, phone string, memo string"
    rows = [(n, None, "010-1234-567890" if n != 700 else "Secret99", None) for n in range(1_000)]
    table = spark.createDataFrame(rows, schema).coalesce(1)
    sealed, _ = sealstone.spark.seal(table, policy)
    with pytest.raises(Exception) as caught:
        sealed.collect()
    words = str(caught.value)
    assert "column phone, partition 0: 1 value does not fit: row 700: character 1 is" in words
    assert "Secret99" not in words
    null, _ = sealstone.spark.seal(table, policy, on_error="null")
    assert columns(null)["phone"][700] is None


def test_what_is_wrong_is_said_by_the_driver(spark, table, policy, key, other_key):
    with pytest.raises(sealstone.Error, match=r"no column phone; did you mean phome\?"):
        sealstone.spark.seal(table.withColumnRenamed("phone", "phome"), policy)
    with pytest.raises(sealstone.Error, match="column phone is of type bigint"):
        sealstone.spark.seal(table.drop("phone").withColumnRenamed("note", "x").withColumn("phone", table.id), policy)
    with pytest.raises(sealstone.Error, match="a column phone_index already"):
        sealstone.spark.seal(table.withColumn("phone_index", table.note), policy)
    sealed, manifest = sealstone.spark.seal(table, policy)
    with pytest.raises(sealstone.Error, match="no column phone_index"):
        sealstone.spark.open(sealed.drop("phone_index"), manifest, key=key)
    with pytest.raises(sealstone.Error, match="on_error is"):
        sealstone.spark.seal(table, policy, on_error="ignore")
    with pytest.raises(sealstone.Error, match="Spark's workers seal and open"):
        sealstone.seal(table, policy)
    with pytest.raises(Exception, match="other"):
        sealstone.spark.open(sealed, manifest, key=other_key).collect()


def test_the_guide(spark, directory):  # noqa: F811
    policy = sealstone.Policy.parse(test_guide.POLICY.replace("people.key", f"{directory}/people.key"))
    names = {"spark": spark, "policy": policy}
    (directory / "lake/people").mkdir(parents=True)
    (directory / "lake/people/part-0.csv").write_text((directory / "people.csv").read_text())
    for block in test_guide.blocks(spark=True):
        exec(block.replace('"people.csv"', f'"{directory}/people.csv"'), names)
    assert [row["rrn"] for row in names["people"].collect()] == ["870605-1234567"]
    assert (directory / "lake/people-clear/part-0.csv").read_text() == (directory / "people.csv").read_text()
