#!/bin/sh
# Installs a package into a fresh Debian and uses it there. Needs root, for a root directory of its own (debootstrap), and
# Debian's mirror.
# usage: test-deb.sh PACKAGE
set -eu

package=$1
. "$(dirname "$0")/fresh-debian.sh"
. "$(dirname "$0")/use-libraries.sh"
# shellcheck disable=SC2154
cp "$package" "$fresh/sealstone.deb"
within apt-get install -y -qq --no-install-recommends /sealstone.deb >/dev/null
echo 'test-deb: installed; now using it' >&2
within sealstone --version
within sealstone keys new /tmp/store.key >/dev/null
within sealstone compare --quiet --records 2k --operations 500 --rounds 1 --set pairs=6 --set slice-ms=1 --workloads a \
	--ciphers none,aria-256 --key /tmp/store.key --keep /tmp/kept --out /tmp/out >/dev/null
within sealstone rest verify /tmp/kept/ycsb/aria-256 --key /tmp/store.key | tail -n 1
missing=$(not_found /usr/bin/sealstone '/usr/lib/sealstone/*.so')
[ -z "$missing" ] || failed "the package does not depend on all that it is linked with: $missing"
# servers load them as users of their own, who are none of root's group
for library in sealstone/libsealstone_wiredtiger.so sealstone/libsealstone_fields.so sealstone/libsealstone_rocksdb_plugin.so mysql/plugin/libsealstone_mariadb.so; do
	within setpriv --reuid=65534 --regid=65534 --clear-groups test -r "/usr/lib/$library"
done
mariadb_encrypts /usr/bin/sealstone /usr/lib/mysql/plugin/libsealstone_mariadb.so
mongod_seals /usr/bin/sealstone /usr/lib/sealstone/libsealstone_wiredtiger.so
c_program_opens /usr/bin/sealstone /usr/include /usr/lib/sealstone
for page in sealstone sealstone-compare sealstone-rest-verify; do
	# dpkg leaves pages out of small installations, but lists them
	within dpkg -L sealstone | grep -qx "/usr/share/man/man1/$page.1.gz"
done
# an administrator enables the units, for which systemctl needs no systemd that runs
quietly apt-get install -y -qq --no-install-recommends systemd
for unit in sealstone-volume@pg.service sealstone-status.timer sealstone-audit.timer; do
	quietly env SYSTEMD_OFFLINE=1 systemctl enable "$unit"
	[ -n "$(within find /etc/systemd/system -name "$unit")" ] || failed "systemctl enabled no $unit"
done
within dpkg -L sealstone | grep sealstone >"$fresh/listed"
within apt-get remove -y -qq sealstone >/dev/null
remaining=$(while read -r file; do
	# a link that leads nowhere is one that remains, too
	if [ -e "$fresh$file" ] || [ -L "$fresh$file" ]; then echo "$file"; fi
done <"$fresh/listed")
[ -z "$remaining" ] || failed "files remain after removal: $remaining"
enabled=$(within find /etc/systemd/system -name 'sealstone-*')
[ -z "$enabled" ] || failed "units remain enabled after removal: $enabled"
if within dpkg --status sealstone >/dev/null 2>&1; then failed 'dpkg still knows the package after removal'; fi
echo "test-deb: passed$(and_skipped)"
