#!/bin/sh
# Records what ext4 asks of its device while PostgreSQL, MariaDB's InnoDB and Redis use it: histories/*.txt, which the
# simulator replays. Needs root (a loop device, a mount), PostgreSQL 15, MariaDB and Redis as Debian has them, and the program
#   cargo build -p sealstone-simulator --bin record
# It takes half a minute, and nothing of it is the same twice: times decide what ext4 writes together.
# usage: record-histories.sh RECORD [postgres] [innodb] [redis]
set -eu

[ "$(id -u)" -eq 0 ] || { echo 'record-histories: a loop device needs root' >&2 && exit 2; }
record=$(realpath "${1:?usage: record-histories.sh RECORD [postgres] [innodb] [redis]}")
shift
[ $# -gt 0 ] || set -- postgres innodb redis
histories=$(cd "$(dirname "$0")" && pwd)/histories
mkdir -p "$histories"
dir=$(mktemp -d)
# the servers run as users of their own
chmod 755 "$dir"
device='' recorder='' server=''

end_server() {
	[ -z "$server" ] || { kill -TERM "$server" && wait "$server" || true; }
	server=''
}
end_device() {
	! mountpoint -q "$dir/m" || umount "$dir/m"
	[ -z "$device" ] || losetup --detach "$device"
	device=''
	# the end of its standard input is the end of the recorder
	exec 3>&-
	[ -z "$recorder" ] || wait "$recorder" || true
	recorder=''
}
cleanup() {
	# as much of it as is possible
	set +e
	end_server
	end_device
	rm -rf --one-file-system "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Begins a history on a new file system. usage: begin MIB
begin() {
	mkdir "$dir/fuse" "$dir/m"
	mkfifo "$dir/input"
	"$record" "$dir/file" $(($1 << 20)) "$dir/fuse" "$dir/history" <"$dir/input" >"$dir/said" &
	recorder=$!
	exec 3>"$dir/input"
	until grep -q ready "$dir/said"; do
		kill -0 "$recorder"
		sleep 0.1
	done
	device=$(losetup --find --show --direct-io=on --sector-size 4096 "$dir/fuse/volume")
	phase 'mkfs.ext4'
	mkfs.ext4 -q -b 4096 -J size=4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$device"
	mount -o discard "$device" "$dir/m"
}

# Says in the history what comes next.
phase() {
	! mountpoint -q "$dir/m" || sync -f "$dir/m"
	echo "$1" >"$dir/fuse/control"
	echo "record-histories: $1" >&2
}

# Ends a history. usage: end NAME WHAT VERSION
end() {
	end_server
	end_device
	{
		echo "# What ext4 asked of its device under $2"
		echo "# Recorded by: sh dev/simulator/record-histories.sh RECORD $1"
		echo "# $3; $(mke2fs -V 2>&1 | head -n 1 | cut -d ' ' -f 1-2); Linux $(uname -r | cut -d - -f 1)"
		echo '# w FIRST COUNT: a write; d FIRST COUNT: blocks become zeros; f: a flush; blocks of 4096 bytes'
		cat "$dir/history"
	} >"$histories/$1.txt"
	rm -r "$dir/fuse" "$dir/m" "$dir/input" "$dir/file" "$dir/history" "$dir/said"
}

# Waits until a command succeeds. usage: await COMMAND...
await() {
	tries=0
	until "$@" >"$dir/said" 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { cat "$dir/said" >&2 && exit 1; }
		sleep 0.1
	done
}

postgres() {
	bin=/usr/lib/postgresql/15/bin
	as='setpriv --reuid=postgres --regid=postgres --clear-groups'
	pgbench="$as $bin/pgbench -h $dir/m/run -p 27431 -n"
	psql="$as $bin/psql -h $dir/m/run -p 27431 -q -d postgres"
	cd /
	begin 72
	mkdir "$dir/m/data" "$dir/m/run"
	chown postgres:postgres "$dir/m/data" "$dir/m/run"
	phase 'initdb'
	$as $bin/initdb -D "$dir/m/data" --wal-segsize=1 --no-sync --no-locale -E UTF8 -A trust >/dev/null
	$as $bin/postgres -D "$dir/m/data" -c listen_addresses=127.0.0.1 -p 27431 -c "unix_socket_directories=$dir/m/run" \
		-c min_wal_size=2MB -c max_wal_size=6MB -c shared_buffers=4MB -c logging_collector=off 2>"$dir/log" &
	server=$!
	await $psql -c 'select 1'
	phase 'pgbench -i'
	$pgbench -i -I dtgp -q --fillfactor=90 postgres 2>/dev/null
	$psql -c checkpoint
	phase 'pgbench, four clients'
	$pgbench -c 4 -j 2 -t 110 postgres >/dev/null 2>&1
	phase 'a checkpoint'
	$psql -c checkpoint
	phase 'pgbench, one client'
	$pgbench -c 1 -t 130 postgres >/dev/null 2>&1
	phase 'truncate, vacuum and drop'
	$psql -c 'truncate pgbench_history' -c 'vacuum pgbench_branches, pgbench_tellers' -c 'drop table pgbench_accounts' -c checkpoint
	phase 'pgbench -i again, and the end of the server'
	$pgbench -i -I dtgp -q postgres 2>/dev/null
	end postgres 'PostgreSQL with pgbench' "$($bin/postgres --version)"
}

innodb() {
	client="mariadb --no-defaults -h 127.0.0.1 -P 27432 -u root"
	mkdir "$dir/data"
	chown mysql:mysql "$dir/data"
	# what both commands are told, and nothing of the machine's own settings
	cat >"$dir/my.cnf" <<-END
		[mariadbd]
		user=mysql
		innodb-log-file-size=4M
		innodb-buffer-pool-size=6M
		innodb-data-file-path=ibdata1:4M:autoextend
		innodb-autoextend-increment=4
		innodb-temp-data-file-path=ibtmp1:4M:autoextend
		innodb-flush-log-at-trx-commit=1
		aria-log-file-size=8388608
	END
	# elsewhere, since it asks for as much as all the rest
	mariadb-install-db --defaults-file="$dir/my.cnf" --datadir="$dir/data" --skip-test-db \
		--auth-root-authentication-method=normal >/dev/null
	begin 64
	phase 'cp -a of what mariadb-install-db made'
	cp -a "$dir/data" "$dir/m/data"
	mariadbd --defaults-file="$dir/my.cnf" --datadir="$dir/m/data" --bind-address=127.0.0.1 --port=27432 --socket="$dir/m/data/socket" \
		--pid-file="$dir/m/data/pid" 2>"$dir/log" &
	server=$!
	await $client -e 'select 1'
	phase 'load'
	$client -e "create database oltp; use oltp;
		create table accounts (id int primary key, balance int, note varchar(200)) engine=innodb;
		insert into accounts select seq, 0, repeat(md5(seq), 5) from seq_1_to_10000;
		create index notes on accounts (note(20));"
	phase 'transactions, four clients'
	clients=''
	for number in 1 2 3 4; do
		transactions "$number" 40 | $client oltp &
		clients="$clients $!"
	done
	# shellcheck disable=SC2086
	wait $clients
	phase 'all in place'
	$client -e "set global innodb_max_dirty_pages_pct_lwm=0.001, innodb_max_dirty_pages_pct=0"
	sleep 2
	$client -e "set global innodb_max_dirty_pages_pct=90, innodb_max_dirty_pages_pct_lwm=0"
	phase 'transactions, one client'
	transactions 5 80 | $client oltp
	phase 'truncate, drop and load again'
	$client oltp -e "create table more engine=innodb as select * from accounts; truncate accounts; drop table more;
		insert into accounts select seq, 0, repeat(md5(seq), 3) from seq_1_to_4000;"
	phase 'the end of the server'
	end innodb "MariaDB's InnoDB with small transactions" "$(mariadbd --version | sed 's/  */ /g; s/ for .*//')"
}

# Prints transactions. usage: transactions SEED COUNT
transactions() {
	awk -v seed="$1" -v count="$2" 'BEGIN {
		srand(seed)
		for (one = 0; one < count; one++) {
			from = int(rand() * 10000) + 1; to = int(rand() * 10000) + 1
			print "begin; update accounts set balance = balance - 1 where id = " from ";"
			print "update accounts set note = md5(" one * seed ") where id = " to "; commit;"
		}
	}'
}

redis() {
	client="redis-cli -h 127.0.0.1 -p 27433"
	begin 32
	mkdir "$dir/m/data"
	phase 'appendfsync always'
	redis-server --bind 127.0.0.1 --port 27433 --dir "$dir/m/data" --save '' --appendonly yes --appendfsync always \
		--auto-aof-rewrite-percentage 0 >"$dir/log" &
	server=$!
	await $client ping
	values 1 350 | $client >/dev/null
	phase 'appendfsync everysec'
	$client config set appendfsync everysec >/dev/null
	for second in 1 2 3 4 5 6 7 8; do
		values "$second" 3000 | $client --pipe >/dev/null
		sleep 1
	done
	phase 'bgrewriteaof and save'
	$client bgrewriteaof >/dev/null
	await sh -c "$client info persistence | grep -q aof_rewrite_in_progress:0"
	$client save >/dev/null
	phase 'appendfsync always again'
	$client config set appendfsync always >/dev/null
	values 9 200 | $client >/dev/null
	phase 'flushall, bgrewriteaof and the end of the server'
	$client flushall sync >/dev/null
	$client bgrewriteaof >/dev/null
	await sh -c "$client info persistence | grep -q aof_rewrite_in_progress:0"
	rm -f "$dir/m/data/dump.rdb"
	phase 'more'
	values 10 60 | $client >/dev/null
	end redis 'Redis with an append-only file' "$(redis-server --version | cut -d ' ' -f 1-3)"
}

# Prints commands. usage: values SEED COUNT
values() {
	awk -v seed="$1" -v count="$2" 'BEGIN {
		srand(seed)
		for (one = 0; one < count; one++) printf "set key:%d %0*d\r\n", int(rand() * 5000), int(rand() * 400) + 1, one
	}'
}

for name; do
	case $name in
	postgres | innodb | redis) "$name" ;;
	*) echo "record-histories: no such history: $name" >&2 && exit 2 ;;
	esac
done
