# The verbs of this project. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help dev fmt lint types test docs check demo bench fuzz clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: $(STAMP) ## make .venv with everything in it

# Debian and Ubuntu keep the module venv in a package of its own.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  echo "installing python3-venv (apt-get)"; \
	  $$SUDO apt-get update -q >/dev/null && $$SUDO env DEBIAN_FRONTEND=noninteractive \
	    apt-get install -q -y --no-install-recommends python3-venv >/dev/null; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "installing gpuimage and its tools into $(VENV)"
	@$(PY) -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(PY) -m pip install -q --disable-pip-version-check -e . --group dev
	@$(PY) -m compileall -q gpuimage
	@touch $@

fmt: dev ## format the code
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix-only --quiet .

lint: dev ## check style
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .

types: dev ## check types (mypy --strict)
	@$(VENV)/bin/mypy

test: dev ## run all tests; starts its own engine and registry, and stops them again
	@$(PY) -m pytest --numprocesses 2 --no-loadscope-reorder $(ARGS)

docs: dev ## write what is generated: the examples' Dockerfiles and .dockerignore files, RULES.md
	@$(VENV)/bin/gpuimage rules --format markdown > RULES.md.new && mv RULES.md.new RULES.md
	@for spec in examples/*/spec.yaml; do $(VENV)/bin/gpuimage render $$spec -o $${spec%/*} || exit; done

check: lint types test ## lint, types and tests

demo: dev ## build and smoke-test examples/quickstart, on any Debian or Ubuntu machine
	@$(PY) -m tests.lab.demo

bench: dev ## the linter against hadolint, inspect against cuobjdump, torch-inference against a naive Dockerfile
	@$(PY) -m tests.bench

fuzz: dev ## fuzz the linter, and what reads libraries and archives, for FUZZ seconds (60) each
	@$(PY) -m pip install -q --disable-pip-version-check --group fuzz
	@$(PY) -m tests.fuzz $(or $(FUZZ),60) lint
	@$(PY) -m tests.fuzz $(or $(FUZZ),60) inspect

clean: ## stop what the tests and the demo started, and remove all they made
	@if [ -x $(PY) ]; then $(PY) -m tests.lab down --remove; fi
	@rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	@find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
