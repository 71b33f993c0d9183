#!/bin/sh
# Writes what each artefact of a release is made of, as CycloneDX, into a directory; prints the paths.
# usage: sbom.sh CARGO-CYCLONEDX DIRECTORY
set -eu

tool=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml" | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the tool writes beside each manifest, so it gets a copy of what is committed
git -C "$source" archive HEAD | tar -x -C "$work"
for part in crates/cli adapters/wiredtiger adapters/mariadb adapters/rocksdb-plugin adapters/fields-c adapters/python; do
	# the program of the archive has a RocksDB of its own: the crate librocksdb-sys, whose version ends with that of RocksDB
	case $part in crates/cli) features='--features bundled' ;; *) features='' ;; esac
	package=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$work/$part/Cargo.toml" | head -n 1)
	# shellcheck disable=SC2086
	(cd "$work/$part" && "$tool" cyclonedx --quiet --format json --spec-version 1.5 $features --override-filename bom)
	mv "$work/$part/bom.json" "$out/$package-$version.cdx.json"
	echo "$out/$package-$version.cdx.json"
done
