# The whole set-up in two commands: `make compare` and `make test`. See README.md.

# system: link the RocksDB of the distribution (quick); bundled: build RocksDB from source (10 to 20 minutes)
ENGINE ?= system
# more flags for `make compare`, such as ARGS="--ciphers none,aria-256"
ARGS ?=
# where `make install` puts the command (bin), what MongoDB, programs with RocksDB and applications load (lib/sealstone, where
# the command looks for it), headers for C (include), manual and completions (share)
CARGO_ROOT := $(or $(CARGO_INSTALL_ROOT),$(CARGO_HOME),$(HOME)/.cargo)
# where `make deb` puts the package
PACKAGES ?= $(CARGO_TARGET_DIR)/packages
# for `make constant-time`: calls a measurement, and ciphers, such as CALLS="1000000 aes-256"
CALLS ?= 200000
# for `make fuzz`: what to check (a file of dev/fuzz/fuzz_targets), and how many seconds long
TARGET ?= ciphers
SECONDS ?= 60
# for `make soak`: how many minutes, or one seed to replay
MINUTES ?= 10
SEED ?=

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sealstone
SYSTEM_CXXFLAGS := $(CXXFLAGS)

ifeq ($(ENGINE),bundled)
export CARGO_TARGET_DIR ?= $(CACHE)/target-bundled
FEATURES := --features sealstone-cli/bundled
ifeq ($(shell uname -m),x86_64)
# checksums by the CPU's own instructions, as distributions build RocksDB
export CXXFLAGS := $(strip -msse4.2 -mpclmul $(SYSTEM_CXXFLAGS))
endif
else ifeq ($(ENGINE),system)
export CARGO_TARGET_DIR ?= $(CACHE)/target
FEATURES :=
else
$(error ENGINE is system or bundled, not $(ENGINE))
endif

INSTALLED := sealstone-cli sealstone-wiredtiger sealstone-mariadb sealstone-rocksdb-plugin sealstone-fields-c

# the first report comes sooner without the drivers of servers that it does not need; flags that name one get everything
DRIVER_STORES := $(foreach store,redis ssdb postgres mysql,$(findstring $(store),$(ARGS)))
ifneq (,$(findstring block,$(ARGS))$(findstring iscsi,$(ARGS)))
DRIVER_STORES += block
endif
ifneq (,$(findstring volume,$(ARGS))$(findstring rest,$(ARGS))$(findstring redis-ssdb,$(ARGS)))
DRIVER_STORES += volume
endif
ifneq (,$(findstring mongodb,$(ARGS))$(findstring kmip,$(ARGS)))
COMPARE_FEATURES := --package sealstone-wiredtiger
COMPARE_SETUP := setup-mongod
else ifneq (,$(strip $(DRIVER_STORES)))
COMPARE_FEATURES := --no-default-features $(addprefix --features sealstone-cli/,$(DRIVER_STORES))
else
COMPARE_FEATURES := --no-default-features
endif
ifneq (,$(findstring redis,$(ARGS)))
COMPARE_SETUP += setup-redis
endif
ifneq (,$(findstring postgres,$(ARGS)))
COMPARE_SETUP += setup-postgres
endif
ifneq (,$(findstring mysql,$(ARGS)))
COMPARE_SETUP += setup-mariadb
COMPARE_PACKAGES := --package sealstone-mariadb
endif

ifneq (,$(findstring iscsi,$(ARGS)))
COMPARE_SETUP += setup-iscsi
endif

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help compare say-install rivals fuzz soak test install sanitize setup \
    setup-fuzz setup-lints clean installable deb test-deb release tarball packages sbom test-release db-bench mariadb-bench mariadb-suite test-mariadb-11 test-modules test-aws-lc-fips volume-bench volume-judges ycsb-rivals setup-tests check \
    setup-strongswan wire-speed setup-spark wheel test-spark spark-speed constant-time test-report miri setup-miri docs setup-java jar jar-spark test-java test-java-spark java-spark-speed java-speed

