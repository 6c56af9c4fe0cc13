# Each target makes its own prerequisites and skips the existing ones.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all check shells compose images data bench bench-peers fuzz soak fleet debian lowest layers clean engine base
.PHONY: table-pulls table-byzantine table-tune table-tune-fresh
.PHONY: table-overlap table-groups
.PHONY: figure-dynacomm figure-single-node figure-omnivore figure-reliability figures figures-quick
.PHONY: figures-containers

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
FAST := not slow and not docker and not tensorflow and not netns and not netem and not thorough
REST := netem or thorough
TIMES := netns or timed
# One thread for each process: a host that plays many devices has no cores to spare for thread pools.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Folders of the tests without containers, in memory where the host has room for files there: a disk
# takes some 2 ms to make or remove a file, of which these tests have ten thousands.
IN_MEMORY := PYTEST_DEBUG_TEMPROOT=$(shell test -w /dev/shm && echo /dev/shm)
# Keep compiled modules, even where the environment says not to: the tests start some hundred Python processes.
export PYTHONDONTWRITEBYTECODE :=

help: ## print this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { sub("%", "NAME", $$1); printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: engine $(INSTALLED) data images ## play scenarios/quickstart.yaml in containers and draw its report
	$(BIN)/emulate run scenarios/quickstart.yaml
	$(BIN)/emulate report runs/quickstart/latest

# A skip that tests/gate/skips.py does not name fails these two: what a machine lacks, a test names.
test test-all: STRICT := --strict-skips
# The seconds of each lane's tests: tests/gate/times.py sums them, and holds the sum below its budget.
TIMED := --times=build/times
test: shells check engine data images ## check, then run the tests that need Docker, root, TensorFlow or some seconds
	@tests/netem/setup || true
	@tests/containers/setup || true
	$(IN_MEMORY) $(BIN)/pytest $(STRICT) $(TIMED)/slow.json -n auto --dist loadfile --durations=10 \
	  -m "not ($(FAST)) and not docker and not ($(TIMES)) and not ($(REST))"
	$(BIN)/pytest $(STRICT) $(TIMED)/containers.json -n 2 --dist loadfile --durations=10 \
	  -m "docker and not ($(TIMES)) and not ($(REST))"
	@rm -f build/times/again.json
	@# What measures times on this host: two tests at once, then alone what other work made late.
	$(BIN)/pytest $(STRICT) $(TIMED)/times.json -n 2 --dist loadfile --durations=10 \
	  -m "($(TIMES)) and not ($(REST))" || \
	  $(BIN)/pytest $(STRICT) $(TIMED)/again.json -m "($(TIMES)) and not ($(REST))" --last-failed --last-failed-no-failures none
	$(BIN)/python -m tests.gate.times

test-all: test ## run all tests: also those that boot another kernel, take minutes, or want a host without other work
	@tests/debian/setup || true
	$(BIN)/pytest $(STRICT) -n auto --dist loadfile -m netem --durations=10
	$(BIN)/pytest $(STRICT) -m "thorough and not netem" --durations=10

check: $(INSTALLED) ## check format, lint and types, and run the quick tests: a minute, without Docker or TensorFlow
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(IN_MEMORY) $(BIN)/pytest $(STRICT) $(TIMED)/quick.json -n auto --dist worksteal -m "$(FAST)"

shells:
	@tests/cli/setup || true

compose: engine $(INSTALLED) data images ## play the smallest scenario by hand, from docker-compose.yml
	@$(BIN)/emulate compose scenarios/smallest.yaml build/compose
	@if docker compose version >/dev/null 2>&1; then compose="docker compose"; \
	elif command -v docker-compose >/dev/null; then compose=docker-compose; \
	else echo "make: Compose is missing: as root, apt-get install docker-compose"; exit 1; fi; \
	trap "$$compose down" EXIT; $$compose up
	@$(BIN)/emulate logs build/compose | grep -E ' (accuracy|stop)'

images: engine $(INSTALLED) base ## build the image that every container runs from
	@$(BIN)/emulate images

data: $(INSTALLED) ## get the data sets: MNIST, Fashion-MNIST, digits, shapes and sentences
	@$(BIN)/emulate data

bench: engine $(INSTALLED) data images ## measure updates per second, plain and encrypted, beside their upper bounds
	$(BIN)/python -m tests.benchmarks

bench-peers: engine $(INSTALLED) data images .venv-peers/.installed ## measure ms of a core for an update, beside TensorFlow's ParameterServerStrategy and Flower
	$(BIN)/python -m tests.benchmarks.peers

fuzz: $(INSTALLED) ## send servers 1,100,000 hostile messages beside honest work, 12 minutes (docs/performance.md)
	$(BIN)/python -m tests.hostile

