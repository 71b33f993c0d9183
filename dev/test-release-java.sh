#!/bin/sh
# Takes the Java artefact and the package of Debian that `make release` made to a fresh Debian without Rust, and runs the example
# of docs/guide/applications.md there under Maven, on sealed tables of MariaDB and PostgreSQL.
# usage: test-release-java.sh DIRECTORY
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
release_dir=$(cd "$1" && pwd)
(cd "$release_dir" && sha256sum --quiet --check SHA256SUMS)
. "$source/dev/fresh-debian.sh"

from=$(date +%s)
# Takes what was done, and says how long it took.
took() {
	echo "test-release-java: $1: $(($(date +%s) - from)) s"
	from=$(date +%s)
}

# shellcheck disable=SC2154
mkdir "$fresh/got"
cp "$release_dir"/*.deb "$fresh/got/sealstone.deb"
cp "$release_dir"/sealstone-fields-*.jar "$fresh/got/sealstone-fields.jar"
cp -r "$source/adapters/java/example" "$source/dev/java-example.sh" "$fresh/got/"
# of another build
rm -rf "$fresh/got/example/target"
# how this machine reaches Maven Central; Java takes root's home from passwd, not from HOME
[ ! -e "$HOME/.m2/settings.xml" ] || install -D -m 600 "$HOME/.m2/settings.xml" "$fresh/root/.m2/settings.xml"

within apt-get install -y -qq --no-install-recommends /got/sealstone.deb openjdk-17-jdk-headless maven mariadb-server postgresql \
	>"$fresh/out" 2>&1 || { tail "$fresh/out" >&2 && exit 1; }
took 'Java 17, Maven, the servers and the package: installed'
within mvn --batch-mode --quiet org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file \
	-Dfile=/got/sealstone-fields.jar >/dev/null
took 'the artefact: in the local repository'
for server in mariadb postgres; do
	within sh /got/java-example.sh "$server" /got/example
	took "the example on $server"
done
echo 'test-release-java: passed'
