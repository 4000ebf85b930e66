# Two commands:  make demo   make test        (also: make bench, make test-lower, make clean)
#
# Everything is made in .venv and labextension/node_modules. A step that is done leaves a file in .stamps, and is done
# again only when what it was made from has changed. Needed beforehand: Python 3.11+, Node 20+ with npm, and for the
# browser tests apt (as root or with sudo) or a Chromium that is there already.

PYTHON ?= python3
BIN    := .venv/bin
STAMPS := .stamps
SUDO   := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet

PANEL_SOURCES := $(shell find labextension/src labextension/style -type f) labextension/tsconfig.json
PANEL         := zad_jupyter/labextension/package.json

# What zad_jupyter's own build needs: with it in .venv, building there again takes seconds.
BUILD_TOOLS := "hatchling>=1.27" "hatch-jupyter-builder>=0.9.1" "jupyter-builder>=1.0" editables

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help demo test bench test-lower clean check-python check-node lint test-python test-typescript test-browser

help:
	@echo "make demo        set everything up, run the tour, and open it in JupyterLab"
	@echo "make test        set everything up, and run all tests"
	@echo "make bench       print the table of measurements"
	@echo "make test-lower  run the Python tests with the oldest supported versions"
	@echo "make clean       remove all that make has made"

demo: $(STAMPS)/install
	@$(BIN)/python -m zad_jupyter.notebook.demo examples/tour.ipynb

test: lint test-typescript test-python test-browser
	@echo "== all tests passed"

bench: $(STAMPS)/install
	@$(BIN)/python -m tests.benchmarks

# -- the tests, one kind each

lint: $(STAMPS)/install-test
	@echo "== ruff and mypy"
	@$(BIN)/ruff check . && $(BIN)/mypy

test-typescript: $(STAMPS)/npm
	@echo "== the panel's types and unit tests"
	@cd labextension && npm run --silent check && npm run --silent test

test-python: $(STAMPS)/install-test
	@echo "== Python and notebook tests"
	@$(BIN)/python -m pytest -q --ignore=tests/browser

test-browser: $(STAMPS)/install-test $(STAMPS)/chromium
	@echo "== browser tests (JupyterLab in Chromium, about two minutes)"
	@$(BIN)/python -m pytest -q tests/browser

# -- setting up

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "zad_jupyter needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }

check-node:
	@command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
	  { echo "the panel needs Node 20 or newer, with npm, to be built"; exit 1; }

$(BIN)/python: | check-python
	@echo "== making .venv"
	@$(PYTHON) -m venv .venv

$(STAMPS)/tools: | $(BIN)/python
	@mkdir -p $(STAMPS)
	@echo "== installing the build tools into .venv"
	@$(PIP) $(BUILD_TOOLS)
	@touch $@

$(STAMPS)/npm: labextension/package.json labextension/package-lock.json labextension/.npmrc | check-node
	@mkdir -p $(STAMPS)
	@echo "== installing the panel's JavaScript packages (about a minute)"
	@cd labextension && npm ci --no-progress --loglevel=error >/dev/null
	@touch $@

$(PANEL): $(PANEL_SOURCES) $(STAMPS)/npm $(STAMPS)/tools
	@echo "== building the panel"
	@rm -rf zad_jupyter/labextension labextension/lib
	@cd labextension && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build:prod >build.log 2>&1 || { cat build.log; exit 1; }
	@rm -f labextension/build.log
	@touch $@

# The installed panel is a copy: a new one is installed again. It has just been built: the build hook need not do so.
export HATCH_JUPYTER_BUILDER_SKIP_NPM = 1

$(STAMPS)/install: pyproject.toml $(PANEL)
	@echo "== installing zad_jupyter and JupyterLab into .venv (about a minute, the first time)"
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(STAMPS)/install-test: $(STAMPS)/install
	@echo "== installing what the tests need into .venv"
	@$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

$(STAMPS)/chromium: | $(BIN)/python
	@mkdir -p $(STAMPS)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "== installing Chromium with apt (about a minute)"; \
	    $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium fonts-dejavu-core >/dev/null; }
	@touch $@

# -- the oldest versions that pyproject.toml allows

test-lower: $(STAMPS)/lower
	@echo "== Python tests with the lower bounds of pyproject.toml"
	@.venv-lower/bin/python -m pytest -q --ignore=tests/browser

$(STAMPS)/lower: pyproject.toml $(PANEL)
	@echo "== making .venv-lower with the oldest supported versions (about a minute)"
	@rm -rf .venv-lower && $(PYTHON) -m venv .venv-lower
	@$(PYTHON) -c 'import tomllib; print(*(d.replace(">=", "==") for d in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]), sep="\n")' > $(STAMPS)/lower.txt
	@.venv-lower/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(STAMPS)/lower.txt $(BUILD_TOOLS)
	@.venv-lower/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(STAMPS)/lower.txt --no-build-isolation --editable '.[test]'
	@touch $@

clean:
	rm -rf .venv .venv-lower $(STAMPS) zad_jupyter/labextension labextension/node_modules labextension/lib dist
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
