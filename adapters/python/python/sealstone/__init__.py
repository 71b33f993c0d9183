"""Columns of tables, sealed in place: in their own format (FF1, so that no schema changes), or as authenticated values.

    sealed, manifest = sealstone.seal(people, sealstone.Policy.from_file("fields.toml"))
    people = sealstone.open(sealed, manifest, key="people.key")

Data are tables (``pandas.DataFrame``, ``polars.DataFrame``, ``pyarrow.Table`` and ``RecordBatch``, relations of DuckDB)
or single columns (``Series``, arrays), and come back as what they were; a relation comes back as a ``pyarrow.Table``,
which DuckDB queries by its name. Values are those of ``sealstone field``: what one seals the other opens.
``sealstone.spark`` does the same on a cluster.

A null stays null. A value that does not fit its format ends the call with :class:`Misfit`, which names rows and never
values; nothing is passed through in the clear.
"""

from __future__ import annotations

import builtins
import os
import warnings
from typing import Any, NamedTuple, Optional, Union

from . import _columns
from ._sealstone import Error, Policy, TableCipher, __version__, manifest_columns

__all__ = ["Column", "Error", "Misfit", "Policy", "Sealed", "__version__", "open", "seal"]

_ROWS_NAMED = 5


class Misfit(Error):
    """Values that do not fit their format, or sealed values that do not open. No message names a value.

    ``column``: the name of the column; ``count``: how many values there are; ``rows``: for the first of them (100 at
    most) the number of the row, from 0, and the reason.
    """

    def __init__(self, column: str, count: int, rows: list[tuple[int, str]], place: str = "") -> None:
        super().__init__(column, count, rows, place)
        self.column = column
        self.count = count
        self.rows = rows
        self.place = place

    def __str__(self) -> str:
        values = "1 value does" if self.count == 1 else f"{self.count} values do"
        named = "; ".join(f"row {row}: {reason}" for row, reason in self.rows[:_ROWS_NAMED])
        more = "; and more" if self.count > _ROWS_NAMED else ""
        step = 'nothing was returned; correct the rows, or have such values made null: on_error="null"'
        return f"column {self.column}{self.place}: {values} not fit: {named}{more}\n{step}"


class Sealed(NamedTuple):
    """What :func:`seal` returns: ``data``, of the type that was given, and ``manifest``, which says under which key and
    how it is sealed. The manifest holds no secret. Keep it: without it the data cannot be opened."""

    data: Any
    manifest: str


def seal(
    data: Any,
    policy: Optional[Policy] = None,
    *,
    table: Optional[str] = None,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    manifest: Union[str, os.PathLike[str], None] = None,
    column: Optional[str] = None,
    rows: Any = None,
    on_error: str = "fail",
    threads: Optional[int] = None,
) -> Sealed:
    """Seals the columns of ``data`` that ``policy`` names, and leaves all others as they are.

    - ``table``: which table of the policy it is; needed where the policy has several
    - ``key``: a key file or a key server, as the command line takes it; else the one that the policy names
    - ``passphrase_file``: a file with the passphrase of the key file; else the one that the variable
      SEALSTONE_PASSPHRASE_FILE of the environment names
    - ``manifest``: instead of a policy, what an earlier call returned: seals in the same way, under the same version of
      the key, so that both parts open with the one manifest
    - ``column``, ``rows``: where ``data`` is a single column: which one of the table it is, and the column that names
      the rows, if the policy binds it to one
    - ``on_error``: ``"fail"``, or ``"null"``, which makes values that do not fit null; they are lost then
    - ``threads``: how many threads work; else as many as there are processors

    Raises :class:`Misfit`; :class:`Error` for keys, policies, and columns that are not there or hold no text.
    """
    if (policy is None) == (manifest is None):
        raise Error("no policy\ngive a policy, or the manifest of what was sealed before, and not both")
    if manifest is not None:
        cipher = TableCipher.of_manifest(_text(manifest), _key(key, None, table), _path(passphrase_file))
    else:
        cipher = TableCipher.of_policy(policy, table, key, _path(passphrase_file))
    if cipher.caveat is not None:
        warnings.warn(f"{cipher.cipher}: {cipher.caveat}", stacklevel=2)
    sealed = _columns.crypt(_Work(cipher, True, on_error, threads), data, column, rows)
    return Sealed(sealed, cipher.manifest)


def open(
    data: Any,
    manifest: Union[str, os.PathLike[str]],
    policy: Optional[Policy] = None,
    *,
    key: Optional[str] = None,
    passphrase_file: Union[str, os.PathLike[str], None] = None,
    column: Optional[str] = None,
    rows: Any = None,
    on_error: str = "fail",
    threads: Optional[int] = None,
) -> Any:
    """Opens the sealed columns of ``data``, and removes its index columns.

    - ``manifest``: what :func:`seal` returned, or a path (``pathlib.Path``) of the manifest that ``sealstone field
      seal`` wrote beside a file
    - ``policy``: names the key, where ``key`` does not; how the data are sealed is in the manifest

    All else as :func:`seal`. Another key and a changed manifest are errors. What was changed in ``data`` is an error
    where the method is ``aead``; ``ff1`` has no room for a tag, so a changed value opens to another one.
    """
    text = _text(manifest)
    spec = _key(key, policy, manifest_columns(text)[0])
    cipher = TableCipher.of_manifest(text, spec, _path(passphrase_file))
    return _columns.crypt(_Work(cipher, False, on_error, threads), data, column, rows)


