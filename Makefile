# The whole set-up in two commands: `make compare` and `make test`. See README.md.

# system: link the RocksDB of the distribution (quick); bundled: build RocksDB from source (10 to 20 minutes)
ENGINE ?= system
# more flags for `make compare`, such as ARGS="--ciphers none,aria-256"
ARGS ?=

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

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help compare rivals test install setup setup-rivals setup-lints clean

help:
	@echo 'make compare            measure what encryption at rest costs on this machine; ends with the path of the report'
	@echo 'make compare ARGS=...   the same with flags of your own, see: sealstone compare --help'
	@echo 'make test               every check and every test'
	@echo 'make rivals             our ciphers beside OpenSSL and the crate lea: GB/s by message size, in one run'
	@echo 'make install            install the command sealstone with cargo'
	@echo 'make clean              remove what was built'
	@echo 'ENGINE=bundled          with compare and install: build RocksDB from source instead of linking the system library'

compare: setup
	cargo build --release --locked --package sealstone-cli $(FEATURES)
	@"$$CARGO_TARGET_DIR/release/sealstone" compare $(ARGS)

test: setup setup-rivals setup-lints
	@cargo run --quiet --locked --package xtask -- test

install: setup
	cargo install --locked --path crates/cli $(subst sealstone-cli/,,$(FEATURES))

setup:
	@sh dev/setup.sh $(ENGINE)

setup-rivals:
	@sh dev/setup.sh rivals

rivals: setup setup-rivals
	cargo run --release --locked --package sealstone-rivals -- $(ARGS)

setup-lints:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
		|| rustup component add rustfmt clippy

clean:
	cargo clean
