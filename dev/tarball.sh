#!/bin/sh
# Makes a tarball of what was built, for any Linux with the glibc of this machine or a newer one; prints its path.
# usage: tarball.sh BUILD-WITH-ITS-OWN-ROCKSDB BUILD-WITH-THE-SYSTEM'S-ROCKSDB DIRECTORY-FOR-THE-TARBALL
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
own=$(cd "$1" && pwd)
system=$(cd "$2" && pwd)
mkdir -p "$3"
out=$(cd "$3" && pwd)
umask 022

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml" | head -n 1)
name=sealstone-$version-$(uname -m)-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# programs load this one beside the RocksDB of their system; with another C++ library inside it would not fit
mkdir "$work/built"
for file in sealstone libsealstone_wiredtiger.so libsealstone_mariadb.so libsealstone_fields.so; do
	cp "$own/$file" "$work/built/$file"
done
cp "$system/libsealstone_rocksdb_plugin.so" "$work/built/"
for file in "$work"/built/*; do
	strip --strip-unneeded "$file"
done
for file in "$work"/built/*; do
	name_of_file=${file##*/}
	# this one alone is linked with the RocksDB of a system, and with its C++ library
	[ "$name_of_file" != libsealstone_rocksdb_plugin.so ] || continue
	if ldd "$file" | grep -E 'librocksdb|libstdc\+\+'; then
		echo "tarball: $name_of_file still needs a library that not every Linux has; build it as make tarball does" >&2
		exit 2
	fi
done
sh "$source/dev/install.sh" "$work/built" "$work/$name"
# a C++ library is linked in, whose licence its package has; that of RocksDB lies in its crate
cargo run --quiet --locked --manifest-path "$source/Cargo.toml" --package xtask -- licences tarball \
	"$work/$name/LICENCES-THIRD-PARTY.txt" libstdc++=/usr/share/doc/libstdc++6/copyright

# the same commit makes the same tarball
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || date +%s)}
tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf "$work/tar" "$name"
gzip -9nc "$work/tar" >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"
