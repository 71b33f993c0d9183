#!/bin/sh
# Lists what the publisher of a release has to fill in first; RELEASING.md has the steps that do it.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
# the day of this version
day=$(sed -n "s/^## $version (\([0-9]*-[0-9]*-[0-9]*\)).*/\1/p" CHANGELOG.md)

lines=$(
	if grep -q '^repository = ' Cargo.toml; then
		# the crates for others
		sed -n 's/^sealstone-[a-z-]* = { path = "\([^"]*\)", version = .*/\1/p' Cargo.toml | while read -r crate; do
			grep -q '^repository\.workspace = true' "$crate/Cargo.toml" ||
				echo "$crate/Cargo.toml: repository.workspace = true"
		done
	else
		echo 'Cargo.toml: repository, below [workspace.package]'
	fi
	grep -q '^\[project\.urls\]' adapters/python/pyproject.toml ||
		echo 'adapters/python/pyproject.toml: [project.urls], with the repository'
	for pom in adapters/java/pom.xml adapters/java/spark/pom.xml; do
		grep -q '^  <url>' "$pom" || echo "$pom: <url>, with the repository"
	done
	grep -q '^repository-code: ' CITATION.cff || echo 'CITATION.cff: repository-code'
	if grep -q '<security address: to be filled in' SECURITY.md; then echo 'SECURITY.md: the address for reports'; fi
	if grep -q 'sealstone@localhost' dev/deb.sh; then echo 'dev/deb.sh: the maintainer of the package'; fi
	if [ -z "$day" ]; then
		echo "CHANGELOG.md: the day of $version, such as: ## $version (2026-12-31)"
	elif ! grep -Eq "^date-released: [\"']?${day}[\"']?$" CITATION.cff; then
		echo "CITATION.cff: date-released: $day, as in CHANGELOG.md"
	fi
	if grep -q 'No release has been published' README.md; then echo 'README.md: that no release has been published'; fi
	if grep -q '공개된 릴리스는 없' README.ko.md; then echo 'README.ko.md: that no release has been published'; fi
)
[ -n "$lines" ] || exit 0
echo 'to fill in before it is published (RELEASING.md):'
echo "$lines" | sed 's/^/  /'