soak: engine $(INSTALLED) data images ## watch memory, descriptors and files for 30 minutes of faults (docs/performance.md)
	$(BIN)/python -m tests.soak --docs docs

fleet: engine $(INSTALLED) data images ## play 200 devices on mixed links for 20 minutes, and print where their memory goes (docs/performance.md)
	$(BIN)/python -m tests.benchmarks.containers.fleet_memory

debian: engine $(INSTALLED) data images ## type the commands in a machine of Debian 13: QEMU, control groups v2 (docs/engines.md)
	@tests/debian/setup
	$(BIN)/pytest -s tests/debian

lowest: $(INSTALLED) ## install the lowest versions that pyproject.toml allows, and use them: 2 minutes, 2 GB
	$(BIN)/python -m tests.installing.fresh_install

table-pulls: ## compare pulls of 20 homes: whole models, or only changed parameters (docs/papers/hardy-2017.md)
table-byzantine: ## compare aggregations of gradients while 4 of 20 devices lie (docs/papers/blanchard-2017.md)
figure-dynacomm: ## compare schedules of pulls and pushes: four networks, shared links, losses (docs/papers/cai-2021.md)
figure-omnivore: ## compare compute groups and their momentum, and measure that of asynchrony (docs/papers/hadjis-2016.md)
figure-reliability: ## compare AdaComp with ASGD when devices crash: accuracy and time (docs/papers/hardy-2017.md)
# The studies use virtual time and all cores; after an interruption they play the missing runs.
table-pulls table-byzantine: table-%: $(INSTALLED) data
	$(BIN)/emulate study $* --docs docs
figure-dynacomm figure-omnivore figure-reliability: figure-%: $(INSTALLED) data
	$(BIN)/emulate study $* --docs docs

figures: $(INSTALLED) data ## play all studies of the papers, and write their results into docs/papers and build/papers.html: hours
	$(BIN)/emulate study --all --docs docs --book build/papers.html

figures-quick: $(INSTALLED) data ## the same by small versions of the studies, into build/: minutes
	@rm -rf build/docs && mkdir -p build && cp -r docs build/docs
	$(BIN)/emulate study --all --quick --docs build/docs --book build/papers-quick.html

figures-containers: engine $(INSTALLED) data images ## play a figure of each paper in containers, too, beside virtual time: half an hour
	$(BIN)/emulate study hardy-containers chen-containers dynacomm-containers omnivore-containers --docs docs

figure-%: $(INSTALLED) data ## play one study, and write its tables and figures: any name that `emulate study` lists
	$(BIN)/emulate study $* --docs docs

figure-single-node: $(INSTALLED) data ## measure one core by images lowered and multiplied at once (docs/single-node.md)
	$(BIN)/python -m tests.benchmarks.single_node --gradients --docs docs

table-tune: $(INSTALLED) data ## compare the tuner's choices with the best of a grid, three fleets (docs/tune.md)
	$(BIN)/python -m tests.benchmarks.tuning.tuned_fleets --docs docs

table-tune-fresh: $(INSTALLED) data ## compare the tuner's choices with the best of a grid, 12 random fleets (docs/tune.md)
	$(BIN)/python -m tests.benchmarks.tuning.fresh_fleets --docs docs

table-overlap: engine $(INSTALLED) data images ## compare schedules in containers with their plans: 15 minutes (docs/papers/cai-2021.md)
	$(BIN)/python -m tests.benchmarks overlap --docs docs

table-groups: engine $(INSTALLED) data images ## compare compute groups in containers with their prediction: 5 minutes (docs/predict.md)
	$(BIN)/python -m tests.benchmarks groups --docs docs

layers: $(INSTALLED) ## the picture of the layers in docs/why.md, from the imports
	$(BIN)/python -m tests.draw_layers

clean: ## remove the files of builds and tests from this folder; runs/, .venv/ and downloads stay
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

engine:
	@images/engine

base: engine
	@images/base

.venv-peers/.installed: tests/benchmarks/peers/requirements.txt
	@echo "venv: installing the peers of tests/benchmarks/peers into .venv-peers (a minute or two, 1.7 GB)"
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/pip install -qq --disable-pip-version-check -r $< </dev/null
	@touch $@

# Debian has ensurepip in a package of its own.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && \
	  { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; } </dev/null; } || \
	  { echo "make: Python lacks ensurepip: as root, apt-get install python3-venv"; exit 1; }
	@echo "venv: installing the packages of pyproject.toml into .venv (a minute or two)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install -qq --disable-pip-version-check --editable '.[dev]' </dev/null
	@touch $@
