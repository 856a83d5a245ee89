# Every target first prepares what it needs (scripts/bootstrap.sh); that takes a moment when nothing changed.
.DEFAULT_GOAL := help
.PHONY: help setup demo test quick frameworks bench peers doubling fuzz kills fidelity sanitize soak night mutation wheel wheels wine bundle release format native clean

PYTEST := .venv/bin/python -m pytest
SECONDS ?= 600
DATA ?=
export QT_QPA_PLATFORM ?= offscreen

help: ## print this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { sub("%", "ROOM", $$1); printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## make .venv with every extra, and install the system's libraries
	@scripts/bootstrap.sh >/dev/null
	@echo "ready; next: make demo, or .venv/bin/warpline record -o run.h5 -- PROGRAM, then .venv/bin/warpline run.h5"

demo: ## record the bundled example and show it
	@unset QT_QPA_PLATFORM; scripts/demo.sh

test: ## run every check: lint, format, types, import contracts, tests; ARGS="-k name" goes to pytest
	@scripts/check.sh $(ARGS)

quick: ## lint and test what you changed, in under a minute; ARGS="--since main" compares with a branch
	@scripts/bootstrap.sh >/dev/null
	@.venv/bin/python scripts/quick.py $(ARGS)

test-%: ## run the tests of one room: make test-storage, make test-panels …
	@scripts/bootstrap.sh >/dev/null
	@folders=$$(find tests -type d -name '$*'); \
	if [ -z "$$folders" ]; then echo "no folder of tests is called $*; there are:" $$(find tests/unit tests/gui tests/native -mindepth 1 -maxdepth 1 -type d ! -name '_*' -exec basename {} \; | sort -u) >&2; exit 2; fi; \
	$(PYTEST) -n auto --maxprocesses 4 $$folders $(ARGS)

frameworks: setup ## record unmodified PyTorch, Lightning, Transformers and Paddle scripts, in their own environment
	@scripts/frameworks.sh $(ARGS)

bench: setup ## run the benchmarks and print their tables; ARGS goes to pytest
	@$(PYTEST) tests/benchmarks -o 'python_files=bench_*.py' --timeout=0 -q -s -p no:cacheprovider $(ARGS)

peers: setup ## install other tools into build/peers and measure them beside Warpline; ARGS="--trace FILE"
	@scripts/peers.sh $(ARGS)

doubling: setup ## measure whether twice as much costs 2.5 times as much or less; ARGS="--scale 0.1"
	@.venv/bin/python tests/benchmarks/bench_doubling.py $(ARGS)

fuzz: setup ## try hostile inputs on readers, window and C code, SECONDS=600 each (DATA=folder of traces)
	@.venv/bin/python -m tests.fuzz.whole --seconds $(SECONDS) $(if $(wildcard $(DATA)),--data $(DATA)) -- $(ARGS)

kills: setup ## kill recorder, program and finaliser at random moments; ARGS="--count 1000"
	@.venv/bin/python -m tests.kills.run $(ARGS)

fidelity: setup ## run real programs with and without recording and compare what they do; ARGS="-k java"
	@$(PYTEST) tests/fidelity -o 'python_files=fidelity_*.py' --timeout=0 -q -p no:cacheprovider $(ARGS)

sanitize: setup ## run the agent's tests with ThreadSanitizer and AddressSanitizer on the simulated CUDA driver
	@scripts/sanitize.sh $(ARGS)

soak: setup ## use recorder and window for ten minutes, or HOURS=72, and report what grew
	@.venv/bin/python -m tests.soak.coming_and_going
	@.venv/bin/python -m tests.soak.run $(HOURS)

night: setup ## kills, hostile inputs, real programs, sanitizers, long use: build/night/results.md; ARGS="--scale 0.01"
	@.venv/bin/python -m tests.night $(if $(wildcard $(DATA)),--data $(DATA)) $(ARGS)

mutation: setup ## put bugs into a copy of the tree and report which the tests notice; ARGS="name"
	@.venv/bin/python tests/mutation/run.py $(ARGS)

wheel: setup ## build the wheel and the source distribution in dist/
	@.venv/bin/python -m build --no-isolation

wheels: setup ## build and check the wheels of all platforms in dist/; ARGS="--target windows-arm64"
	@.venv/bin/python packaging/build_wheels.py $(ARGS)

wine: setup ## try the Windows wheel under Wine and compare with Linux; ARGS="--check unit_tests_pass"
	@.venv/bin/python packaging/wine/try_wheel.py $(ARGS)

bundle: setup ## make what runs without Python, as .tar.xz and .deb, in dist/
	@.venv/bin/python packaging/bundle.py $(ARGS)

release: setup ## prepare a release of a tested commit in dist/: VERSION=0.5.0
	@.venv/bin/python packaging/release.py $(VERSION)

format: setup ## format, and fix what the linter can fix
	@.venv/bin/ruff check --fix --quiet; .venv/bin/ruff format; .venv/bin/clang-format -i $$(git ls-files '*.c' '*.h')

native: setup ## compile the recording agent into the checkout
	@.venv/bin/python scripts/build_native.py

clean: ## remove build products, but keep .venv
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
