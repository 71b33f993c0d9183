"""Tables of each library: what is sealed opens, and all that is not sealed stays as it is."""

import duckdb
import pandas
import polars
import pyarrow
import pytest

import sealstone

SEALED = ["rrn", "phone", "memo"]


def tables(people):
    """The same table in every library, and how its columns are read."""
    arrow = pyarrow.table(people)
    return {
        "pyarrow.Table": arrow,
        "pyarrow.RecordBatch": arrow.to_batches()[0],
        "pandas, strings": pandas.DataFrame(people),
        "pandas, objects": pandas.DataFrame(people, dtype=object).astype({"id": "int64"}),
        "pandas, Arrow": pandas.DataFrame(people).convert_dtypes(dtype_backend="pyarrow"),
        "polars": polars.DataFrame(people),
    }


def lists(table) -> dict[str, list]:
    """The columns of a table as lists, with None for nulls."""
    if isinstance(table, pandas.DataFrame):
        return {name: [None if pandas.isna(value) else value for value in table[name]] for name in table.columns}
    return table.to_dict(as_series=False) if isinstance(table, polars.DataFrame) else table.to_pydict()


KINDS = list(tables({"id": [1]}))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sealed_opens(kind, people, policy, key):
    data = tables(people)[kind]
    sealed, manifest = sealstone.seal(data, policy)
    assert type(sealed) is type(data)
    seen = lists(sealed)
    assert list(seen) == ["id", "rrn", "phone", "memo", "note", "phone_index"]
    for name in SEALED:
        for clear, hidden in zip(people[name], seen[name]):
            assert (clear is None) == (hidden is None), name
            assert hidden is None or (hidden != clear) == (clear != ""), name
    assert seen["id"] == people["id"] and seen["note"] == people["note"]
    assert seen["phone_index"][2] is None and len(seen["phone_index"][0]) == 8
    opened = sealstone.open(sealed, manifest, key=key)
    assert lists(opened) == people
    # what was given stays as it was
    assert lists(data) == people
    if kind.startswith("pandas"):
        assert dict(opened.dtypes) == dict(data.dtypes)
    elif kind == "polars":
        assert opened.schema == data.schema
    else:
        assert opened.schema.types == data.schema.types


def test_every_library_seals_to_the_same(people, policy):
    results = [lists(sealstone.seal(data, policy).data) for data in tables(people).values()]
    for result in results[1:]:
        assert result["rrn"] == results[0]["rrn"] and result["phone_index"] == results[0]["phone_index"]


def test_the_policy_names_the_key_again(people, policy):
    sealed, manifest = sealstone.seal(polars.DataFrame(people), policy)
    assert lists(sealstone.open(sealed, manifest, policy)) == people


def test_relations_of_duckdb(people, policy, key):
    arrow = pyarrow.table(people)
    connection = duckdb.connect()
    relation = connection.sql("select * from arrow order by id")
    sealed, manifest = sealstone.seal(relation, policy)
    assert isinstance(sealed, pyarrow.Table)
    # found by its index, and joined, within DuckDB
    index = sealed["phone_index"][0].as_py()
    found = connection.sql(f"select id from sealed where phone_index = '{index}'").fetchall()
    assert found == [(1,)]
    opened = sealstone.open(connection.sql("select * from sealed"), manifest, key=key)
    assert sorted(opened["rrn"].to_pylist(), key=str) == sorted(people["rrn"], key=str)


def test_tables_with_categories(people, policy, key):
    arrow = pyarrow.table(people)
    names = sorted({value for value in people["phone"] if value})
    polars_table = polars.DataFrame(people).with_columns(
        polars.col("rrn").cast(polars.Categorical), polars.col("phone").cast(polars.Enum(["010-9999-9999", *names]))
    )
    connection = duckdb.connect()
    connection.sql(f"create type numbers as enum ({', '.join(repr(name) for name in names)})")
    relation = connection.sql("select * replace (phone::numbers as phone) from arrow")
    pandas_table = pandas.DataFrame(people).astype({"rrn": "category", "phone": "category", "note": "category"})
    wanted = sealstone.seal(arrow, policy).data.to_pydict()
    for data in [polars_table, polars_table.to_arrow(), relation, pandas_table, pyarrow.Table.from_pandas(pandas_table)]:
        sealed, manifest = sealstone.seal(data, policy)
        seen = lists(sealed)
        for name in ["id", "rrn", "phone", "note", "phone_index"]:
            assert seen[name] == wanted[name], name
        assert lists(sealstone.open(sealed, manifest, key=key)) == people
        if isinstance(sealed, pyarrow.Table):
            # Polars keeps the values of an enum in the metadata
            assert "010-" not in sealed.schema.to_string(show_field_metadata=True)
            assert lists(sealed.to_pandas())["phone"] == wanted["phone"]
        if isinstance(sealed, pandas.DataFrame):
            assert sealed["note"].dtype == "category" and sealed["phone"].dtype == pandas.Series(["x"]).dtype


def test_an_index_of_pandas_stays(people, policy, key):
    data = pandas.DataFrame(people, index=[7, 7, "x", "y"])
    sealed, manifest = sealstone.seal(data, policy)
    assert list(sealed.index) == [7, 7, "x", "y"]
    pandas.testing.assert_frame_equal(sealstone.open(sealed, manifest, key=key), data)


def test_chunks_stay(people, policy, key):
    part = pyarrow.table(people)
    data = pyarrow.concat_tables([part, part.slice(1, 2), part.slice(4), part.slice(3)])
    sealed, manifest = sealstone.seal(data, policy)
    assert sealed["phone"].num_chunks == data["phone"].num_chunks
    assert sealstone.open(sealed, manifest, key=key).equals(data)
    # rows in other chunks than the values
    data = data.set_column(0, "id", pyarrow.chunked_array([data["id"].combine_chunks()]))
    sealed, manifest = sealstone.seal(data, policy)
    assert sealstone.open(sealed, manifest, key=key).to_pydict() == data.to_pydict()


@pytest.mark.parametrize("kind", KINDS)
def test_empty_tables(kind, people, policy, key):
    data = tables(people)[kind][:0]
    sealed, manifest = sealstone.seal(data, policy)
    assert len(sealed) == 0
    assert lists(sealstone.open(sealed, manifest, key=key)) == {name: [] for name in people}


def test_more_is_sealed_under_the_same_manifest(people, policy, key):
    one, manifest = sealstone.seal(polars.DataFrame(people), policy)
    two, again = sealstone.seal(polars.DataFrame(people), manifest=manifest, key=key)
    assert again == manifest
    both = sealstone.open(polars.concat([one, two]), manifest, key=key)
    assert both["rrn"].to_list() == people["rrn"] * 2


def test_large_tables_by_several_threads(policy, key):
    count = 200_000
    data = pyarrow.table(
        {
            "id": range(count),
            "rrn": [None] * count,
            "phone": [f"010-{n:04}-{n:06}" if n % 11 else None for n in range(count)],
            "memo": [f"memo {n}" for n in range(count)],
        }
    )
    sealed, manifest = sealstone.seal(data, policy, threads=4)
    alone, _ = sealstone.seal(data, policy, threads=1)
    assert sealed["phone"].equals(alone["phone"])
    assert sealstone.open(sealed, manifest, key=key, threads=3).equals(data)


def test_metadata_stay(people, policy):
    data = pyarrow.table(people).replace_schema_metadata({"made": "here"})
    sealed, _ = sealstone.seal(data, policy)
    assert sealed.schema.metadata == {b"made": b"here"}
