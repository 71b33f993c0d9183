"""Tables of other libraries as columns that have Arrow's capsules, and back. Not here: what is done with a column."""

from __future__ import annotations

import difflib
from typing import Any, Optional

from ._sealstone import Error


def crypt(work: Any, data: Any, column: Optional[str], rows: Any) -> Any:
    """Does ``work`` with the columns of a table, or with a single column."""
    if _is_column(data):
        return crypt_one(work, _number(work, data, column), data, rows)
    if column is not None or rows is not None:
        raise Error("column and rows are for single columns, and this is a table\nleave them out")
    data = _table(data)
    names = _names(data)
    replaced, added, dropped = {}, {}, []
    for number, (name, row, index) in enumerate(work.columns):
        values = _column(data, names, name)
        replaced[name] = work.crypt(number, values, None if row is None else _column(data, names, row))
        if index is None:
            continue
        if not work.seals:
            _find(names, index)
            dropped.append(index)
        elif index in names:
            raise index_there(name, index)
        else:
            added[index] = (name, work.index(number, values))
    return _put(data, names, replaced, added, dropped)


def index_there(name: str, index: str) -> Error:
    """That the column ``index`` cannot be added."""
    return Error(f"there is a column {index} already, where the index of {name} would go\nname the index otherwise")


def crypt_one(work: Any, number: int, values: Any, rows: Any) -> Any:
    """Does ``work`` with a single column."""
    rows = None if rows is None else _capsules(rows)
    return _like(values, work.crypt(number, _capsules(values), rows))


def index_one(work: Any, number: int, values: Any) -> Any:
    """The index values of a single column."""
    return _like(values, work.index(number, _capsules(values)))


def _library(data: Any) -> str:
    return type(data).__module__.split(".")[0]


def _is_column(data: Any) -> bool:
    kind = type(data).__name__
    if _library(data) in ("pandas", "polars"):
        return kind == "Series"
    if _library(data) == "pyarrow":
        return kind not in ("Table", "RecordBatch", "RecordBatchReader")
    return False


def _table(data: Any) -> Any:
    """``data``, if its library is known; else the table of pyarrow that it becomes."""
    library, kind = _library(data), type(data).__name__
    if kind in {"pandas": ["DataFrame"], "polars": ["DataFrame"], "pyarrow": ["Table", "RecordBatch"]}.get(library, []):
        return data
    if (library, kind) == ("polars", "LazyFrame"):
        raise Error("a LazyFrame has no values yet\ncall collect() first")
    if library == "pyspark":
        raise Error("Spark's workers seal and open its tables\nuse sealstone.spark.seal and sealstone.spark.open")
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _pyarrow().table(data)
    raise Error(
        f"{library}.{kind} is no table that can be read\n"
        "give a table or a column of pandas, Polars or pyarrow, a relation of DuckDB, or what has __arrow_c_stream__"
    )


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise Error("pyarrow is missing, by which such data are read\ninstall it: pip install pyarrow") from error
    return pyarrow


def _names(data: Any) -> list[str]:
    if _library(data) == "pyarrow":
        return list(data.schema.names)
    return list(data.columns)


