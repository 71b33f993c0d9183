# Has servers and programs in a fresh Debian load our libraries, for scripts that source this file after fresh-debian.sh. The
# package's libraries and the tarball's are different builds, so both go through the same. Paths are those of the fresh Debian.

# how many of the functions below lacked what they need
skipped=0

# Ends the script, with a reason.
failed() {
	echo "$0: $1" >&2
	exit 1
}

# Runs a command there, whose output is in $fresh/said; shows it where the command fails.
quietly() {
	within "$@" >"$fresh/said" 2>&1 || { cat "$fresh/said" >&2 && failed "this failed in the fresh Debian: $*"; }
}

# Runs a check there, whose answer is in $fresh/said: 1 is an answer too, that something is in the clear.
answered() {
	within "$@" >"$fresh/said" 2>&1 || [ "$?" -eq 1 ] || { cat "$fresh/said" >&2 && failed "this failed in the fresh Debian: $*"; }
}

# Prints what the programs and libraries that match the patterns are linked with and do not find.
not_found() {
	quietly sh -c "ldd $*"
	grep 'not found' "$fresh/said" || true
}

# Takes the command sealstone and the plug-in: Debian's MariaDB encrypts with it, as the user that its package has, by the lines
# that the command prints. The plug-in is put where this server looks, unless it is there.
mariadb_encrypts() {
	program=$1 plugin=$2 at=/usr/lib/mysql/plugin/libsealstone_mariadb.so
	quietly apt-get install -y -qq --no-install-recommends mariadb-server
	[ "$plugin" = "$at" ] || quietly cp "$plugin" "$at"
	quietly install -d -o mysql -g mysql /etc/sealstone /run/mysqld
	as_mysql='setpriv --reuid=mysql --regid=mysql --init-groups'
	# words without blanks
	# shellcheck disable=SC2086
	quietly $as_mysql "$program" keys new /etc/sealstone/orders.key
	# shellcheck disable=SC2086
	within $as_mysql "$program" mysql config --datadir /var/lib/mysql --key /etc/sealstone/orders.key --cipher aria-256 \
		>"$fresh/etc/mysql/mariadb.conf.d/90-sealstone.cnf"
	within mariadbd --user=mysql --skip-networking >"$fresh/mariadbd.log" 2>&1 &
	within mariadb-admin --wait=60 --silent ping >/dev/null || { cat "$fresh/mariadbd.log" >&2 && failed 'no MariaDB started with the plug-in'; }
	text='a text that nobody may read'
	quietly mariadb -e "CREATE DATABASE shop; CREATE TABLE shop.orders (a VARCHAR(100)) ENGINE=InnoDB; INSERT INTO shop.orders VALUES ('$text')"
	quietly mariadb-admin shutdown
	wait
	grep -q 'sealstone: encrypting with aria-256' "$fresh/mariadbd.log" || { cat "$fresh/mariadbd.log" >&2 && failed 'MariaDB does not say that it encrypts'; }
	answered "$program" mysql check /var/lib/mysql --json
	grep -q '"cipher": *"aria-256"' "$fresh/said" || { cat "$fresh/said" >&2 && failed 'nothing of MariaDB is under aria-256'; }
	if grep -rqF "$text" "$fresh/var/lib/mysql"; then failed 'MariaDB wrote in the clear'; fi
	echo "$0: MariaDB encrypts with $plugin" >&2
}

# Prints the mongod of this machine, if it has one: the one that is named, that dev/setup.sh fetched, or on the search path.
mongod_here() {
	fetched=${XDG_CACHE_HOME:-$HOME/.cache}/sealstone/mongod/bin/mongod
	if [ -n "${SEALSTONE_MONGOD:-}" ]; then
		echo "$SEALSTONE_MONGOD"
	elif [ -x "$fetched" ]; then
		echo "$fetched"
	else
		command -v mongod || true
	fi
}

