"""How long Spark takes to seal a table, beside the command line on as many cores: ``make spark-speed``.

Both read the same CSV file and write a sealed one, two columns by FF1. Rounds take turns, so that drift of the machine
hits both. What Spark takes to copy the file without sealing is measured, too: the difference is what sealing adds. Not
here: how fast a column is sealed by itself (``field_speed`` of ``sealstone-fields``).
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

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


def luhn(digits: str) -> str:
    """``digits`` with a check digit behind them."""
    doubled = [int(c) * (2 - n % 2) for n, c in enumerate(reversed(digits))]
    return digits + str(-sum(d // 10 + d % 10 for d in doubled) % 10)


def write(path: pathlib.Path, rows: int) -> None:
    """Made-up people."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,name,card,phone,note\n")
        for n in range(rows):
            card = luhn(f"{411_111_000_000_000 + n * 7919 % 1_000_000_000}")
            file.write(f"{n},name {n % 9973},{card},010-{n // 10_000 % 10_000:04}-{n % 10_000:04},a note of some length\n")


def seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    flags = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: flags.cores])
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sealstone-spark-"))
    try:
        measure(directory, flags.rows, flags.rounds, flags.cores)
    finally:
        shutil.rmtree(directory)


def measure(directory: pathlib.Path, rows: int, rounds: int, cores: int) -> None:
    people, key = directory / "people.csv", directory / "people.key"
    write(people, rows)
    binary = os.environ["SEALSTONE_BIN"]
    subprocess.run([binary, "keys", "new", key], check=True, stdout=subprocess.DEVNULL)
    fields = directory / "fields.toml"
    fields.write_text(POLICY.format(key=key))
    policy = sealstone.Policy.from_file(fields)
    session = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    spark = session.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    table = spark.read.csv(str(people), header=True)

    def by_command_line() -> None:
        out = directory / "by-command-line.csv"
        words = [binary, "field", "seal", people, "--policy", fields, "--out", out, "--yes", "--quiet"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def by_spark() -> None:
        sealed, _ = sealstone.spark.seal(table, policy)
        sealed.write.mode("overwrite").csv(str(directory / "by-spark"))

    def copied() -> None:
        table.write.mode("overwrite").csv(str(directory / "copied"))

    def passed() -> None:
        same = table.mapInArrow(lambda batches: batches, table.schema)
        same.write.mode("overwrite").csv(str(directory / "passed"))

    works = {"command line": by_command_line, "Spark": by_spark, "Spark, copy": copied, "Spark, Arrow": passed}
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            took = seconds(work)
            # the first round warms up
            if number > 0:
                taken[name].append(took)
    print(f"{rows} rows, {people.stat().st_size} bytes, two columns by FF1, {cores} cores, {rounds} rounds")
    for name, times in taken.items():
        print(f"{name:14} {statistics.median(times):8.2f} s  ({min(times):.2f} to {max(times):.2f})")
    ratios = [spark / line for spark, line in zip(taken["Spark"], taken["command line"])]
    print(f"Spark / command line: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    spark.stop()


if __name__ == "__main__":
    main()
