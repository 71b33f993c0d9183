#!/bin/sh
# Runs what crosses a language boundary under AddressSanitizer (argument `address`) or ThreadSanitizer (argument `thread`):
# the callbacks of the extension for WiredTiger and of the plug-in for MariaDB, a session of WiredTiger's own program with that extension, and the tests of
# the adapter for RocksDB with its shim in C++. The library of RocksDB and WiredTiger itself are not instrumented.
#
# Sanitizers are not a stable option of the compiler, so RUSTC_BOOTSTRAP enables them; ThreadSanitizer must see the
# standard library, too, which is then built from its source (component rust-src).
set -eu

kind=${1:?say address or thread}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sealstone
target=x86_64-unknown-linux-gnu
[ "$(uname -sm)" = 'Linux x86_64' ] || {
	echo "SKIP: sanitize: only on Linux x86-64"
	exit 0
}

export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=$kind -Cforce-frame-pointers=yes"
# proc macros and build scripts run in the compiler, which is not instrumented: --target keeps the flags from them
export CARGO_TARGET_DIR="$cache/target-sanitize-$kind"
export CXXFLAGS="${CXXFLAGS:-} -fsanitize=$kind -fno-omit-frame-pointer -g"
# The ciphers, whose code exists once for each backend, take twenty minutes to optimise under a sanitizer. Without that,
# what was inlined has a separate frame for each value, more than a test thread has by default.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 RUST_MIN_STACK=67108864
# WiredTiger and RocksDB keep memory to the end of the process; the search is for memory that is used wrongly
export ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:${ASAN_OPTIONS:-}"
# RocksDB's own atomics cannot be seen, so an object that one thread allocated there and another releases would look like a
# race: what RocksDB itself does is not reported, what our code does is
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1:${TSAN_OPTIONS:-}"

case $kind in
address) std='' ;;
thread)
	std='-Zbuild-std'
	rustup component list --installed 2>/dev/null | grep -q rust-src || rustup component add rust-src
	;;
*) echo "sanitize: address or thread, not $kind" >&2 && exit 2 ;;
esac

# $std is one flag or none
# shellcheck disable=SC2086
run() { cargo test --locked $std --target "$target" "$@"; }

run --package sealstone-wiredtiger --lib --tests
run --package sealstone-mariadb --lib --tests
# ten thousand attacked stores would take an hour
run --package sealstone-rocksdb --lib --tests -- --skip no_attack_on_two_files

# The extension within a program that is not instrumented: the runtime must come first.
[ "$kind" = address ] || exit 0
wt=$cache/wiredtiger
runtime=$(cc -print-file-name=libasan.so)
if [ ! -x "$wt/wt" ] || [ ! -e "$runtime" ]; then
	echo "SKIP: sanitize: no wt, or no runtime of the sanitizer for it"
	exit 0
fi
cargo build --locked --target "$target" --package sealstone-wiredtiger --lib
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/db"
printf 'format = 1\nid = "orders"\n\n[[keys]]\nversion = 1\ncreated = "2026-01-31T09:00:00Z"\nsecret = "%064d"\n' 7 >"$dir/orders.key"
chmod 600 "$dir/orders.key"
{
	printf 'WiredTiger Dump (WiredTiger Version 11.3.1)\nFormat=print\nHeader\ntable:t\nkey_format=S,value_format=S\nData\n'
	seq -f '%06.0f' 5000 | sed 's/.*/&\\00\nvalue of & that takes some room, so that pages split and records differ\\00/'
} >"$dir/rows"
library=$CARGO_TARGET_DIR/$target/debug/libsealstone_wiredtiger.so
config="create,log=(enabled=true,file_max=1MB,prealloc=false),extensions=[$library=(early_load=true,config=(key=\"$dir/orders.key\",cipher=aria-256))],encryption=(name=sealstone,keyid=\"orders\")"
session() { LD_PRELOAD=$runtime LD_LIBRARY_PATH=$wt "$wt/wt" -R -h "$dir/db" -C "$config" "$@"; }
session load -f "$dir/rows"
session verify table:t
[ "$(session dump table:t | grep -c '^value of')" = 5000 ] || {
	echo "sanitize: rows are missing" >&2
	exit 1
}
echo "a session of wt under the sanitizer: all rows are there"
