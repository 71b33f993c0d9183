#!/bin/sh
# Takes what `make release` made to a fresh Debian without Rust, and measures how long a newcomer waits: for the first figures,
# a minute at most, and for the first comparison, three.
# usage: test-release.sh DIRECTORY
set -eu

release_dir=$(cd "$1" && pwd)
(cd "$release_dir" && sha256sum --quiet --check SHA256SUMS)
. "$(dirname "$0")/fresh-debian.sh"

failed=0
# Takes what it is, the limit in seconds, and a command of the fresh Debian.
within_time() {
	title=$1 limit_s=$2
	shift 2
	from=$(date +%s)
	within "$@" >"$fresh/out" 2>"$fresh/err" || {
		cat "$fresh/err" >&2
		echo "test-release: $title failed" >&2
		exit 1
	}
	took=$(($(date +%s) - from))
	echo "test-release: $title: $took s (at most $limit_s)"
	[ "$took" -le "$limit_s" ] || failed=1
}

# Takes the command that looks at what came out.
has() {
	"$@" || { echo "test-release: what came out is not as it should be: $*" >&2 && exit 1; }
}

# what the program of the archive is made of, RocksDB with its version too
has grep -q '"librocksdb-sys"' "$release_dir"/sealstone-cli-*.cdx.json
mkdir "$fresh/got"
cp "$release_dir"/*.tar.gz "$release_dir"/*.deb "$release_dir"/*.whl "$fresh/got/"
# maturin gives this name only to what needs no newer glibc, and no library that a system may lack
has test -s "$fresh"/got/sealstone-*-abi3-manylinux*_x86_64.whl
within_time 'tarball: unpacked, first figures' 60 \
	sh -c 'cd /tmp && tar -xzf /got/*.tar.gz && sealstone-*/bin/sealstone ciphers --speed'
has grep -q aria-256 "$fresh/out"
within_time 'tarball: first comparison' 180 sh -c 'cd /tmp && sealstone-*/bin/sealstone compare --out by-tarball'
has grep -q 'aes-256' "$fresh/out"
has test -s "$fresh/tmp/by-tarball/report.html"
within_time 'package: installed, first figures' 60 \
	sh -c 'apt-get install -y -qq --no-install-recommends /got/*.deb >/dev/null && sealstone ciphers --speed'
has grep -q aria-256 "$fresh/out"
within_time 'package: first comparison' 180 sh -c 'cd /tmp && sealstone compare --out by-package'
has test -s "$fresh/tmp/by-package/report.html"
within apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
within_time 'wheel: installed and imported' 60 \
	sh -c 'python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -q --no-index --no-deps /got/*.whl &&
		/tmp/venv/bin/python -c "import sealstone; print(sealstone.__name__)"'
has grep -q sealstone "$fresh/out"
[ "$failed" -eq 0 ] || { echo 'test-release: slower than promised' >&2 && exit 1; }
echo 'test-release: passed'