class Column:
    """One column with its key, for arrays and series.

        phone = sealstone.Column("phone=ff1:phone", key="people.key")
        sealed = phone.seal(people["phone"])

    - ``spec``: ``NAME=METHOD``, such as ``memo=aead``
    - ``table``: the name of the table; values are bound to it, and to the name of the column
    - ``cipher``: else the one that the key is for, or the usual one
    - ``tweak``: ``"column"``, ``"none"``, or ``"row:OTHER"``
    - ``index``: how many bits an index value has, if :meth:`index` is to make some
    - ``keep_empty``: whether an empty text stays empty; ``small_domain``: whether values may be so few that all can be
      tried

    ``manifest`` opens the values later, after the key was rotated, too:
    ``sealstone.open(sealed, phone.manifest, key=…)``.
    """

    def __init__(
        self,
        spec: str,
        *,
        key: str,
        table: str,
        passphrase_file: Union[str, os.PathLike[str], None] = None,
        cipher: Optional[str] = None,
        tweak: str = "column",
        index: Optional[int] = None,
        keep_empty: bool = False,
        small_domain: bool = False,
    ) -> None:
        self._cipher = TableCipher.of_column(
            spec,
            table,
            key,
            passphrase_file=_path(passphrase_file),
            cipher=cipher,
            tweak=tweak,
            index=index,
            keep_empty=keep_empty,
            small_domain=small_domain,
        )
        if self._cipher.caveat is not None:
            warnings.warn(f"{self._cipher.cipher}: {self._cipher.caveat}", stacklevel=2)

    @property
    def manifest(self) -> str:
        """What is needed to open the values later, beside the key; no secret."""
        return self._cipher.manifest

    def seal(self, values: Any, rows: Any = None, *, on_error: str = "fail", threads: Optional[int] = None) -> Any:
        """Seals ``values``, an array or a series, and returns the same kind of object."""
        return _columns.crypt_one(_Work(self._cipher, True, on_error, threads), 0, values, rows)

    def open(self, values: Any, rows: Any = None, *, on_error: str = "fail", threads: Optional[int] = None) -> Any:
        """Opens ``values``, which were sealed."""
        return _columns.crypt_one(_Work(self._cipher, False, on_error, threads), 0, values, rows)

    def index(self, values: Any, *, threads: Optional[int] = None) -> Any:
        """The index values of ``values``, which are in the clear."""
        return _columns.index_one(_Work(self._cipher, True, "fail", threads), 0, values)

    def __repr__(self) -> str:
        return f"<sealstone.Column of {self._cipher!r}>"


class _Work:
    """What is to be done with each column of a table."""

    def __init__(self, cipher: TableCipher, seals: bool, on_error: str, threads: Optional[int], place: str = "") -> None:
        if on_error not in ("fail", "null"):
            raise Error(f'on_error is {on_error!r}\ngive "fail" or "null"')
        if threads is not None and threads < 1:
            raise Error(f"threads is {threads}\ngive 1 or more")
        self.cipher, self.seals, self.on_error, self.threads, self.place = cipher, seals, on_error, threads, place

    @property
    def columns(self) -> list[tuple[str, Optional[str], Optional[str]]]:
        """Name, column of rows, index column of each column."""
        return self.cipher.columns

    def crypt(self, column: int, values: Any, rows: Any) -> Any:
        """Seals or opens what has Arrow's capsules."""
        name, row, _ = self.columns[column]
        if row is not None and rows is None:
            raise Error(f"column {name} is bound to column {row}, which was not given\ngive it as rows=…")
        work = self.cipher.seal if self.seals else self.cipher.open
        chunks, count, named = work(column, values, rows if row is not None else None, self.threads)
        if count and self.on_error == "fail":
            raise Misfit(name, count, named, self.place)
        return chunks

    def index(self, column: int, values: Any) -> Any:
        """The index values of what has Arrow's capsules."""
        return self.cipher.index(column, values, self.threads)


def _text(manifest: Union[str, os.PathLike[str]]) -> str:
    if isinstance(manifest, str):
        return manifest
    path = os.fspath(manifest)
    try:
        with builtins.open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Error(f"cannot read manifest {path}: {error.strerror}") from error


def _path(path: Union[str, os.PathLike[str], None]) -> Optional[str]:
    return None if path is None else os.fspath(path)


def _key(key: Optional[str], policy: Optional[Policy], table: Optional[str]) -> str:
    found = key if key is not None or policy is None else policy.key(table)
    if found is None:
        raise Error("no key\nname the key source with key=…, or give a policy that names it")
    return found