help:
	@echo 'make compare            measure what encryption at rest costs on this machine, and write a report; installs no command'
	@echo 'make compare ARGS=...   the same with flags of your own, see: sealstone compare --help'
	@echo 'make test               every check and every test'
	@echo 'make test-report        the report in a browser: sorted tables, width of a phone (installs Chromium)'
	@echo 'make docs               the pages as a site with search, in English and Korean; prints its path'
	@echo 'make wheel              the Python package, as a wheel; prints its path'
	@echo 'make test-spark         that wheel in an environment of its own: its tests, and Spark on several workers (500 MB)'
	@echo 'make spark-speed        how long Spark takes to seal a table, and its files, beside the command line; ARGS="--format parquet"'
	@echo 'make jar                the Java artefact; prints its path'
	@echo 'make jar-spark          the one for Spark (250 MB); prints its path'
	@echo 'make test-java          the tests of the Java artefact and its example, with tables of MariaDB and PostgreSQL (installs Maven and Java 17)'
	@echo 'make test-java-spark    the same for Spark from Java, on two threads and on two workers that are processes (250 MB)'
	@echo 'make java-speed         how many values a second a thread of Java seals and opens'
	@echo 'make java-spark-speed   how long Spark takes to seal a table from Java, beside its own copy of it; ARGS="10000000 5 csv"'
	@echo 'make rivals             our ciphers beside OpenSSL, libgcrypt and the crate lea: GB/s, keys, ends of pages, in one run'
	@echo 'make wire-speed         one TCP stream through strongSwan and through our path, as root: Mbit/s, CPU a gigabyte; ARGS="rounds=5"'
	@echo 'make ycsb-rivals        our client beside go-ycsb on one server: operations a CPU second, latency at the same rate; ARGS="--store mongodb"'
	@echo 'make constant-time      whether secrets decide branches, addresses or times: valgrind, and statistics of times'
	@echo 'make miri               unsafe Rust of the ciphers under Miri, on the backends that it can run'
	@echo 'make fuzz               look for inputs on which backends differ, or a damaged file opens; TARGET=ciphers, seals, kmip or key_files, SECONDS=60'
	@echo 'make sanitize           what crosses a language boundary under AddressSanitizer and ThreadSanitizer'
	@echo 'make install            install the command sealstone, its manual and completions, and what databases, programs with RocksDB and applications in C and Java load'
	@echo 'make deb                a Debian package of the same, with manual pages and completions; prints its path'
	@echo 'make test-deb           install that package into a fresh Debian and use it there, and in a container (as root)'
	@echo 'make release            everything that could be published, in one folder: tarball, package, wheel, jars, crates, checksums'
	@echo 'make test-release       that tarball, package and wheel in a fresh Debian, against the clock; all of Java and the container, too (as root)'
	@echo 'make soak               plain and sealed RocksDB on a disk that loses what was not synced; MINUTES=10, or SEED=17 to replay one'
	@echo 'make db-bench           what RocksDB'"'"'s own db_bench measures plain, under its EncryptedFileSystem and sealed; ARGS="--rounds 12"'
	@echo 'make mariadb-bench      what sysbench measures on MariaDB plain, under its own encryption and under our plug-in; ARGS="--rounds 12"'
	@echo 'make mariadb-suite      the tests of encryption that MariaDB itself has, under our plug-in (300 MB)'
	@echo 'make test-mariadb-11    our tests of the plug-in with MariaDB 11.4.5 (from Maven Central, 350 MB)'
	@echo 'make test-modules       whether a cryptographic module alone does everything, in a program whose own ciphers panic'
	@echo 'make test-aws-lc-fips   our tests of modules with the FIPS module of AWS-LC, which is built from source'
	@echo 'make volume-bench       what pgbench, fio, Redis and sysbench measure on sealed volumes, plain and on gocryptfs, as root; ARGS="--rounds 6"'
	@echo 'make volume-judges      whether fio --verify and fsx find on sealed volumes what they find on a plain loop device, as root; ARGS="--operations 100000"'
	@echo 'make clean              remove what was built'
	@echo 'ENGINE=bundled          with compare and install: build RocksDB from source instead of linking the system library'

compare: setup $(COMPARE_SETUP)
	cargo build --release --locked --package sealstone-cli $(COMPARE_PACKAGES) $(COMPARE_FEATURES) $(FEATURES)
	@$(MAKE) say-install
	@"$$CARGO_TARGET_DIR/release/sealstone" compare $(ARGS)

