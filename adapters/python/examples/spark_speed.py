"""How long Spark takes to seal a table, beside the command line on as many cores: ``make spark-speed``.

All read the same files, the parts of one table, and write sealed ones, two columns of five by FF1. The command line
seals one part after the other, each on all cores; for CSV it also seals the whole table as one file. Rounds take turns,
so that drift of the machine hits all. What Spark takes to copy the table without sealing is measured, too. Not here:
how fast a column is sealed by itself (``field_speed`` of ``sealstone-fields``).
"""

import argparse
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import pyarrow.csv
import pyarrow.parquet
from pyspark.sql import SparkSession

import sealstone
import sealstone.spark

POLICY = """
key = "{key}"
[tables.people.columns.card]
method = "ff1"
format = "card:6-0"
[tables.people.columns.phone]
method = "ff1"
format = "phone"
"""
HEADER = "id,name,card,phone,note\n"
LINE = "the command line, part by part"


def luhn(digits: str) -> str:
    """``digits`` with a check digit behind them."""
    doubled = [int(c) * (2 - n % 2) for n, c in enumerate(reversed(digits))]
    return digits + str(-sum(d // 10 + d % 10 for d in doubled) % 10)


def write(path: pathlib.Path, rows: range) -> None:
    """Made-up people."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEADER)
        for n in rows:
            card = luhn(f"{411_111_000_000_000 + n * 7919 % 1_000_000_000}")
            phone = f"010-{n // 10_000 % 10_000:04}-{n % 10_000:04}"
            file.write(f"{n},name {n % 9973},{card},{phone},a note of some length\n")


def to_parquet(path: pathlib.Path) -> None:
    """A part as Parquet, all columns as text, as they are in CSV."""
    names = HEADER.strip().split(",")
    texts = pyarrow.csv.ConvertOptions(column_types={name: pyarrow.string() for name in names})
    table = pyarrow.csv.read_csv(path, convert_options=texts)
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    path.unlink()


def make(arguments: tuple[pathlib.Path, range, str]) -> None:
    path, rows, kind = arguments
    write(path, rows)
    if kind == "parquet":
        to_parquet(path)


def seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=8, help="into how many files the table is divided")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    flags = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: flags.cores])
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sealstone-spark-"))
    try:
        measure(directory, flags)
    finally:
        shutil.rmtree(directory)


def measure(directory: pathlib.Path, flags: argparse.Namespace) -> None:
    lake, key, kind = directory / "lake", directory / "people.key", flags.format
    lake.mkdir()
    bounds = [flags.rows * part // flags.parts for part in range(flags.parts + 1)]
    parts = [(lake / f"part-{n}.csv", range(*bounds[n : n + 2]), kind) for n in range(flags.parts)]
    with multiprocessing.Pool(flags.cores) as pool:
        pool.map(make, parts, chunksize=1)
    binary = os.environ["SEALSTONE_BIN"]
    subprocess.run([binary, "keys", "new", key], check=True, stdout=subprocess.DEVNULL)
    fields = directory / "fields.toml"
    fields.write_text(POLICY.format(key=key))
    session = SparkSession.builder.master(f"local[{flags.cores}]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false")
    spark = session.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    works = works_of(spark, directory, lake, binary, fields, kind)
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(flags.rounds + 1):
        for name, work in works.items():
            took = seconds(work)
            # the first round warms up
            if number > 0:
                taken[name].append(took)
    spark.stop()
    size = sum(part.stat().st_size for part in lake.iterdir())
    print(f"{flags.rows} rows, {size} bytes of {kind} in {flags.parts} parts, two columns of five by FF1,", end=" ")
    print(f"{flags.cores} cores, {flags.rounds} rounds")
    for name, times in taken.items():
        ratios = [one / line for one, line in zip(times, taken[LINE])]
        spread = f"({min(times):.2f} to {max(times):.2f})"
        times_line = f"{statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name:32} {statistics.median(times):8.2f} s  {spread:18} {times_line}")


def works_of(
    spark: SparkSession, directory: pathlib.Path, lake: pathlib.Path, binary: str, fields: pathlib.Path, kind: str
) -> dict:
    """What is measured, by the names that are printed."""
    policy = sealstone.Policy.from_file(fields)
    parts, out = sorted(lake.iterdir()), directory / "out"
    out.mkdir()
    table = spark.read.csv(str(lake), header=True) if kind == "csv" else spark.read.parquet(str(lake))

    def seal(file: pathlib.Path) -> None:
        words = [binary, "field", "seal", file, "--policy", fields, "--out", out / file.name, "--yes", "--quiet"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def save(frame, name: str) -> None:
        writer = frame.write.mode("overwrite")
        (writer.option("header", True).csv if kind == "csv" else writer.parquet)(str(directory / name))

    def by_command_line() -> None:
        for part in parts:
            seal(part)

    def by_files() -> None:
        sealstone.spark.seal_files(spark, lake, directory / "by-files", policy, overwrite=True)

    def by_spark() -> None:
        save(sealstone.spark.seal(table, policy).data, "by-spark")

    def copied() -> None:
        save(table, "copied")

    def passed() -> None:
        save(table.mapInArrow(lambda batches: batches, table.schema), "passed")

    works = {LINE: by_command_line}
    if kind == "csv":
        whole = directory / "people.csv"
        with open(whole, "wb") as file:
            file.write(HEADER.encode())
            for part in parts:
                file.write(part.read_bytes()[len(HEADER) :])
        works["the command line, one file"] = lambda: seal(whole)
    works |= {"seal_files": by_files, "seal": by_spark, "Spark copies": copied, "Spark copies by way of Arrow": passed}
    return works


if __name__ == "__main__":
    main()
