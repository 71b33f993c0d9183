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
# a MariaDB of Debian's encrypts with it, as the user that its package has, by the lines that the command prints
within apt-get install -y -qq --no-install-recommends mariadb-server >/dev/null
within install -d -o mysql -g mysql /etc/sealstone /run/mysqld
as_mysql='setpriv --reuid=mysql --regid=mysql --init-groups'
within $as_mysql sealstone keys new /etc/sealstone/orders.key >/dev/null
within $as_mysql sealstone mysql config --datadir /var/lib/mysql --key /etc/sealstone/orders.key --cipher aria-256 \
	>"$fresh/etc/mysql/mariadb.conf.d/90-sealstone.cnf"
within mariadbd --user=mysql --skip-networking >"$fresh/mariadbd.log" 2>&1 &
within mariadb-admin --wait=60 --silent ping >/dev/null || { cat "$fresh/mariadbd.log" >&2 && exit 1; }
text='a text that nobody may read'
within mariadb -e "CREATE DATABASE shop; CREATE TABLE shop.orders (a VARCHAR(100)) ENGINE=InnoDB; INSERT INTO shop.orders VALUES ('$text')"
within mariadb-admin shutdown
wait
grep -q 'sealstone: encrypting with aria-256' "$fresh/mariadbd.log"
within sealstone mysql check /var/lib/mysql --json | grep -q '"cipher": *"aria-256"'
if grep -rqF "$text" "$fresh/var/lib/mysql"; then echo 'test-deb: MariaDB wrote in the clear' >&2 && exit 1; fi
echo 'test-deb: MariaDB encrypts with the plug-in of the package' >&2
# and so does a mongod, where this machine has one, as a user that is nobody else
mongod=${XDG_CACHE_HOME:-$HOME/.cache}/sealstone/mongod/bin/mongod
if [ -x "$mongod" ]; then
	within apt-get install -y -qq --no-install-recommends libcurl4 >/dev/null
	cp "$mongod" "$fresh/usr/bin/mongod"
	within install -d -o 65534 -g 65534 /srv/mongodb /srv/mongodb/db
	as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
	within $as_nobody sealstone keys new /srv/mongodb/orders.key >/dev/null
	options=$(within $as_nobody sealstone mongo config --dbpath /srv/mongodb/db --key /srv/mongodb/orders.key --cipher aria-256)
	port=$((20000 + $$ % 10000))
	within $as_nobody sh -c "mongod --bind_ip 127.0.0.1 --port $port --nounixsocket --fork --logpath /srv/mongodb/log $options" >/dev/null ||
		{ cat "$fresh/srv/mongodb/log" >&2 && exit 1; }
	within $as_nobody mongod --shutdown --dbpath /srv/mongodb/db >/dev/null
	within sealstone mongo check /srv/mongodb/db | grep aria-256 >&2
	echo 'test-deb: mongod seals with the extension of the package' >&2
else
	echo "test-deb: no mongod at $mongod: its extension was not loaded (make setup-mongod)" >&2
fi
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