# Takes the command sealstone and the extension: a mongod seals with it, as a user that is nobody else. Skips where there is no mongod; in CI
# that is a failure.
mongod_seals() {
	program=$1 extension=$2 mongod=$(mongod_here)
	if [ -z "$mongod" ]; then
		[ -z "${CI:-}" ] || failed "no mongod to load $extension, and in CI nothing is skipped; see what this says: make setup-mongod"
		echo "SKIP: mongod_seals: no mongod to load $extension (make setup-mongod)"
		skipped=$((skipped + 1))
		return
	fi
	quietly apt-get install -y -qq --no-install-recommends libcurl4
	cp "$mongod" "$fresh/usr/bin/mongod"
	quietly install -d -o 65534 -g 65534 /srv/mongodb /srv/mongodb/db
	as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
	# shellcheck disable=SC2086
	quietly $as_nobody "$program" keys new /srv/mongodb/orders.key
	# shellcheck disable=SC2086
	options=$(within $as_nobody "$program" mongo config --dbpath /srv/mongodb/db --key /srv/mongodb/orders.key --cipher aria-256)
	# it finds the extension that was installed with it
	case $options in
	*"$extension"*) ;;
	*) failed "the options of mongod do not name $extension: $options" ;;
	esac
	port=$((20000 + $$ % 10000))
	# shellcheck disable=SC2086
	within $as_nobody sh -c "mongod --bind_ip 127.0.0.1 --port $port --nounixsocket --fork --logpath /srv/mongodb/log $options" >/dev/null ||
		{ cat "$fresh/srv/mongodb/log" >&2 && failed 'no mongod started with the extension'; }
	# shellcheck disable=SC2086
	quietly $as_nobody mongod --shutdown --dbpath /srv/mongodb/db
	answered "$program" mongo check /srv/mongodb/db
	grep -q aria-256 "$fresh/said" || { cat "$fresh/said" >&2 && failed 'nothing of mongod is under aria-256'; }
	echo "$0: mongod seals with $extension" >&2
}

# Takes the command sealstone, the folder with the header and the one with the library: the example in C that is installed beside them
# opens what the command sealed. It is compiled on this machine, which has the same release of Debian.
c_program_opens() {
	program=$1 headers=$2 libraries=$3
	rm -rf "$fresh/tmp/c"
	mkdir "$fresh/tmp/c"
	example=${headers%/include}/share/doc/sealstone/adapters/fields-c/examples/people.c
	cc -std=c99 -pthread -I "$fresh$headers" "$fresh$example" -o "$fresh/tmp/c/people" -L "$fresh$libraries" -lsealstone_fields ||
		failed "$example does not compile with $headers and $libraries"
	printf 'id,rrn\n1,870605-1234567\n2,000101-3000002\n' >"$fresh/tmp/c/people.csv"
	printf 'key = "people.key"\n[tables.people.columns.rrn]\nmethod = "ff1"\nformat = "rrn"\n' >"$fresh/tmp/c/fields.toml"
	quietly sh -c "cd /tmp/c && $program keys new people.key && $program field seal people.csv --policy fields.toml --out sealed.csv &&
		if grep 870605-1234567 sealed.csv; then exit 1; fi"
	quietly sh -c "cd /tmp/c && sed 1d sealed.csv | cut -d , -f 2 |
		LD_LIBRARY_PATH=$libraries ./people policy fields.toml people.key people rrn"
	[ "$(cut -f 1 "$fresh/said" | tr '\n' ' ')" = '870605-1234567 000101-3000002 ' ] ||
		{ cat "$fresh/said" >&2 && failed 'the program in C does not open what the command sealed'; }
	echo "$0: a program in C opens values with $libraries/libsealstone_fields.so" >&2
}

# Prints what the last line of a script ends with.
and_skipped() {
	[ "$skipped" -eq 0 ] || echo ", $skipped skipped"
}
