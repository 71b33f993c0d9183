#!/bin/sh
# Installs a package into a fresh Debian and uses it there. Needs root, for a root directory of its own (debootstrap), and
# Debian's mirror.
# usage: test-deb.sh PACKAGE
set -eu

package=$1
. "$(dirname "$0")/fresh-debian.sh"
cp "$package" "$fresh/sealstone.deb"
within apt-get install -y -qq --no-install-recommends /sealstone.deb >/dev/null
echo 'test-deb: installed; now using it' >&2
within sealstone --version
within sealstone keys new /tmp/store.key >/dev/null
within sealstone compare --quiet --records 2k --operations 500 --rounds 1 --set pairs=6 --set slice-ms=1 --workloads a \
	--ciphers none,aria-256 --key /tmp/store.key --keep /tmp/kept --out /tmp/out >/dev/null
within sealstone rest verify /tmp/kept/ycsb/aria-256 --key /tmp/store.key | tail -n 1
# it finds the extension that was installed with it, and the extension finds the libraries that it needs
within sealstone mongo config --dbpath /tmp/db --key /tmp/store.key | grep -q /usr/lib/sealstone/libsealstone_wiredtiger.so
if within ldd /usr/bin/sealstone /usr/lib/sealstone/libsealstone_wiredtiger.so | grep 'not found'; then exit 1; fi
# where MariaDB and systemd look
within test -r /usr/lib/systemd/system/sealstone-volume@.service
# servers load them as users of their own, who are none of root's group
for library in sealstone/libsealstone_wiredtiger.so sealstone/libsealstone_fields.so sealstone/libsealstone_rocksdb_plugin.so mysql/plugin/libsealstone_mariadb.so; do
	within setpriv --reuid=65534 --regid=65534 --clear-groups test -r "/usr/lib/$library"
done
for page in sealstone sealstone-compare sealstone-rest-verify; do
	# dpkg leaves pages out of small installations, but lists them
	within dpkg -L sealstone | grep -qx "/usr/share/man/man1/$page.1.gz"
done
within apt-get remove -y -qq sealstone >/dev/null
if within sh -c 'find /usr -name "*sealstone*" | grep .'; then
	echo 'test-deb: files remain after removal' >&2
	exit 1
fi
echo 'test-deb: passed'