# What the tests start is fetched while cargo builds; what cargo links comes first.
test: setup setup-rivals setup-lints
	@$(MAKE) --jobs=2 setup-tests check
	@cargo run --quiet --locked --package xtask -- test

# One after the other: apt takes one at a time. Without MAKEFLAGS: programs that build know of their own how many jobs to run.
setup-tests:
	@unset MAKEFLAGS MFLAGS; for part in deb deny shells softhsm valgrind kmip mongod redis postgres mariadb wiredtiger rocksdb-tools gpu go-ycsb esp iscsi strongswan tshark user-mode-kernel xfs python workflows promtool; do \
		sh dev/setup.sh $$part || exit 1; \
	done

check:
	@unset MAKEFLAGS MFLAGS; cargo run --quiet --locked --package xtask -- check

# each builds everything once more, beside the other builds
sanitize: setup setup-wiredtiger
	@sh dev/sanitize.sh address
	@sh dev/sanitize.sh thread

# compare installs nothing, and every other line of README.md calls the command
say-install:
	@command -v sealstone >/dev/null || echo 'the command sealstone is not installed; install it with: make install' >&2

# What dev/install.sh installs. In one call of cargo, so that what the three share is built once; RocksDB from source is for the
# command alone, since programs load the plug-in beside the RocksDB of the system.
installable: setup
ifeq ($(ENGINE),system)
	cargo build --release --locked $(INSTALLED:%=--package %) $(FEATURES)
else
	cargo build --release --locked --package sealstone-cli --package sealstone-wiredtiger --package sealstone-mariadb --package sealstone-fields-c $(FEATURES)
	@sh dev/setup.sh system
	cargo build --release --locked --package sealstone-rocksdb-plugin
endif

install: installable
	@sh dev/install.sh "$$CARGO_TARGET_DIR/release" "$(CARGO_ROOT)"
	@command -v sealstone >/dev/null || echo 'sealstone is in $(CARGO_ROOT)/bin, which is not on PATH; add it: export PATH="$(CARGO_ROOT)/bin:$$PATH"' >&2

# the one place that has it
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -n 1)
# where `make release` puts everything that could be published
RELEASE ?= $(CARGO_TARGET_DIR)/release-$(VERSION)
# those of our packages that are for others
PUBLISHED := $(shell sed -n 's/^\(sealstone-[a-z-]*\) = { path = .* version = .*/--package \1/p' Cargo.toml)

# In one folder: the tarball, the package of Debian, the wheel, the Java artefact, the crates, what each is made of, how a container
# is made of the package, and the checksums of all.
release: setup-release
	@rm -rf "$(RELEASE)"
	@mkdir -p "$(RELEASE)"
	@$(MAKE) ENGINE=system deb PACKAGES="$(RELEASE)"
	@$(MAKE) wheel PACKAGES="$(RELEASE)"
	@cp "$$($(MAKE) jar | tail -n 1)" "$$($(MAKE) jar-spark | tail -n 1)" "$(RELEASE)"
	@$(MAKE) tarball packages sbom
	@cp Containerfile "$(RELEASE)"
	@cd "$(RELEASE)" && sha256sum -- * >SHA256SUMS && ls -l && echo "$(RELEASE)"
	@sh dev/to-fill-in.sh

# Linked with a RocksDB and a C++ library of its own, beside the other builds: a folder with nothing but the archive makes the
# linker take it.
tarball: installable
	@sh dev/setup.sh bundled
	@mkdir -p "$$CARGO_TARGET_DIR/portable/static"
	@ln -sf "$$(c++ -print-file-name=libstdc++.a)" "$$CARGO_TARGET_DIR/portable/static/libstdc++.a"
	@portable="$$CARGO_TARGET_DIR/portable" && CARGO_TARGET_DIR="$$portable" RUSTFLAGS="-L native=$$portable/static" \
	    CXXFLAGS="$(strip $(if $(filter x86_64,$(shell uname -m)),-msse4.2 -mpclmul) $(SYSTEM_CXXFLAGS))" \
	    cargo build --release --locked --package sealstone-cli --features sealstone-cli/bundled \
	    --package sealstone-wiredtiger --package sealstone-mariadb --package sealstone-fields-c
	@sh dev/tarball.sh "$$CARGO_TARGET_DIR/portable/release" "$$CARGO_TARGET_DIR/release" "$(RELEASE)"