def _find(names: list[str], name: str) -> int:
    found = [number for number, known in enumerate(names) if known == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise Error(f"{len(found)} columns are called {name}\nrename all but one")
    texts = [str(known) for known in names]
    near = difflib.get_close_matches(name, texts, 1, 0.0)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise Error(f"no column {name}{hint}\ncolumns: {', '.join(texts)}")


def _column(data: Any, names: list[str], name: str) -> Any:
    number = _find(names, name)
    if _library(data) == "polars":
        return data.get_column(name)
    if _library(data) == "pyarrow":
        return data.column(number)
    return _capsules(data[name])


def _capsules(values: Any) -> Any:
    """``values`` as something with Arrow's capsules."""
    if _library(values) != "pandas":
        return values
    pyarrow = _pyarrow()
    if len(getattr(values.dtype, "categories", "text")) == 0:
        # nulls alone, and nothing says of what
        values = values.astype(object)
    try:
        # the index stays behind
        return pyarrow.Array.from_pandas(values)
    except (pyarrow.ArrowException, TypeError, ValueError):
        # the message quotes a value
        raise Error(
            f"column {values.name} holds objects of several types: text alone can be sealed or opened\n"
            'cast it to text first, such as astype("str")'
        ) from None


def _number(work: Any, values: Any, column: Optional[str]) -> int:
    """Which column of the table a single one is: the one that is named, or the only one."""
    names = [name for name, _, _ in work.columns]
    given = column if column is not None else getattr(values, "name", None)
    if column is None and len(names) == 1:
        return 0
    if given in names:
        return names.index(given)
    if column is not None:
        return _find(names, column)
    raise Error(f"which column of the table it is, is not said\nname it: column=…, one of {', '.join(names)}")


def _like(values: Any, chunks: Any) -> Any:
    """``chunks`` as an object of the library, and with the type and name, of ``values``."""
    library, kind = _library(values), type(values).__name__
    if library == "pandas":
        return _series(values, chunks)
    if library == "polars":
        import polars

        return polars.Series(chunks).alias(values.name)
    if library == "pyarrow":
        pyarrow = _pyarrow()
        return pyarrow.chunked_array(chunks) if kind == "ChunkedArray" else pyarrow.array(chunks.chunk())
    return chunks if hasattr(values, "__arrow_c_stream__") else chunks.chunk()


def _plain_dtype(values: Any) -> Any:
    """The type of a series of pandas, or that of its categories: sealed values are none of these, and as categories in
    the order of the clear ones they would show it."""
    import pandas

    if not isinstance(values.dtype, pandas.CategoricalDtype):
        return values.dtype
    categories = values.dtype.categories
    return categories.dtype if len(categories) else object


def _series(values: Any, chunks: Any) -> Any:
    import pandas

    arrow, dtype = _pyarrow().chunked_array(chunks), _plain_dtype(values)
    if hasattr(dtype, "__from_arrow__"):
        array = dtype.__from_arrow__(arrow)
    else:
        # objects: a text each, and None
        array = arrow.to_pylist()
    return pandas.Series(array, index=values.index, name=values.name, dtype=dtype)


def _put(
    data: Any, names: list[str], replaced: dict[str, Any], added: dict[str, tuple[str, Any]], dropped: list[str]
) -> Any:
    """``data`` with other columns; itself it stays as it is. ``added`` names the column that an index is of."""
    if _library(data) == "polars":
        import polars

        new = {**replaced, **{name: chunks for name, (_, chunks) in added.items()}}
        # the name that comes with the data is that of the column that an index is of
        columns = [polars.Series(chunks).alias(name) for name, chunks in new.items()]
        return data.with_columns(columns).drop(dropped)
    if _library(data) == "pyarrow":
        return _put_arrow(data, names, replaced, added, dropped)
    result = data.copy(deep=False)
    for name, chunks in replaced.items():
        result[name] = _series(data[name], chunks)
    for name, (source, chunks) in added.items():
        result[name] = _series(data[source], chunks)
    return result.drop(columns=dropped)


def _put_arrow(
    data: Any, names: list[str], replaced: dict[str, Any], added: dict[str, tuple[str, Any]], dropped: list[str]
) -> Any:
    pyarrow = _pyarrow()

    def whole(chunks: Any) -> Any:
        if isinstance(data, pyarrow.RecordBatch):
            return pyarrow.array(chunks.chunk())
        return pyarrow.chunked_array(chunks)

    for name, chunks in replaced.items():
        number, values = names.index(name), whole(chunks)
        # what is known of the column stays: its metadata, unless they may have the entries of a dictionary in the clear
        field = data.schema.field(number)
        field = field.remove_metadata() if pyarrow.types.is_dictionary(field.type) else field
        field = field.with_type(values.type).with_nullable(True)
        data = data.set_column(number, field, values)
    for name, (_, chunks) in added.items():
        data = data.append_column(name, whole(chunks))
    return data.drop_columns(dropped) if dropped else data
