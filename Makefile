# make demo: set-up, then figures 9 and 11 of NSDI'20 on the simulator.  make test: set-up, then all that can fail because of
# a change.  make check: everything, which takes longer and wants more of the machine.
# Builds are cached outside the tree, so that a fresh clone does not compile the dependencies again.
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/etalon
export CARGO_TARGET_DIR ?= $(CACHE)/target
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
WHEEL := $(BIN)/maturin build --quiet --interpreter $(CURDIR)/$(BIN)/python --out $(CARGO_TARGET_DIR)/wheels

.PHONY: setup programs kernel release wheel published docs otcp-agent demo test test-rust test-kernel test-python check rest slow instructions hdfs \
    test-hdfs lint format bench clean

setup: $(VENV)/.stamp-extension $(VENV)/.stamp-otcp

# The core compiles while pip fetches the other packages. If that fails, its installation below prints why.
$(VENV)/.stamp-packages: constraints.txt pyproject.toml requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "etalon needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@command -v cargo >/dev/null || { echo "etalon needs Rust (cargo): install it with rustup or your package manager"; exit 1; }
	@echo "setting up $(VENV): packages and the core (minutes the first time, cached afterwards)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -c constraints.txt maturin
	@$(WHEEL) --profile quick >/dev/null 2>&1 & $(PIP) -c constraints.txt -r requirements-dev.txt; status=$$?; wait; exit $$status
	@touch $@

RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock

$(VENV)/.stamp-extension: $(VENV)/.stamp-packages $(RUST)
	@PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/maturin develop --profile quick --quiet
	@touch $@

# OTCP's controller, a distribution of its own.
$(VENV)/.stamp-otcp: $(VENV)/.stamp-packages otcp/pyproject.toml
	@$(PIP) --no-deps --no-build-isolation --editable otcp
	@touch $@

# Linux for the Linux engine: minutes the first time, then kept with the other builds.
kernel: setup
	@$(BIN)/etalon kernel path >/dev/null 2>&1 || $(PYTHON) tools/packages.py kernel
	$(BIN)/etalon kernel build

# What tests run of the system: installed where that is possible, else named.
programs:
	@rm -f $(ETALON_LEFT_OUT)
	@$(PYTHON) tools/packages.py tests

# The core of this tree, guided by its own profile (tools/train.py): two to three times as fast as that of `setup`, up to a quarter of it by the profile; some minutes to build.
# `make setup` builds the plain one again after the next change.
release: setup
	$(BIN)/python tools/wheels.py --core

# What is published: wheels and sources of etalon-rdcn and of etalon-rdcn-kernel, which has kernels of HZ 250 and 1000.
wheel: setup
	$(BIN)/python tools/wheels.py

# The core that a wheel holds, which one processor links: `.ci/run` does it beside tests that take several.
published: setup
	@$(WHEEL) --release --locked

# The site, which needs no network to be read: site/index.html. Its pages run commands on the simulator.
$(VENV)/.stamp-docs: $(VENV)/.stamp-packages requirements-docs.txt
	@$(PIP) -c constraints.txt -r requirements-docs.txt
	@touch $@

docs: setup $(VENV)/.stamp-docs
	DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@echo "the site: site/index.html"

# OTCP's agent as one static program: with musl where rustup has it, else with glibc.
LINUX := $(shell uname -m)-unknown-linux
otcp-agent:
	@if rustup target add $(LINUX)-musl >/dev/null 2>&1; then \
	    TARGET_CC=$${CC:-cc} cargo build --quiet --profile small -p etalon-otcp-agent --target $(LINUX)-musl; \
	else \
	    RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --profile small -p etalon-otcp-agent --target $(LINUX)-gnu; \
	fi
	@ls -l "$(CARGO_TARGET_DIR)"/$(LINUX)-*/small/etalon-otcp-agent

demo: setup
	$(BIN)/etalon reproduce nsdi20 --figure 9 --figure 11 --out runs/demo --force

# Tests write what they lack into this file.
export ETALON_LEFT_OUT := $(CURDIR)/$(VENV)/left-out
test: setup programs kernel test-rust test-kernel test-python
	@[ ! -s $(ETALON_LEFT_OUT) ] || { echo "not run (number of tests, and why):"; sort $(ETALON_LEFT_OUT) | uniq -c; }

# Beside `make test`: what takes long, and what only the whole of the tree can fail.
check: lint test docs rest hdfs

rest: slow instructions

slow: setup programs kernel
	@$(PIP) -c constraints.txt ray
	$(PYTEST) --numprocesses=auto -m "slow and not alone"
	$(PYTEST) -m "slow and alone"

# Instructions a packet, which are the same beside other work.
instructions: setup programs
	$(BIN)/etalon bench --instructions

# Where there is Maven.
hdfs:
	@if command -v mvn >/dev/null; then $(MAKE) test-hdfs; else echo "no Maven: the tests of reHDFS are left out"; fi

# Some tests of OTCP's agent wait for its timers: more at a time than there are processors.
test-rust:
	RUST_TEST_THREADS=8 cargo test --profile quick --workspace --quiet

# The whole workspace, whose features are those of test-rust: with `-p` the same crates would be compiled again.
test-kernel: kernel
	cargo build --profile quick --quiet --workspace --example run
	ETALON_KERNEL=$$($(BIN)/etalon kernel path) cargo test --profile quick --quiet --workspace --test kernel -- --include-ignored

# The block placement policy for Hadoop; needs Java 17 and Maven.
test-hdfs:
	@command -v mvn >/dev/null || { echo "reHDFS needs Java 17 and Maven: apt-get install maven openjdk-17-jdk-headless"; exit 1; }
	MAVEN_OPTS="-Xmx384m -XX:+UseSerialGC" mvn -q -B -f hdfs/pom.xml -Dmaven.repo.local=$(CACHE)/m2 verify

# A process a processor; then, one by one, those that want the machine to themselves. With CI or ETALON_TEST_ALL in the
# environment nothing may be missing.
PYTEST := $(BIN)/pytest --quiet --durations=12 --durations-min=2 --dist=loadgroup --snapshot-disable-unused
test-python: setup kernel
	$(PYTEST) --numprocesses=auto -m "not slow and not alone"
	$(PYTEST) -m "alone and not slow"

lint: setup
	cargo fmt --all --check
	cargo clippy --profile quick --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --profile quick --workspace --no-deps --quiet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: release
	$(BIN)/etalon bench --out benches/RESULTS.md

clean:
	rm -rf $(VENV) runs dist site hdfs/target