# without the network: what a registry would take, built from what was packed; cargo takes what it built of the same version before
# for what it builds now
packages: setup
	@rm -rf "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/-*/sealstone-*
	@mkdir -p "$$CARGO_TARGET_DIR/packages"
	@find "$$CARGO_TARGET_DIR/packages" -depth -name '*sealstone*' -exec rm -rf {} +
	@cargo package --locked --offline --target-dir "$$CARGO_TARGET_DIR/packages" $(PUBLISHED)
	@mkdir -p "$(RELEASE)"
	@cp $(foreach package,$(filter-out --package,$(PUBLISHED)),"$$CARGO_TARGET_DIR/packages/package/$(package)-$(VERSION).crate") "$(RELEASE)"

sbom: setup-release
	@sh dev/sbom.sh "$(CACHE)/cyclonedx/bin/cargo-cyclonedx" "$(RELEASE)"

# First the tests in Java, which nothing else in a release runs. Then a fresh Debian, as root: what was made is installed and
# used there, against the clock, the Java artefact and the container, too.
test-release: test-java test-java-spark release
	@sh dev/setup.sh test-deb
	@sh dev/setup.sh mongod
	@sh dev/test-deb.sh "$(RELEASE)/sealstone_$(VERSION)_$$(dpkg --print-architecture).deb"
	@sh dev/test-release.sh "$(RELEASE)"
	@sh dev/test-release-java.sh "$(RELEASE)"
	@sh dev/test-container.sh "$(RELEASE)/sealstone_$(VERSION)_$$(dpkg --print-architecture).deb"

deb: setup-deb installable
	@sh dev/deb.sh "$$CARGO_TARGET_DIR/release" "$(PACKAGES)"

test-deb: deb
	@sh dev/setup.sh test-deb
	@sh dev/setup.sh mongod
	@sh dev/test-deb.sh "$$(ls -t "$(PACKAGES)"/sealstone_*.deb | head -n 1)"
	@sh dev/test-container.sh "$$(ls -t "$(PACKAGES)"/sealstone_*.deb | head -n 1)"

setup:
	@sh dev/setup.sh $(ENGINE)

# What tests, comparisons and measurements use from elsewhere, one part of dev/setup.sh each; a test without its part is a
# counted skip. mysql is a MySQL 8.0.15 from Maven Central (35 MB), which `make test` does without.
SETUPS := chromium deb release esp go-ycsb gpu iscsi kmip mariadb mongod mysql postgres python redis rivals rocksdb-tools shells softhsm user-mode-kernel valgrind wiredtiger workflows docs
.PHONY: $(SETUPS:%=setup-%)
$(SETUPS:%=setup-%): setup-%:
	@sh dev/setup.sh $*

# The browser in which the report is tried. Its tests skip without one, as they do in `make test`; this target is for them, and fails.
test-report: setup setup-chromium
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	    { echo 'test-report: no chromium could be installed to show the report in; install one, then try again' >&2; exit 2; }
	cargo test --locked --package sealstone-bench --test report
	cargo build --locked --package sealstone-cli
	SEALSTONE_BIN="$$CARGO_TARGET_DIR/debug/sealstone" cargo test --locked --package sealstone-e2e --test report_page -- --nocapture

# another end of sealed packets that carries them itself, and what opens captured ones
setup-strongswan:
	@sh dev/setup.sh strongswan
	@sh dev/setup.sh tshark

# a quiet machine, as for every figure, and root: one TCP stream through strongSwan and through ours
wire-speed:
	@sh dev/setup.sh strongswan
	cargo bench --locked --package sealstone-wire --bench wire_speed -- $(ARGS)

# a quiet machine, as for every figure; the plug-in is for the RocksDB that db_bench has, whatever ENGINE says
db-bench: setup setup-rocksdb-tools setup-rivals
	@sh dev/setup.sh system
	cargo build --release --locked --package sealstone-rocksdb-plugin --package sealstone-db-bench
	c++ -std=c++17 -O2 -fno-rtti -shared -fPIC -Wall -Wextra -o "$$CARGO_TARGET_DIR/release/libencrypted_fs.so" \
	    dev/db-bench/rival/encrypted_fs.cc -lrocksdb -lcrypto
	@"$$CARGO_TARGET_DIR/release/sealstone-db-bench" --plugin "$$CARGO_TARGET_DIR/release/libsealstone_rocksdb_plugin.so" \
	    --rival "$$CARGO_TARGET_DIR/release/libencrypted_fs.so" $(ARGS)

