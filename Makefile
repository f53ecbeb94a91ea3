# make run       sets up .venv and asks how many servers three agents need
# make test      sets up .venv with every extra, then all tests but the long ones, in 4 minutes on 2 cores, 7 the first time
# make check     ruff and mypy, in a minute and a half; seconds when repeated
# make test-all  make check and make test, then the long tests and make versions, in 16 minutes more
# make versions  the core alone: with every other Python from 3.11 to 3.13 on the PATH, and with the lowest versions
# make setup     the set-up alone, every extra
# make site      builds the documentation into build/site, to be read without a network; warnings are errors
# make release   builds sdist and wheel into build/dist, and checks that the wheel, installed elsewhere, runs a scenario
# make bench     the benchmarks; they print ratios and never fail on time

PYTHON ?= python3
BIN := .venv/bin

# Tests that need a real trace skip without one.
ifneq ($(wildcard ../shared/traces),)
export BINWRIGHT_TRACES ?= $(abspath ../shared/traces)
endif

# Tests start hundreds of processes: without kept bytecode each of them compiles the whole code again.
unexport PYTHONDONTWRITEBYTECODE
# With the clone on it, pip takes the wheel that make release checks for installed, and the clone would run in its place.
unexport PYTHONPATH

# Threads within the processes of the tests would only wait for one another.
test long rest: export OMP_NUM_THREADS = 1
test long rest: export POLARS_MAX_THREADS = 1

# As many tests at a time as there are processors, up to 8.
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

.PHONY: run setup test check test-all long rest versions FORCE lint types bench docs site release clean

run: .venv/light
	@$(BIN)/binwright size first
	@echo "Next: your own CSV: $(BIN)/binwright traces describe FILE"

setup: .venv/full

test: .venv/full
	$(PYTEST) -m "not long"

check: .venv/full
	@$(MAKE) --no-print-directory --jobs 2 lint types

test-all: check test
	@$(MAKE) --no-print-directory rest
	@$(MAKE) --no-print-directory versions

lint: .venv/full
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet

types: .venv/full
	@$(BIN)/mypy

CORE := tests/simcore tests/fabric tests/agents/heuristics/test_servers.py

# Each in an environment of its own below build/versions. A Python that is not there is said, and left out; so is that of
# the set-up, with which make test has tested everything.
versions:
	@for version in 3.11 3.12 3.13; do \
		if [ $$version = "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ]; then continue; fi; \
		if python$$version -c "" 2> /dev/null; then \
			$(MAKE) --no-print-directory build/versions/$$version PYTHON=python$$version WITH=constraints.txt || exit 1; \
		else echo "Python $$version is not on the PATH: not tested."; fi; \
	done
	@if python3.11 -c "" 2> /dev/null; then \
		$(MAKE) --no-print-directory build/versions/lowest PYTHON=python3.11 WITH=constraints-lowest.txt; \
	else echo "Python 3.11 is not on the PATH: the lowest versions are not tested."; fi

build/versions/%: FORCE
	@echo "Python and versions: $*"
	@$(PYTHON) -m venv $@
	@$@/bin/pip install --quiet --disable-pip-version-check --constraint $(WITH) . pytest hypothesis pytest-xdist networkx
	@$@/bin/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile -m "not long" \
		-o addopts="--strict-markers --strict-config" $(CORE)

# What make test leaves out; WITHIN=240 begins no test after so many seconds.
WITHIN := inf
long: .venv/full
	$(PYTEST) -m long --within $(WITHIN)

# The same, and all properties with more examples, other ones every time.
rest: .venv/full
	$(PYTEST) -m "long or hypothesis" --hypothesis-profile drawn

bench: .venv/full
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.environments --rounds 1

FORCE:

docs: .venv/full
	$(BIN)/python -m docs.scenario_reference > docs/reference/scenario.md

site: .venv/full
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The wheel is built from the sdist, so that what the sdist lacks is missed here.
release: .venv/full
	@rm -rf build/dist build/release
	@grep -q "^## \[$$($(BIN)/python -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')\] - " \
		CHANGELOG.md || { echo "CHANGELOG.md has no entry for the version in pyproject.toml."; exit 1; }
	@$(BIN)/python -c "from setuptools import build_meta; build_meta.build_sdist('build/dist')" > /dev/null
	@$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/dist build/dist/*.tar.gz
	@$(PYTHON) -m venv build/release
	@build/release/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt build/dist/*.whl
	@cd build/release && bin/binwright run quickstart --quiet --seeds 1 --agents first-fit,best-fit && bin/binwright --version
	@ls build/dist

clean:
	rm -rf .venv results

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/light: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

.venv/full: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,docs,learned,ray,serve,solver]'
	touch .venv/light $@
