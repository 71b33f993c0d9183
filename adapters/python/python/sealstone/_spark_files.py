"""Files sealed and opened by Spark's workers, a file a task, for :mod:`sealstone.spark`. Not here: tables of Spark, and
the work on a file, which is written in Rust and is that of the command line.

A task writes to a directory of its own within the staging directory of the job. The driver moves what the tasks report
that succeeded to its place, and removes the rest: a task that runs twice, or is killed, does no harm.
"""

from __future__ import annotations

import builtins
import functools
import glob
import os
import re
import shutil
import socket
import time
import urllib.parse
import uuid
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ._sealstone import Error, FileCipher, Policy, TableCipher, check_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Path = Union[str, "os.PathLike[str]"]

MANIFEST = ".sealed.toml"
REJECTS = ".rejects.csv"
# what one task answers
_SCHEMA = "number long, attempt string, rows long, left_out long"


class WrittenFile(NamedTuple):
    """A file that was written: ``path``, how many ``rows`` it has, and how many were ``left_out`` and are listed beside
    it (``on_error="report"``)."""

    path: str
    rows: int
    left_out: int


class _Job(NamedTuple):
    """What the workers get: texts and numbers, never a key."""

    # none where files are opened
    manifest: Optional[str]
    # the path of each, and its name below the directory that is written
    files: tuple[tuple[str, str], ...]
    staging: str
    key: str
    passphrase_file: Optional[str]
    delimiter: str
    encoding: str
    changed: bool
    on_error: str
    threads: int


def seal(
    spark: SparkSession,
    files: Union[Path, Iterable[Path]],
    out: Path,
    policy: Policy,
    table: Optional[str],
    key: Optional[str],
    passphrase_file: Optional[str],
    delimiter: str,
    encoding: str,
    on_error: str,
    overwrite: bool,
    threads: Optional[int],
) -> list[WrittenFile]:
    """As :func:`sealstone.spark.seal_files`."""
    check_layout(delimiter, encoding)
    listed = _listed(files)
    # without a key nothing is made
    cipher = TableCipher.of_policy(policy, table, key, passphrase_file)
    if cipher.caveat is not None:
        warnings.warn(f"{cipher.cipher}: {cipher.caveat}", stacklevel=3)
    spec = key if key is not None else policy.key(cipher.table)
    assert spec is not None
    how = _Job(cipher.manifest, (), "", spec, passphrase_file, delimiter, encoding, False, on_error, threads or 0)
    return _run(spark, listed, out, how, overwrite)


def open(
    spark: SparkSession,
    files: Union[Path, Iterable[Path]],
    out: Path,
    key: str,
    passphrase_file: Optional[str],
    changed: bool,
    on_error: str,
    overwrite: bool,
    threads: Optional[int],
) -> list[WrittenFile]:
    """As :func:`sealstone.spark.open_files`."""
    how = _Job(None, (), "", key, passphrase_file, ",", "UTF-8", changed, on_error, threads or 0)
    return _run(spark, _listed(files), out, how, overwrite)


def _run(
    spark: SparkSession, listed: list[tuple[str, str]], out: Path, how: _Job, overwrite: bool
) -> list[WrittenFile]:
    if how.on_error not in ("fail", "report"):
        raise Error(f'on_error is {how.on_error!r}\ngive "fail" or "report"')
    # what a task of Spark may use
    threads = how.threads or int(spark.conf.get("spark.task.cpus", "1"))
    directory = os.path.abspath(_local(out))
    _check_targets(listed, directory, how.manifest is not None, overwrite)
    # the longest first, so that none is left over at the end
    listed = sorted(listed, key=lambda file: (-os.path.getsize(file[0]), file[1]))
    staging = os.path.join(directory, f".sealstone-{uuid.uuid4().hex}")
    job = how._replace(files=tuple(listed), staging=staging, threads=threads)
    try:
        os.makedirs(staging)
    except OSError as error:
        raise Error(f"cannot write {directory}: {error.strerror}") from error
    try:
        done = _done(spark, job)
        _check_targets(listed, directory, how.manifest is not None, overwrite)
        written = [_move(job, directory, *row) for row in done]
        for place in {os.path.dirname(file.path) for file in written}:
            _sync(place)
    finally:
        _remove(staging)
    return sorted(written)


def _done(spark: SparkSession, job: _Job) -> list[Any]:
    """What the tasks that succeeded answer, one for each file."""
    sent = tuple(job)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        # by its name, so that the function that is sent holds the texts above, and nothing of this module
        from sealstone._spark_files import _task

        return _task(batches, sent)

    tasks = len(job.files)
    try:
        return spark.range(0, tasks, 1, tasks).mapInArrow(work, _SCHEMA).collect()
    except Exception as failure:
        words = _last_words(job.staging)
        if words is None:
            raise
        raise Error(words) from failure


def _task(batches: Iterator[Any], sent: tuple[Any, ...]) -> Iterator[Any]:
    """One task, in a worker."""
    import pyarrow
    from pyspark import TaskContext

    job, context = _Job(*sent), TaskContext.get()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            # never the same twice
            attempt = f"{number}.{0 if context is None else context.taskAttemptId()}"
            rows, left_out = _one(job, number, attempt)
            answer = {"number": [number], "attempt": [attempt], "rows": [rows], "left_out": [left_out]}
            yield pyarrow.RecordBatch.from_pydict(answer)


@functools.lru_cache(maxsize=4)
def _cipher(key: str, passphrase_file: Optional[str], process: int) -> FileCipher:
    """What has the keys in this process of a worker, which has many files."""
    return FileCipher(key, passphrase_file)