# a quiet machine, as for every figure, with 30 GiB free below the directory that --dir names, and root
volume-bench: setup setup-postgres setup-mariadb setup-redis
	@sh dev/setup.sh volume-rivals
	cargo build --release --locked --package sealstone-cli $(FEATURES)
	cargo build --release --locked --package sealstone-volume-bench
	@"$$CARGO_TARGET_DIR/release/sealstone-volume-bench" --sealstone "$$CARGO_TARGET_DIR/release/sealstone" $(ARGS)

# a quiet machine
mariadb-bench: setup setup-mariadb
	@sh dev/setup.sh volume-rivals
	cargo build --release --locked --package sealstone-mariadb --package sealstone-mariadb-bench
	@"$$CARGO_TARGET_DIR/release/sealstone-mariadb-bench" --plugin "$$CARGO_TARGET_DIR/release/libsealstone_mariadb.so" $(ARGS)

# SUITE_TESTS="tempfiles bulk_insert" runs these alone
mariadb-suite: setup setup-mariadb
	@sh dev/setup.sh mariadb-suite
	cargo build --release --locked --package sealstone-cli --package sealstone-mariadb $(FEATURES)
	@sh dev/mariadb-suite.sh "$$CARGO_TARGET_DIR/release/libsealstone_mariadb.so" "$$CARGO_TARGET_DIR/release/sealstone" $(SUITE_TESTS)

# what needs a mariabackup is skipped, and counted so: the package of MariaDB 11.4.5 has none, and Debian's is of 10.11
test-mariadb-11: setup setup-mariadb
	@sh dev/setup.sh mariadb-11
	cargo build --locked --package sealstone-cli --package sealstone-mariadb
	SEALSTONE_MARIADBD="$(CACHE)/mariadb-11/bin/mariadbd" cargo run --quiet --locked --package xtask -- \
	    test mariadb_plugin mariadb_keys mariadb_pages mariadb_modules mariadb_backup mariadb_nonces

# the FIPS module of AWS-LC is built from source, which needs cmake and Go: two minutes and 9 MB of sources
test-aws-lc-fips: setup setup-rivals
	@sh dev/setup.sh aws-lc-fips
	cargo test --locked --package sealstone-modules --features aws-lc-fips

# in builds in which every use of a cipher of our own panics, beside the other builds: a module alone does everything
test-modules: setup setup-rivals setup-mariadb setup-mongod setup-rocksdb-tools
	@CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/no-own" cargo test --locked --package sealstone-modules --features no-own --test alone
	@CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/no-own" cargo test --locked --package sealstone-mariadb --features no-own --test alone
	@CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/no-own" cargo build --locked --features sealstone-cli/no-own \
	    --package sealstone-cli --package sealstone-wiredtiger --package sealstone-mariadb --package sealstone-rocksdb-plugin
	SEALSTONE_ALONE=1 SEALSTONE_BIN="$$CARGO_TARGET_DIR/no-own/debug/sealstone" cargo test --workspace --locked --test modules
	SEALSTONE_ALONE=1 SEALSTONE_BIN="$$CARGO_TARGET_DIR/no-own/debug/sealstone" cargo test --workspace --locked \
	    --test mariadb_modules --test mongod_modules --test rocksdb_plugin -- a_module_enciphers a_module_seals
	SEALSTONE_BIN="$$CARGO_TARGET_DIR/no-own/debug/sealstone" cargo test --workspace --locked --test mariadb_modules \
	    the_commands_of_mariadb_take_a_module

# an hour on two cores beside other work, with 10 GiB free below the directory that --dir names, and root
volume-judges: setup
	@sh dev/setup.sh volume-judges
	cargo build --release --locked --package sealstone-cli $(FEATURES)
	cargo build --release --locked --package sealstone-volume-bench
	@"$$CARGO_TARGET_DIR/release/sealstone-volume-bench" judge --sealstone "$$CARGO_TARGET_DIR/release/sealstone" \
	    --fsx "$(CACHE)/fsx/bin/fsx" $(ARGS)

