"""Tables of Spark, and files that Spark's workers can reach, sealed and opened by the workers.

    sealed, manifest = sealstone.spark.seal(people, sealstone.Policy.from_file("fields.toml"))
    people = sealstone.spark.open(sealed, manifest, key="kmip:/etc/sealstone/kms.toml")

    sealstone.spark.seal_files(spark, "/lake/people", "/lake/people-sealed", policy)

What lies in files is sealed by :func:`seal_files` in a fraction of the time, since no row passes through Spark; a table
that is the result of a query is sealed by :func:`seal`.

No key is in the plan of the query, nor in what is sent to the workers: they get the manifest, and where the key is (the
path of a key file, or ``kmip:…``), and fetch it themselves. So a key server must let them in, or the key file, and the
file with its passphrase, must be at the same path on every machine. The package must be installed there, too.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Optional, Union

from . import Error, Misfit, Policy, Sealed, _columns, _key, _path, _spark_files, _text, _Work
from ._sealstone import TableCipher, manifest_columns
from ._spark_files import WrittenFile

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["WrittenFile", "open", "open_files", "seal", "seal_files"]

Path = Union[str, "os.PathLike[str]"]


def seal(
    df: DataFrame,
    policy: Optional[Policy] = None,
    *,
    table: Optional[str] = None,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    manifest: Union[str, os.PathLike[str], None] = None,
    on_error: str = "fail",
) -> Sealed:
    """Seals the columns of ``df`` that ``policy`` names; arguments are those of :func:`sealstone.seal`.

    The driver asks the key source for the version of the key, once, so that all workers use the same one whenever the
    key is rotated. With ``manifest``, of an earlier call, it asks for nothing, and needs no access to the key.

    A value that does not fit fails the job that computes it, with an error that names column, partition and row.
    """
    if (policy is None) == (manifest is None):
        raise Error("no policy\ngive a policy, or the manifest of what was sealed before, and not both")
    if manifest is not None:
        text, spec = _text(manifest), _key(key, None, table)
    else:
        cipher = TableCipher.of_policy(policy, table, key, _path(passphrase_file))
        text, spec = cipher.manifest, _key(key, policy, cipher.table)
    return Sealed(_crypt(df, text, spec, _path(passphrase_file), True, on_error), text)


def open(
    df: DataFrame,
    manifest: Union[str, os.PathLike[str]],
    policy: Optional[Policy] = None,
    *,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    on_error: str = "fail",
) -> DataFrame:
    """Opens the sealed columns of ``df``; arguments are those of :func:`sealstone.open`. The driver needs no key."""
    text = _text(manifest)
    spec = _key(key, policy, manifest_columns(text)[0])
    return _crypt(df, text, spec, _path(passphrase_file), False, on_error)


def seal_files(
    spark: SparkSession,
    files: Union[Path, Iterable[Path]],
    out: Path,
    policy: Policy,
    *,
    table: Optional[str] = None,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    delimiter: str = ",",
    encoding: str = "UTF-8",
    on_error: str = "fail",
    overwrite: bool = False,
    threads: Optional[int] = None,
) -> list[WrittenFile]:
    """Seals the columns that ``policy`` names in CSV and Parquet files, a file a task, and returns what was written.

    Each file becomes what ``sealstone field seal`` makes of it, with a manifest of its own beside it, under one version
    of the key. All appear under their names when all are whole; if one cannot be sealed, none does.

    - ``files``: a directory, with what is below it; a file; a pattern such as ``/lake/people/*.csv``; or several of
      these. Paths that every machine has, on a disk or mounted. What begins with a dot or an underscore is left out
    - ``out``: the directory that is written; files of a directory have the same names below it
    - ``delimiter``, ``encoding``: of CSV files, whose first line names the columns; ``"UTF-8"`` or ``"CP949"``
    - ``on_error``: ``"fail"``, or ``"report"``, which leaves rows that do not fit out, and lists them in
      ``NAME.rejects.csv``
    - ``overwrite``: whether files that are there already are replaced
    - ``threads``: how many work on a file; else as many as a task of Spark may use (``spark.task.cpus``)

    All else as :func:`sealstone.seal`. Raises :class:`Error`, with the words of the command line: file, line, column.
    """
    path = _path(passphrase_file)
    return _spark_files.seal(
        spark, files, out, policy, table, key, path, delimiter, encoding, on_error, overwrite, threads
    )


def open_files(
    spark: SparkSession,
    files: Union[Path, Iterable[Path]],
    out: Path,
    policy: Optional[Policy] = None,
    *,
    table: Optional[str] = None,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    changed: bool = False,
    on_error: str = "fail",
    overwrite: bool = False,
    threads: Optional[int] = None,
) -> list[WrittenFile]:
    """Opens sealed files, each with its manifest beside it, a file a task, and returns what was written: files that
    nobody but the user may read that the workers run as.

    A file that is not as it was sealed is an error, unless ``changed`` says that it may be. All else as
    :func:`seal_files`; the policy names the key, where ``key`` does not.
    """
    spec = _key(key, policy, table)
    return _spark_files.open(spark, files, out, spec, _path(passphrase_file), changed, on_error, overwrite, threads)


def _crypt(
    df: DataFrame, manifest: str, key: str, passphrase_file: Optional[str], seals: bool, on_error: str
) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    if on_error not in ("fail", "null"):
        raise Error(f'on_error is {on_error!r}\ngive "fail" or "null"')
    _, columns = manifest_columns(manifest)
    names = list(df.columns)
    fields = {field.name: field for field in df.schema.fields}
    added, dropped = [], []
    for name, row, index in columns:
        _columns._find(names, name)
        if not isinstance(fields[name].dataType, StringType):
            kind = fields[name].dataType.simpleString()
            raise Error(f"column {name} is of type {kind}: text alone can be sealed or opened\ncast it to string first")
        if row is not None:
            _columns._find(names, row)
        if index is not None and seals:
            if index in names:
                raise _columns.index_there(name, index)
            added.append(StructField(index, StringType(), True))
        elif index is not None:
            _columns._find(names, index)
            dropped.append(index)
    sealed = {name for name, _, _ in columns}
    kept = [
        StructField(field.name, field.dataType, True, field.metadata) if field.name in sealed else field
        for field in df.schema.fields
        if field.name not in dropped
    ]

    def work(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        # by its name, so that the function that is sent holds the texts above, and nothing of this module
        from sealstone.spark import _partition

        return _partition(batches, manifest, key, passphrase_file, seals, on_error)

    return df.mapInArrow(work, StructType(kept + added))


@functools.lru_cache(maxsize=16)
def _cipher(manifest: str, key: str, passphrase_file: Optional[str], process: int) -> TableCipher:
    """What seals and opens in this process of a worker, which has many partitions."""
    return TableCipher.of_manifest(manifest, key, passphrase_file)


def _partition(
    batches: Iterator[Any], manifest: str, key: str, passphrase_file: Optional[str], seals: bool, on_error: str
) -> Iterator[Any]:
    """One partition, in a worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    place = "" if context is None else f", partition {context.partitionId()}"
    cipher = _cipher(manifest, key, passphrase_file, os.getpid())
    # Spark has a worker for each core already
    work = _Work(cipher, seals, on_error, 1, place)
    before = 0
    for batch in batches:
        try:
            yield _columns.crypt(work, batch, None, None)
        except Misfit as misfit:
            rows = [(before + row, reason) for row, reason in misfit.rows]
            raise Misfit(misfit.column, misfit.count, rows, misfit.place) from None
        before += batch.num_rows
