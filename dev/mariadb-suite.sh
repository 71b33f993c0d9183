#!/bin/sh
# Runs the tests of MariaDB's own suite "encryption" under Sealstone's plug-in. `mariadb-suite.sh PLUGIN SEALSTONE [TEST...]`:
# the library, the program, and names of tests where not all are to run. The suite is Debian's (package mariadb-test);
# what it includes to load a plug-in of the server's is replaced by what loads ours, once with AES and once with ARIA.
# mariadb-suite.txt, beside this file, lists the tests that are left out, each with its reason. Exit code 1 if a test fails,
# if none ran, or if a test that is left out does not exist. Not here: our own tests of the plug-in (dev/e2e).
set -eu

plugin=$(readlink -f "$1")
sealstone=$(readlink -f "$2")
shift 2
left_out=$(dirname "$(readlink -f "$0")")/mariadb-suite.txt
installed=/usr/share/mysql/mysql-test
[ -d "$installed/suite/encryption" ] || {
	echo "mariadb-suite: no $installed/suite/encryption: install the package mariadb-test" >&2
	exit 2
}

# where the server's user can read
work=$(mktemp -d /var/tmp/sealstone-suite.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
chmod 755 "$work"

# the suite as if it were installed in $work, with our plug-in among the server's
mkdir -p "$work/share/mysql" "$work/lib/mysql/plugin" "$work/var"
for entry in /usr/share/mysql/*; do
	[ "$entry" = "$installed" ] || ln -s "$entry" "$work/share/mysql/"
done
cp -r "$installed" "$work/share/mysql/mysql-test"
ln -s /usr/bin "$work/bin"
ln -s /usr/sbin "$work/sbin"
for entry in /usr/lib/mysql/plugin/*; do
	ln -s "$entry" "$work/lib/mysql/plugin/"
done
cp "$plugin" "$work/lib/mysql/plugin/"
"$sealstone" keys new "$work/suite.key" >/dev/null

suite=$work/share/mysql/mysql-test/suite/encryption
for include in have_file_key_management_plugin have_example_key_management_plugin; do
	rm -f "$suite/include/$include".*
	cat >"$suite/include/$include.inc" <<-END
		if (\`SELECT COUNT(*)=0 FROM INFORMATION_SCHEMA.PLUGINS WHERE PLUGIN_NAME = 'sealstone' AND PLUGIN_STATUS='ACTIVE'\`)
		{
		  --die the plug-in is not active
		}
	END
	for cipher in aes-256 aria-256; do
		printf '[%s]\n' "$cipher"
		printf 'plugin-load-add=libsealstone_mariadb.so\n--loose-sealstone-key=%s\n' "$work/suite.key"
		printf -- '--loose-sealstone-cipher=%s\n--skip-innodb-read-only-compressed\n\n' "$cipher"
	done >"$suite/include/$include.combinations"
done

if [ $# -eq 0 ]; then
	while read -r test reason; do
		case $test in '' | '#'*) continue ;; esac
		[ -n "$reason" ] || { echo "mariadb-suite: no reason for $test in $left_out" >&2 && exit 1; }
		rm "$suite/t/$test.test"
	done <"$left_out"
fi

as_server=
if [ "$(id -u)" = 0 ]; then
	chown -R mysql "$work/var" "$work/suite.key"
	as_server='setpriv --reuid mysql --regid mysql --clear-groups'
fi
cd "$work/share/mysql/mysql-test"
status=0
# shellcheck disable=SC2086 # several words
HOME=$work $as_server perl ./mysql-test-run.pl --vardir="$work/var/run" --suite=encryption --force --max-test-fail=0 --big-test \
	--parallel="$(nproc)" --testcase-timeout=10 "$@" >"$work/said" 2>&1 || status=$?
grep -E '^encryption\.|^(Failing|Completed|[0-9]+ tests)|^ - ' "$work/said" || cat "$work/said"
if ! grep -q '\[ pass \]' "$work/said"; then
	echo "mariadb-suite: no test ran" >&2
	exit 1
fi
if [ "$status" != 0 ]; then
	[ -z "${KEEP:-}" ] || cp "$work/said" "$KEEP"
	echo "mariadb-suite: tests failed, see above; KEEP=FILE keeps all that they said" >&2
	exit 1
fi
