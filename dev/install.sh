#!/bin/sh
# Installs what was built: the one list of files of `make install` and `make deb`.
# usage: install.sh DIRECTORY-OF-THE-BUILD ROOT, such as target/release ~/.cargo
set -eu

built=$1
root=$2
source=$(cd "$(dirname "$0")/.." && pwd)

install -D "$built/sealstone" "$root/bin/sealstone"
# where the command looks for it
install -D -m 644 "$built/libsealstone_wiredtiger.so" "$root/lib/sealstone/libsealstone_wiredtiger.so"
# whose directory a server names
install -D -m 644 "$built/libsealstone_mariadb.so" "$root/lib/sealstone/libsealstone_mariadb.so"
# for programs in C and Java that open values themselves
install -D -m 644 "$built/libsealstone_fields.so" "$root/lib/sealstone/libsealstone_fields.so"
install -D -m 644 "$source/adapters/fields-c/include/sealstone_fields.h" "$root/include/sealstone_fields.h"
# for programs that have RocksDB
install -D -m 644 "$built/libsealstone_rocksdb_plugin.so" "$root/lib/sealstone/libsealstone_rocksdb_plugin.so"
install -D -m 644 "$source/adapters/rocksdb-plugin/include/sealstone_rocksdb.h" "$root/include/sealstone_rocksdb.h"
install -D -m 644 "$source/adapters/modules/include/sealstone_module.h" "$root/include/sealstone_module.h"

mkdir -p "$root/share/man/man1"
"$root/bin/sealstone" man --out "$root/share/man/man1" 2>/dev/null
chmod 644 "$root"/share/man/man1/sealstone*.1

completions() {
	mkdir -p "$root/share/$2"
	"$root/bin/sealstone" completions "$1" >"$root/share/$2/$3"
}
completions bash bash-completion/completions sealstone
completions zsh zsh/site-functions _sealstone
completions fish fish/vendor_completions.d sealstone.fish

# what an administrator copies and changes
install -D -m 644 -t "$root/share/doc/sealstone/examples" "$source"/packaging/examples/*

# Pages, and the examples that they name by these paths. Samples and recorded runs stay in the repository, since they are 15 MB,
# and so does the code; links to them become paths, which installed-pages.awk does.
doc=$root/share/doc/sealstone
listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
(cd "$source" && find README.md README.ko.md ARCHITECTURE.md CHANGELOG.md CITATION.cff CONTRIBUTING.md RELEASING.md SECURITY.md \
	LICENSE-MIT LICENSE-APACHE docs results \
	adapters/fields-c/examples adapters/rocksdb-plugin/examples adapters/modules/shim/reference.c \
	adapters/fields-c/include adapters/rocksdb-plugin/include adapters/rocksdb/examples adapters/modules/include \
	adapters/java/example/people.sql adapters/java/example/pom.xml adapters/java/example/src \
	-type f ! -name '*.csv' ! -name '*.gz') >"$listed"
while read -r page; do
	install -D -m 644 "$source/$page" "$doc/$page"
done <"$listed"
doc=$(cd "$doc" && pwd)
(cd "$source" && grep '\.md$' "$listed" |
	LC_ALL=C SOURCE="$source" OUT="$doc" xargs awk -f dev/installed-pages.awk "$listed")
