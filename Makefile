# make run    sets up .venv and runs the quickstart
# make test   sets up .venv with every extra, then ruff, mypy and pytest
# make setup  the set-up alone, every extra
# make bench  the benchmarks; they print ratios and never fail on time

PYTHON ?= python3
BIN := .venv/bin

# Tests that need a real trace skip without one.
ifneq ($(wildcard ../shared/traces),)
export BINWRIGHT_TRACES ?= $(abspath ../shared/traces)
endif

# Where a clone is called binwright, Python in the folder above takes the clone for the package, unless pip writes a path.
EDITABLE := --config-settings editable_mode=compat --editable

.PHONY: run setup test bench docs clean

run: .venv/light
	$(BIN)/binwright run scenarios/quickstart.yaml

setup: .venv/full

test: .venv/full
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest

bench: .venv/full
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.episodes

docs: .venv/full
	$(BIN)/python -m scenarios.reference > docs/scenario-reference.md

clean:
	rm -rf .venv results

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/light: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt $(EDITABLE) .
	touch $@

.venv/full: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt $(EDITABLE) '.[dev,learned,ray,rivals,serve,solver]'
	touch .venv/light $@
