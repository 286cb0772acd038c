# The virtual environment: VENV=DIR on the command line, else the active one, else .venv, made where it is missing.
VENV ?= $(or $(VIRTUAL_ENV),.venv)
PYTHON ?= python3
# The simulated device needs no CUDA. Where an index has the build for CPUs, 2.13.0+cpu, this version takes it, and a newer one
# would not; from PyPI alone it is the build for CUDA, which works as well and is gigabytes larger.
TORCH ?= torch==2.13.0
# The release of Liger-Kernel whose kernels the tests rewrite; `make liger` fetches it.
LIGER_VERSION ?= 0.8.5
LIGER := build/liger_kernel-$(LIGER_VERSION)
# How many tests at once.
JOBS ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.liger-perf-installed

.DEFAULT_GOAL := help
.PHONY: help venv liger demo test test-fast test-gpu soak lint lint-actions format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## make the virtual environment and install everything into it

$(STAMP): pyproject.toml examples/mini_liger/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11; name another one: make venv PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "error: $(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet triton -e '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps -e examples/mini_liger
	@touch $@

liger: $(LIGER) ## fetch Liger-Kernel's source release, for the tests on its kernels (skipped without)

$(LIGER): $(STAMP)
	$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --dest build liger-kernel==$(LIGER_VERSION)
	tar xzf $(LIGER).tar.gz -C build
	@touch $@

test: export LIGER_PERF_LIGER_SDIST ?= $(abspath $(wildcard $(LIGER)))
test: $(STAMP) ## run all tests that need no GPU, whole pipelines on the simulated device included
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m 'not gpu' --junitxml=build/junit.xml

demo: $(STAMP) ## play a whole conversation, from a comment to a pull request, and write demo-output/index.html
	$(BIN)/python -m liger_perf.demo

test-fast: $(STAMP) ## run the tests without the whole pipelines
	$(BIN)/python -m pytest -n $(JOBS) -m 'not gpu and not slow'

test-gpu: $(STAMP) ## run the tests that need an NVIDIA GPU (make venv TORCH='torch>=2.6' there)
	$(BIN)/python -m pytest -m gpu tests/gpu

soak: $(STAMP) ## kill real runs on the simulated device fifty times (about half an hour)
	$(BIN)/python tools/kill_soak.py --kills 50

WORKFLOWS := .github/workflows/*.yml examples/workflows/*.yml

lint: $(STAMP) lint-actions ## check style, types, the boundaries between the modules, and what packages the action
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tools/*.py
	$(BIN)/lint-imports

lint-actions: $(STAMP) ## check action.yml, the Dockerfile and the workflows
	$(BIN)/zizmor --offline --quiet --persona pedantic . examples/workflows/liger-perf.yml
	$(BIN)/actionlint $(WORKFLOWS)
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)

format: $(STAMP) ## repair what ruff can repair
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove what the other targets made, .venv included
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests examples -name __pycache__ -prune -exec rm -rf {} +