# nothing of the site is tracked; the folder works from a disk as from a server
docs: setup-docs
	@"$(CACHE)/python/bin/python" -m sphinx --quiet --fail-on-warning -c dev/docs -d "$$CARGO_TARGET_DIR/site-cache" . "$$CARGO_TARGET_DIR/site"
	@cp "$$CARGO_TARGET_DIR/site/README.html" "$$CARGO_TARGET_DIR/site/index.html"
	@echo "$$CARGO_TARGET_DIR/site/index.html"

# what `license-files` of its pyproject.toml names, and has to lie beside it while the wheel is made
WHEEL_LICENCES := $(addprefix adapters/python/,LICENSE-MIT LICENSE-APACHE LICENCES-THIRD-PARTY.txt)

# beside the other builds, since maturin sets what everything that knows Python is rebuilt for
wheel: setup-python
	@mkdir -p "$(PACKAGES)"
	@trap 'rm -f $(WHEEL_LICENCES)' EXIT; trap 'exit 130' INT TERM; cp LICENSE-MIT LICENSE-APACHE adapters/python/ && \
	    cargo run --quiet --locked --package xtask -- licences wheel adapters/python/LICENCES-THIRD-PARTY.txt && \
	    CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/wheel" "$(CACHE)/python/bin/maturin" build --quiet --profile wheel --locked \
		--manifest-path adapters/python/Cargo.toml --out "$(PACKAGES)"
	@ls -t "$(PACKAGES)"/sealstone-*.whl | head -n 1

setup-spark: setup-python
	@sh dev/setup.sh spark

WITH_WHEEL = sh dev/with-wheel.sh "$(CACHE)/python" "$$(ls -t "$(PACKAGES)"/sealstone-*.whl | head -n 1)"

test-spark: setup wheel setup-spark
	cargo build --locked --package sealstone-cli
	@SEALSTONE_BIN="$$CARGO_TARGET_DIR/debug/sealstone" $(WITH_WHEEL) -m pytest -q -p no:cacheprovider adapters/python/tests

# a quiet machine, as for every figure
spark-speed: setup wheel setup-spark
	cargo build --release --locked --package sealstone-cli
	@SEALSTONE_BIN="$$CARGO_TARGET_DIR/release/sealstone" $(WITH_WHEEL) adapters/python/examples/spark_speed.py $(ARGS)

setup-java:
	@sh dev/setup.sh java

JAVA = mvn --batch-mode --quiet --file adapters/java/pom.xml -Djava.build="$$CARGO_TARGET_DIR/java"
JAVA_SPARK = mvn --batch-mode --quiet --file adapters/java/spark/pom.xml -Djava.build="$$CARGO_TARGET_DIR/java-spark"

# Maven resets the colours also of what is no terminal, and `make release` takes what is printed for the path
jar: setup-java
	@$(JAVA) package -DskipTests >&2
	@ls -t "$$CARGO_TARGET_DIR"/java/sealstone-fields-*.jar | head -n 1

# Maven fetches 250 MB of Spark to compile against
jar-spark: jar
	@$(JAVA) install -DskipTests >&2
	@$(JAVA_SPARK) package -DskipTests >&2
	@ls -t "$$CARGO_TARGET_DIR"/java-spark/sealstone-spark-*.jar | head -n 1

# outside of `make test`, since Maven fetches 60 MB; what was tested is installed, as the example wants it
test-java: setup setup-java setup-mariadb setup-postgres
	cargo build --locked --package sealstone-cli --package sealstone-fields-c
	@SEALSTONE_BIN="$$CARGO_TARGET_DIR/debug/sealstone" $(JAVA) install -Dsealstone.library="$$CARGO_TARGET_DIR/debug/libsealstone_fields.so"
	@for server in mariadb postgres; do \
	    SEALSTONE_BIN="$$CARGO_TARGET_DIR/debug/sealstone" sh dev/java-example.sh "$$server" adapters/java/example \
	        -Djava.build="$$CARGO_TARGET_DIR/java-example" \
	        -Dsealstone.library="$$CARGO_TARGET_DIR/debug/libsealstone_fields.so" || exit 1; \
	done

