# Two commands for a fresh machine: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo test lint format bench bench-setup accuracy clean

help:
	@echo "make demo      set up, describe and classify built-in data, draw two pictures"
	@echo "make test      set up, run the test suite"
	@echo "make lint      ruff (lint and format) and mypy"
	@echo "make bench     speed beside Open3D FPFH, HKS, torch and jakteristics -> benchmarks/results"
	@echo "make accuracy  the paper's accuracies on Orbit5k, and on protein domains if DATA is given"
	@echo "make clean     remove the virtual environment and all caches"

# One stamp a group of packages: installed once, again when pyproject.toml changes.
$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e ".[show]"
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) install -c constraints.txt -e ".[io,show,torch,persistence,test,lint]"
	sh tests/browser/install_chromium.sh
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	sh benchmarks/system_packages.sh
	$(PIP) install -c constraints.txt -e ".[show,bench]"
	@touch $@

demo: $(VENV)/.base
	$(BIN)/heatfield demo

test: $(VENV)/.test
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed.py

# DATA=folder with cath15 etc.; without it only the synthetic sets run.
accuracy: $(VENV)/.base
	$(BIN)/python benchmarks/accuracy.py $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis heatfield-demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