def _one(job: _Job, number: int, attempt: str) -> tuple[int, int]:
    """Seals or opens one file, in a directory of the attempt's own; returns how many rows were written and left out."""
    path, name = job.files[number]
    place = os.path.join(job.staging, attempt)
    out = os.path.join(place, os.path.basename(name))
    try:
        _make(place)
        cipher = _cipher(job.key, job.passphrase_file, os.getpid())
        if job.manifest is None:
            return cipher.open(path, out, changed=job.changed, on_error=job.on_error, threads=job.threads)
        how = {"delimiter": job.delimiter, "encoding": job.encoding, "on_error": job.on_error, "threads": job.threads}
        return cipher.seal(path, out, job.manifest, **how)
    except Error as error:
        _leave_words(place, error)
        raise


def _make(place: str) -> None:
    try:
        # not what it is in: after the end of the job that is gone, and stays so
        os.mkdir(place)
    except OSError as error:
        raise Error(
            f"cannot write {place} on {socket.gethostname()}: {error.strerror}\n"
            "the files, and the directory that is written, must be at the same path on every machine"
        ) from error


def _leave_words(place: str, error: Error) -> None:
    """For the driver, who gets the words of Spark, many lines long."""
    try:
        with builtins.open(f"{place}.error", "w", encoding="utf-8") as file:
            file.write(str(error))
    except OSError:
        # then it gets those alone
        pass


def _last_words(staging: str) -> Optional[str]:
    """What the task said that failed last, for which Spark gave up."""
    left = [entry for entry in os.scandir(staging) if entry.name.endswith(".error")]
    if not left:
        return None
    last = max(left, key=lambda entry: entry.stat().st_mtime_ns)
    with builtins.open(last.path, encoding="utf-8") as file:
        return file.read()


def _move(job: _Job, directory: str, number: int, attempt: str, rows: int, left_out: int) -> WrittenFile:
    """Puts a whole file in its place: first what it cannot be opened without."""
    name = job.files[number][1]
    target = os.path.join(directory, name)
    made = os.path.join(job.staging, attempt, os.path.basename(name))
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if job.manifest is not None:
            os.replace(made + MANIFEST, target + MANIFEST)
        if left_out:
            os.replace(made + REJECTS, target + REJECTS)
        elif os.path.exists(target + REJECTS):
            # of an earlier run, of which nothing is left now
            os.remove(target + REJECTS)
        os.replace(made, target)
    except OSError as error:
        raise Error(f"cannot write {target}: {error.strerror}") from error
    return WrittenFile(target, rows, left_out)


def _sync(directory: str) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _remove(staging: str) -> None:
    """Removes what is left of a job; a task that Spark is about to kill may still be writing there."""
    for _ in range(20):
        shutil.rmtree(staging, ignore_errors=True)
        if not os.path.exists(staging):
            return
        time.sleep(0.1)


def _check_targets(listed: list[tuple[str, str]], directory: str, seals: bool, overwrite: bool) -> None:
    """That nothing is replaced which nobody wants replaced."""
    known: dict[str, str] = {}
    for path, name in listed:
        target = os.path.join(directory, name)
        if name in known:
            raise Error(f"{known[name]} and {path} would both be written as {target}\nwrite them to two directories")
        known[name] = path
        if os.path.exists(target) and os.path.samefile(path, target):
            raise Error(f"the output would replace {path}, which is read\nwrite to another directory")
        if overwrite:
            continue
        there = [found for found in ([target, target + MANIFEST] if seals else [target]) if os.path.exists(found)]
        if there:
            raise Error(f"{there[0]} is there already\nwrite to another directory, or replace it: overwrite=True")


def _listed(files: Union[Path, Iterable[Path]]) -> list[tuple[str, str]]:
    """The path of each file that is named, and its name below the directory that is written."""
    found: list[tuple[str, str]] = []
    for one in [files] if isinstance(files, (str, os.PathLike)) else files:
        path = os.path.abspath(_local(one))
        if os.path.isdir(path):
            below = _below(path)
            if not below:
                raise Error(f"{path} has no files\nname a directory, or files, with CSV or Parquet in them")
            found.extend(below)
        elif os.path.isfile(path):
            found.append((path, os.path.basename(path)))
        else:
            matched = [match for match in sorted(glob.glob(path)) if os.path.isfile(match) and _is_data(match)]
            if not matched:
                raise Error(f"cannot read {path}: there is no such file\nname files, a directory, or a pattern: *.csv")
            found.extend((match, os.path.basename(match)) for match in matched)
    return found


def _below(directory: str) -> list[tuple[str, str]]:
    """The files in a directory and below it, as Spark reads it: without what begins with a dot or an underscore."""
    found = []
    for place, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name[0] not in "._")
        for path in (os.path.join(place, name) for name in sorted(names)):
            if _is_data(path):
                found.append((path, os.path.relpath(path, directory)))
    return found


def _is_data(path: str) -> bool:
    name = os.path.basename(path)
    return name[0] not in "._" and not name.endswith((MANIFEST, REJECTS))


def _local(path: Path) -> str:
    """``path`` as every machine has it."""
    text = os.fspath(path)
    if text.startswith("file:"):
        # no more of it is an address: a pattern may have a question mark
        return urllib.parse.unquote(re.sub("^file:(//(localhost)?(?=/))?", "", text))
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", text)
    if scheme is not None:
        raise Error(
            f"{text}: files must be at a path that every machine has, on a disk or mounted\n"
            f"mount {scheme[1]}:, or read the table by spark.read, and seal that: sealstone.spark.seal"
        )
    return text
