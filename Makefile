# Every target prepares what it needs (scripts/bootstrap.sh) and is quick when nothing changed.
.DEFAULT_GOAL := help
.PHONY: help setup demo test frameworks bench fuzz kills fidelity soak mutation wheel format native clean

PYTEST := .venv/bin/python -m pytest
SECONDS ?= 600
DATA ?=
export QT_QPA_PLATFORM ?= offscreen

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## .venv with every extra, and the system's libraries
	@scripts/bootstrap.sh >/dev/null
	@echo "ready; next: make demo, or .venv/bin/warpline record -o run.h5 -- PROGRAM, then .venv/bin/warpline run.h5"

demo: ## record the bundled example and show it
	@unset QT_QPA_PLATFORM; scripts/demo.sh

test: ## lint, format, types, import contracts, tests; ARGS="-k name" goes to pytest
	@scripts/check.sh $(ARGS)

frameworks: setup ## untouched scripts of PyTorch, Lightning, Transformers, Paddle, in an environment of their own
	@scripts/frameworks.sh $(ARGS)

bench: setup ## benchmarks, with tables; ARGS as above
	@$(PYTEST) tests/benchmarks -o 'python_files=bench_*.py' --timeout=0 -q -s -p no:cacheprovider $(ARGS)

fuzz: setup ## hostile inputs in forks, guided by coverage, in the window, property tests, sanitized C (SECONDS=600 each, DATA=folder of traces)
	@.venv/bin/python -m tests.fuzz.whole --seconds $(SECONDS) $(if $(wildcard $(DATA)),--data $(DATA)) -- $(ARGS)

kills: setup ## recorder, program, finaliser, recoverer killed at random moments; ARGS="--count 1000" says how often
	@.venv/bin/python -m tests.kills.run $(ARGS)

fidelity: setup ## real programs bare and recorded: the same output, status and files; ARGS="-k java" chooses
	@$(PYTEST) tests/fidelity -o 'python_files=fidelity_*.py' --timeout=0 -q -p no:cacheprovider $(ARGS)

soak: setup ## imports, tabs, windows 200 times; then a ring and a window in use for HOURS=72, or ten minutes: what grew
	@.venv/bin/python -m tests.soak.coming_and_going
	@.venv/bin/python -m tests.soak.run $(HOURS)

mutation: setup ## bugs in a copy of the tree: which of them the tests notice; ARGS="name" chooses
	@.venv/bin/python tests/mutation/run.py $(ARGS)

wheel: setup ## the wheel and the source distribution, in dist/
	@.venv/bin/python -m build --no-isolation

format: setup ## format and mend what can be mended
	@.venv/bin/ruff check --fix --quiet; .venv/bin/ruff format

native: setup ## compile the recording agent into the checkout
	@.venv/bin/python scripts/build_native.py

clean: ## remove what was built, except .venv
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
