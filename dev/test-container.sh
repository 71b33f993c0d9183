#!/bin/sh
# Builds the image of Containerfile from a package, and uses the command in it. Where there is a container engine with the base
# image at hand, it builds; elsewhere, what Containerfile says is done in a fresh Debian (see fresh-debian.sh), as root.
# usage: test-container.sh PACKAGE
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
package=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
containerfile=$source/Containerfile
base=$(sed -n 's/^ARG BASE=//p' "$containerfile")

failed() {
	echo "test-container: $1" >&2
	exit 1
}

# Builds with the engine $engine.
build() {
	echo "test-container: building with $engine from $base" >&2
	image=localhost/sealstone-test-container
	"$engine" build --network host --tag "$image" --file "$containerfile" --build-arg PACKAGE="$(basename "$package")" \
		"$(dirname "$package")" >&2
	trap '"$engine" rmi "$image" >/dev/null' EXIT
	entered() {
		"$engine" run --rm "$image" "$@"
	}
	user_id=$("$engine" run --rm --entrypoint id "$image" -u)
}

# Prints the instructions of Containerfile, each on one line.
instructions() {
	sed '/^[[:space:]]*#/d; /^[[:space:]]*$/d' "$containerfile" | sed ':join; /\\$/{N; s/\\\n[[:space:]]*/ /; b join
}'
}

# Runs a command as the user and in the directory that the instructions so far have named.
as_said() {
	# the inner shell expands these
	# shellcheck disable=SC2016
	within setpriv --reuid "$user" --regid "$user" --init-groups sh -c 'cd "$0" && exec "$@"' "$directory" "$@" </dev/null
}

# Does what Containerfile says in a fresh Debian.
imitate() {
	version=$(. /etc/os-release && echo "$VERSION_ID")
	case $base in
	*/debian:"$version" | */debian:"$version"-slim) ;;
	*) failed "the image is made from $base, and this machine makes a Debian $version" ;;
	esac
	. "$source/dev/fresh-debian.sh"
	user=root directory=/ entry=
	# shellcheck disable=SC2154
	instructions >"$fresh/instructions"
	while read -r word rest; do
		echo "test-container: $word $rest" >&2
		case $word in
		FROM | ARG) ;;
		COPY)
			# as it is written there
			# shellcheck disable=SC2016
			[ "${rest%% *}" = '${PACKAGE}' ] || failed 'only the package is copied here'
			cp "$package" "$fresh${rest##* }"
			;;
		RUN) as_said sh -c "$rest" >"$fresh/out" 2>&1 || { cat "$fresh/out" >&2 && failed 'it failed'; } ;;
		USER) user=$rest ;;
		WORKDIR) directory=$rest && mkdir -p "$fresh$rest" ;;
		ENTRYPOINT) entry=$(echo "$rest" | tr -d '[]",') ;;
		*) failed "$word is not known here" ;;
		esac
	done <"$fresh/instructions"
	entered() {
		# words without blanks
		# shellcheck disable=SC2086
		as_said $entry "$@"
	}
	user_id=$(as_said id -u)
}

engine=
for candidate in podman docker; do
	# a program may be there without its daemon, the image, or what a container needs of the kernel
	if "$candidate" run --rm --pull never "$base" true >/dev/null 2>&1; then
		engine=$candidate
		break
	fi
done
if [ -n "$engine" ]; then
	build
else
	echo "test-container: no container engine that runs $base here; doing the same in a fresh Debian" >&2
	imitate
fi

[ "$user_id" -ne 0 ] || failed 'the command runs as root'
said=$(entered --version)
case $said in
"sealstone $(dpkg-deb --field "$package" Version)"*) echo "test-container: user $user_id: $said" ;;
*) failed "the command says: $said" ;;
esac
# its directory is its own
entered compare --quiet --records 2k --operations 500 --rounds 1 --set pairs=6 --set slice-ms=1 --workloads a \
	--ciphers none,aria-256 --out out >/dev/null
echo 'test-container: passed'
