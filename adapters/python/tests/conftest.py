"""What the tests share: keys, a policy, people, and a session of Spark. Not here: tests."""

import base64
import os
import pathlib
import subprocess

import pytest

import sealstone

PHONES = ["010-1234-5678", "010-8765-4321", None, "02-312-5678-99"]
RRNS = ["870605-1234567", "000101-3000002", "991231-2345678", None]
MEMOS = ["first", "둘째, quoted", None, ""]
IDS = [1, 2, 30, 4]

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
[tables.people.columns.memo]
method = "aead"
tweak = "row:id"
empty = "keep"
"""


def command(directory: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    """Runs the command line, which must succeed."""
    binary = os.environ["SEALSTONE_BIN"]
    done = subprocess.run([binary, *words], cwd=directory, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A key file."""
    path = tmp_path_factory.mktemp("keys") / "people.key"
    command(path.parent, "keys", "new", str(path))
    return str(path)


@pytest.fixture(scope="session")
def other_key(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another key file."""
    path = tmp_path_factory.mktemp("keys") / "other.key"
    command(path.parent, "keys", "new", str(path))
    return str(path)


@pytest.fixture(scope="session")
def policy(key: str) -> sealstone.Policy:
    """A policy with one table, people, that names the key."""
    return sealstone.Policy.parse(POLICY.format(key=key))


@pytest.fixture
def people() -> dict[str, list]:
    """The columns of a table, with nulls."""
    return {"id": IDS, "rrn": RRNS, "phone": PHONES, "memo": MEMOS, "note": ["a", None, "c", "d"]}


def written(secret: bytes) -> list[bytes]:
    """A secret, and the ways in which it is usually written."""
    digits = secret.hex().encode()
    return [secret, digits, digits.upper(), base64.b64encode(secret), repr(secret)[2:-1].encode()]


def secrets_of(key: str) -> list[bytes]:
    """The key of a file without a passphrase."""
    line = next(line for line in pathlib.Path(key).read_text().splitlines() if line.startswith("secret"))
    return written(bytes.fromhex(line.split('"')[1]))


@pytest.fixture(scope="session")
def spark():
    """Spark with two workers on this machine, which tries a task that failed once more."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2, 2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