# Maven fetches 250 MB more
test-java-spark: setup setup-java
	cargo build --locked --package sealstone-cli --package sealstone-fields-c
	@$(JAVA) install -DskipTests
	@SEALSTONE_BIN="$$CARGO_TARGET_DIR/debug/sealstone" $(JAVA_SPARK) verify -Dsealstone.library="$$CARGO_TARGET_DIR/debug/libsealstone_fields.so"

# a quiet machine with 2 GiB free, as for every figure; ARGS="10000000 5 csv": rows, rounds, csv or parquet
java-spark-speed: setup setup-java
	cargo build --release --locked --package sealstone-cli --package sealstone-fields-c
	@$(JAVA) install -DskipTests
	@$(JAVA_SPARK) test-compile dependency:build-classpath -Dmdep.outputFile="$$CARGO_TARGET_DIR/java-spark/classpath"
	@dir=$$(mktemp -d) && "$$CARGO_TARGET_DIR/release/sealstone" keys new "$$dir/people.key" >/dev/null && \
	    java @adapters/java/spark/opened-packages.txt -Xmx2g -Dsealstone.library="$$CARGO_TARGET_DIR/release/libsealstone_fields.so" \
	    -cp "$$CARGO_TARGET_DIR/java-spark/classes:$$CARGO_TARGET_DIR/java-spark/test-classes:$$(cat "$$CARGO_TARGET_DIR/java-spark/classpath")" \
	    org.sealstone.spark.SparkSpeed "$$dir" "$$dir/people.key" $(or $(ARGS),10000000 5 csv) 2>/dev/null; \
	    rm -rf "$$dir"

# a quiet machine, as for every figure
java-speed: setup setup-java
	cargo build --release --locked --package sealstone-cli --package sealstone-fields-c
	@$(JAVA) test-compile
	@dir=$$(mktemp -d) && "$$CARGO_TARGET_DIR/release/sealstone" keys new "$$dir/people.key" >/dev/null && \
	    java -Dsealstone.library="$$CARGO_TARGET_DIR/release/libsealstone_fields.so" \
	    -cp "$$CARGO_TARGET_DIR/java/classes:$$CARGO_TARGET_DIR/java/test-classes" org.sealstone.Speed "$$dir/people.key" $(or $(ARGS),15); \
	    rm -rf "$$dir"

rivals: setup setup-rivals
	cargo run --release --locked --package sealstone-rivals -- $(ARGS)

# a quiet machine, as for every figure
ycsb-rivals: setup-go-ycsb setup-mongod setup-redis setup-postgres setup-mariadb
	cargo build --release --locked --package sealstone-ycsb-rivals
	@"$$CARGO_TARGET_DIR/release/sealstone-ycsb-rivals" $(ARGS)

# the times last: they want a quiet machine
constant-time: setup-valgrind
	cargo test --release --locked --package sealstone-cipher --test constant_time -- --nocapture
	cargo test --release --locked --package sealstone-cipher --lib left_on_stack
	cargo bench --locked --package sealstone-cipher --bench timing_leaks -- $(CALLS)

miri: setup-miri
	@sh dev/miri.sh

setup-miri:
	@cargo +nightly miri --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal --component miri,rust-src \
		|| { echo 'miri: no nightly toolchain with Miri could be had (rustup toolchain install nightly --component miri)' >&2; exit 2; }

# what is found lies beside the build, since a fuzzer writes thousands of files
fuzz: setup-fuzz
	@mkdir -p "$(CACHE)/fuzz/$(TARGET)"
	cargo fuzz run --fuzz-dir dev/fuzz --sanitizer none --features libfuzzer $(TARGET) "$(CACHE)/fuzz/$(TARGET)" -- \
		-max_total_time=$(SECONDS) -artifact_prefix="$(CACHE)/fuzz/$(TARGET)-"

soak: setup
	cargo run --release --locked --package sealstone-simulator -- $(if $(SEED),--seed $(SEED),--minutes $(MINUTES)) $(ARGS)

setup-fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

setup-lints:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
		|| rustup component add rustfmt clippy

clean:
	cargo clean
