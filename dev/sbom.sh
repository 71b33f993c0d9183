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

# Takes the folder of a package, the name of its list, the features that it is built with besides its own, and NAME=VERSION of what is
# linked in and no crate.
list() {
	folder=$work/$1 file=$out/$2-$version.cdx.json features=$3
	shift 3
	(cd "$folder" && "$tool" cyclonedx --quiet --format json --spec-version 1.5 ${features:+--features "$features"} \
		--override-filename bom)
	mv "$folder/bom.json" "$file"
	cargo run --quiet --locked --manifest-path "$source/Cargo.toml" --package xtask -- sbom "$file" "$@"
	echo "$file"
}

# the tool writes beside each manifest, so it gets a copy of what is committed
git -C "$source" archive HEAD | tar -x -C "$work"
# The program of the tarball has a RocksDB of its own (the crate librocksdb-sys, whose version ends with that of RocksDB), and a
# C++ library, which is the compiler's; that of Debian's package is linked with Debian's.
list crates/cli sealstone-cli-tarball bundled "libstdc++=$(c++ -dumpfullversion)"
list crates/cli sealstone-cli-deb ''
for part in adapters/wiredtiger adapters/mariadb adapters/rocksdb-plugin adapters/fields-c adapters/python; do
	list "$part" "$(sed -n 's/^name = "\(.*\)"$/\1/p' "$work/$part/Cargo.toml" | head -n 1)" ''
done
