# Each target brings along what it needs and skips what is already there.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check compose images data bench clean engine base
.PHONY: table-adacomp table-residual table-pulls

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
FAST := not slow and not docker and not tensorflow and not netns and not netem
# One thread each: a host that plays many devices has no core to spare for pools of threads.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: engine $(INSTALLED) data images ## play scenarios/quickstart.yaml in containers and draw its report
	$(BIN)/emulate run scenarios/quickstart.yaml
	$(BIN)/emulate report runs/quickstart/latest

test: engine $(INSTALLED) data images ## every test, those that need Docker, root or TensorFlow included
	@tests/netem/setup || true
	$(BIN)/pytest

check: $(INSTALLED) ## format, lint, types and the quick tests: a minute, no Docker, no TensorFlow
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto -m "$(FAST)"

compose: engine $(INSTALLED) data images ## the smallest world by hand, from docker-compose.yml
	@$(BIN)/emulate compose scenarios/smallest.yaml build/compose
	@if docker compose version >/dev/null 2>&1; then compose="docker compose"; \
	elif command -v docker-compose >/dev/null; then compose=docker-compose; \
	else echo "make: Compose is missing: as root, apt-get install docker-compose"; exit 1; fi; \
	trap "$$compose down" EXIT; $$compose up
	@$(BIN)/emulate logs build/compose | grep -E ' (accuracy|stop)'

images: engine $(INSTALLED) base ## the image that every device runs from
	@$(BIN)/emulate images

data: $(INSTALLED) ## MNIST, Fashion-MNIST, the digits and the sentences
	@$(BIN)/emulate data

bench: engine $(INSTALLED) data images ## updates a second, plain and encrypted, beside their upper bounds
	$(BIN)/python tests/bench.py

table-adacomp: ## AdaComp against ASGD: bytes to an accuracy, 50 and 200 devices (docs/adacomp.md)
table-residual: ## AdaComp by residuals against dense training, two models (docs/residual.md)
table-pulls: ## 20 homes, whole models down to them or only what changed (docs/pulls.md)
# Played in virtual time, on all cores; interrupted, they go on where they were.
table-adacomp table-residual table-pulls: table-%: $(INSTALLED) data
	$(BIN)/emulate study $* --docs docs

clean: ## remove what builds and tests left in this folder; runs/, .venv/ and downloads stay
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

engine:
	@images/engine

base: engine
	@images/base

# Debian keeps ensurepip in a package of its own.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && \
	  { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; } </dev/null; } || \
	  { echo "make: Python lacks ensurepip: as root, apt-get install python3-venv"; exit 1; }
	@echo "venv: installing what pyproject.toml names into .venv (a minute or two)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install -qq --disable-pip-version-check --editable '.[dev]' </dev/null
	@touch $@
