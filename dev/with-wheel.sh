#!/bin/sh
# Installs the wheel (second argument) into a folder of its own, and runs the Python of the environment (first argument)
# that dev/setup.sh made with it; further arguments are Python's.
set -eu

python=$1/bin/python
wheel=$2
shift 2
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT

"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$installed" "$wheel"
# Spark's workers take the Python and the packages of the driver
export PYTHONPATH="$installed" PYTHONDONTWRITEBYTECODE=1 PYSPARK_PYTHON="$python" SPARK_LOCAL_IP=127.0.0.1
"$python" "$@"
