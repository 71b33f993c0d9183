#!/bin/sh
# Takes what `make release` made to a fresh Debian without Rust, and measures how long a newcomer waits: for the first figures,
# a minute at most, and for the first comparison, three. Then servers and a program load what the tarball brings.
# usage: test-release.sh DIRECTORY
set -eu

release_dir=$(cd "$1" && pwd)
(cd "$release_dir" && sha256sum --quiet --check SHA256SUMS)
. "$(dirname "$0")/fresh-debian.sh"
. "$(dirname "$0")/use-libraries.sh"

slow=
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
	[ "$took" -le "$limit_s" ] || slow="$slow; $title"
}

# Takes the command that looks at what came out.
has() {
	"$@" || failed "what came out is not as it should be: $*"
}

# what the program of each is made of: that of the tarball has a RocksDB and a C++ library inside, the package has Debian's
for part in librocksdb-sys libstdc++; do
	has grep -q "\"$part\"" "$release_dir"/sealstone-cli-tarball-*.cdx.json
	if grep -q "\"$part\"" "$release_dir"/sealstone-cli-deb-*.cdx.json; then failed "the list of the package's parts has $part"; fi
done
for list in "$release_dir"/*.cdx.json; do
	has grep -q '"rust-std"' "$list"
done
has test -s "$release_dir/Containerfile"
# shellcheck disable=SC2154
mkdir "$fresh/got"
cp "$release_dir"/*.tar.gz "$release_dir"/*.deb "$release_dir"/*.whl "$fresh/got/"
# maturin gives this name only to what needs no newer glibc, and no library that a system may lack
has test -s "$fresh"/got/sealstone-*-abi3-manylinux*_x86_64.whl
within_time 'tarball: unpacked, first figures' 60 \
	sh -c 'cd /tmp && tar -xzf /got/*.tar.gz && sealstone-*/bin/sealstone ciphers --speed'
has grep -q aria-256 "$fresh/out"
archive=$(within sh -c 'echo /tmp/sealstone-*-linux')
for file in share/man/man1/sealstone.1 share/man/man1/sealstone-compare.1 share/man/man1/sealstone-rest-verify.1 \
	share/bash-completion/completions/sealstone share/zsh/site-functions/_sealstone \
	share/fish/vendor_completions.d/sealstone.fish share/doc/sealstone/README.md LICENCES-THIRD-PARTY.txt; do
	has within test -s "$archive/$file"
done
missing=$(not_found "$archive/bin/sealstone" "$archive/lib/sealstone/*.so")
# the plug-in for programs with RocksDB is linked with theirs, which nothing has brought here yet
has test -z "$(echo "$missing" | grep -v 'librocksdb\.so')"
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
# what the tarball brings, without what the package brought; RocksDB stays for the plug-in
within apt-get remove -y -qq sealstone >/dev/null
missing=$(not_found "$archive/bin/sealstone" "$archive/lib/sealstone/*.so")
has test -z "$missing"
mariadb_encrypts "$archive/bin/sealstone" "$archive/lib/sealstone/libsealstone_mariadb.so"
mongod_seals "$archive/bin/sealstone" "$archive/lib/sealstone/libsealstone_wiredtiger.so"
c_program_opens "$archive/bin/sealstone" "$archive/include" "$archive/lib/sealstone"
[ -z "$slow" ] || failed "slower than promised${slow}"
echo "test-release: passed$(and_skipped)"
