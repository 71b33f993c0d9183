#!/bin/sh
# Makes a Debian package of what was built, for the release of Debian that this machine runs; prints its path.
# usage: deb.sh DIRECTORY-OF-THE-BUILD DIRECTORY-FOR-THE-PACKAGE
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
built=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
umask 022

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml" | head -n 1)
architecture=$(dpkg --print-architecture)
# the same commit makes the same package
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/DEBIAN" "$work/debian"
sh "$source/dev/install.sh" "$built" "$tree/usr"
strip --strip-unneeded "$tree/usr/bin/sealstone"
for library in "$tree"/usr/lib/sealstone/*.so; do
	strip --strip-unneeded "$library"
done

# where MariaDB looks for plug-ins, and systemd for units
mkdir -p "$tree/usr/lib/mysql/plugin"
ln -s ../../sealstone/libsealstone_mariadb.so "$tree/usr/lib/mysql/plugin/libsealstone_mariadb.so"
install -D -m 644 -t "$tree/usr/lib/systemd/system" "$source"/packaging/systemd/*
install -m 755 -t "$tree/DEBIAN" "$source"/packaging/debian/*

# as Debian's policy wants them: pages compressed, one file with every licence, completions of zsh where its own are
gzip -9n "$tree"/usr/share/man/man1/*.1
mkdir -p "$tree/usr/share/zsh/vendor-completions"
mv "$tree/usr/share/zsh/site-functions/_sealstone" "$tree/usr/share/zsh/vendor-completions/_sealstone"
rmdir "$tree/usr/share/zsh/site-functions"
doc=$tree/usr/share/doc/sealstone
cargo run --quiet --locked --manifest-path "$source/Cargo.toml" --package xtask -- licences deb "$work/licences"
{
	printf 'Sealstone is under MIT or Apache-2.0, at your option. /usr/share/common-licenses/Apache-2.0 is the latter; '
	printf 'the former:\n\n'
	cat "$source/LICENSE-MIT"
	printf '\n'
	cat "$work/licences"
} >"$doc/copyright"
# the name that it has in the tarball; installations that leave documentation out keep `copyright` alone
ln -s copyright "$doc/LICENCES-THIRD-PARTY.txt"

# what the program and the libraries are linked with, by the packages of this machine
printf 'Source: sealstone\n\nPackage: sealstone\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O tree/usr/bin/sealstone tree/usr/lib/sealstone/*.so 2>"$work/said") || {
	cat "$work/said" >&2
	exit 2
}
# Recommended is what commands run: losetup and mount, mkfs.ext4 and resize2fs for volumes, ip for tunnels. Without root, attaching
# a volume takes fusermount3.
{
	cat <<CONTROL
Package: sealstone
Version: $version
Architecture: $architecture
Maintainer: the contributors of Sealstone <sealstone@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f 1)
Depends: ${depends#shlibs:Depends=}
Recommends: e2fsprogs, iproute2, man-db, mount
Suggests: bash-completion, fuse3, xfsprogs
Section: database
Priority: optional
Description: encrypt a data store with the cipher you choose, and measure the cost
 Seals the files of RocksDB and MongoDB, and of any database on a sealed volume,
 with AES, ARIA, SEED, LEA and other ciphers, so that any changed byte is an
 error; encrypts MariaDB's files and columns of tables; rotates keys; and
 reports, with confidence intervals, what each choice costs on your workload.
CONTROL
	# once there is one (RELEASING.md)
	sed -n 's/^repository = "\(.*\)"$/Homepage: \1/p' "$source/Cargo.toml"
} >"$tree/DEBIAN/control"
package=$out/sealstone_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
echo "$package"
