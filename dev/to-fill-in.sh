#!/bin/sh
# Lists what whoever publishes a release has to fill in first; the places are named in RELEASING.md.
set -eu
cd "$(dirname "$0")/.."

lines=$(
	grep -q '^repository = ' Cargo.toml || echo 'Cargo.toml: repository, below [workspace.package]'
	if grep -q '<security address: to be filled in' SECURITY.md; then echo 'SECURITY.md: the address for reports'; fi
	if grep -q 'sealstone@localhost' dev/deb.sh; then echo 'dev/deb.sh: the maintainer of the package'; fi
)
[ -n "$lines" ] || exit 0
echo 'to fill in before it is published (RELEASING.md):'
echo "$lines" | sed 's/^/  /'
