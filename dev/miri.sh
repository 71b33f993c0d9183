#!/bin/sh
# The unsafe Rust of the ciphers under Miri, on what Miri knows the instructions of: plain code (its `portable` has no registers
# either), then the instructions of `aesni` and `avx2`. Every public call of each cipher under one length of its key, messages of
# 13 and 150 bytes, and with them the memory for keys, which is plain memory there; slots of that are found again by address,
# which Miri wants to be allowed, and is kept to the end of the process, which Miri would call a leak once an address is all that
# leads to it. Not covered: AVX-512, locked memory, forks.
#
# Each test is a process of its own, as many at a time as there are cores: Miri uses one core.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/sealstone
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

export ONE='cargo +nightly miri test --quiet --locked --package sealstone-cipher --test every_call --target-dir'
run() {
	tests=$($ONE "$1" -- --list | sed -n 's/: test$//p')
	[ -n "$tests" ] || {
		echo "miri: no test was found in every_call" >&2
		exit 1
	}
	echo "$tests" | xargs -P "$(nproc)" -I{} sh -c '
		if $ONE "$1" -- --exact "$2" >"$3/$2" 2>&1
		then echo "miri: $2: passed"
		else cat "$3/$2"; echo "miri: $2: FAILED"; exit 1
		fi' sh "$1" {} "$log"
}

export MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks"
echo 'miri: plain code'
run "$cache/target-miri"
echo 'miri: with the instructions of aesni and avx2'
export RUSTFLAGS='-C target-feature=+ssse3,+sse4.1,+aes,+pclmulqdq,+avx,+avx2'
run "$cache/target-miri-avx2"
