#!/bin/sh
# Runs the example of docs/guide/applications.md under Maven on a sealed table of a lab server, and looks at what it prints and
# leaves. Needs Maven, the Java artefact in the local repository, sealstone (or SEALSTONE_BIN), and the server with its client.
# usage: java-example.sh mariadb|postgres DIRECTORY-OF-THE-EXAMPLE [ARGUMENT-OF-MVN]...
set -eu

server=$1
example=$(cd "$2" && pwd)
shift 2
sealstone=${SEALSTONE_BIN:-sealstone}
# the example prints Korean, whatever the locale of this machine
export LC_ALL=C.UTF-8

work=$(mktemp -d)
# a server that was started as root runs as another user, who must get through
chmod 711 "$work"
cleanup() {
	"$sealstone" lab down "$work/shop" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

# Takes a file for what is printed, and a command, of which is shown what went wrong.
into() {
	out=$1
	shift
	"$@" >"$out" 2>failed || { cat "$out" failed >&2 && exit 1; }
}

into said "$sealstone" lab up "$server" --dir shop
umask 077
head -n 1 said >address
address=$(cat address)
user=${address#*://} user=${user%%@*}
place=${address#*@} place=${place%%\?*}
secret=${address##*file=}
case $server in
mariadb)
	jdbc=jdbc:mariadb://$place
	password=$(sed -n 's/^password *= *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$secret")
	host_port=${place%/*}
	query() {
		mariadb --defaults-file="$secret" --host="${host_port%:*}" --port="${host_port#*:}" --batch --skip-column-names \
			--default-character-set=utf8mb4 "${place#*/}"
	}
	;;
postgres)
	jdbc=jdbc:postgresql://$place
	password=$(cut -d : -f 5 "$secret")
	query() {
		psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$address"
	}
	;;
*) echo "java-example: the server is mariadb or postgres, not $server" >&2 && exit 2 ;;
esac
query <"$example/people.sql"
into said "$sealstone" keys new people.key
into said "$sealstone" field migrate @address --table people --column phone=ff1:phone --index phone=32 \
	--column memo=aead --tweak memo=row:id --key people.key --yes --quiet

export DATABASE_PASSWORD="$password"
into coloured mvn --batch-mode --quiet --file "$example/pom.xml" "$@" compile exec:java \
	-Dexec.args="$jdbc $user $work/people.key"
# Maven resets the colour also of what is no terminal
sed "s/$(printf '\033')\[[0-9;]*m//g" coloured >printed
cat printed

# Takes a file and a line that it must have.
has() {
	grep -qxF -- "$2" "$1" || { echo "java-example: $server: not among these lines: $2" >&2 && cat "$1" >&2 && exit 1; }
}
has printed 'read Person[id=1, phone=010-1234-5678, memo=calls back 메모]'
has printed 'found [1]'
has printed 'Person[id=1, phone=010-8765-4321, memo=calls back 메모]'
has printed 'Person[id=2, phone=null, memo=has no phone]'
has printed 'Person[id=3, phone=010-3333-0003, memo=null]'
has printed 'Person[id=4, phone=010-4444-0004, memo=added by Java]'
# the server has no value in the clear, and its mark says that the value is sealed
echo "SELECT phone_sealed FROM people WHERE id = 4 AND phone <> '010-4444-0004' AND memo <> 'added by Java';" | query >marks
has marks 1
# and the command opens what Java wrote
into said "$sealstone" field migrate @address --table people --open --key people.key --yes --quiet
echo "SELECT phone FROM people WHERE id IN (1, 4) ORDER BY id;" | query >phones
has phones 010-8765-4321
has phones 010-4444-0004
echo "java-example: $server: passed" >&2
