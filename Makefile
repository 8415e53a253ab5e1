# Every target begins with `make install`, which does nothing when .venv is current.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo browser test lint docs docs-check wheel wheel-check bench audit pictures nightly clean

help:
	@echo "make demo     survey a real language model and print the table"
	@echo "make test     run the tests"
	@echo "make browser  install Chromium for the tests, where it is missing and apt-get is there"
	@echo "make pictures draw the pictures of the README anew"
	@echo "make lint     ruff and mypy"
	@echo "make docs     build the documentation site: build/docs/html/index.html"
	@echo "make docs-check   open every page of the site in Chromium: no outside request, no error, every link"
	@echo "make wheel    build dist/armillary-VERSION-py3-none-any.whl"
	@echo "make wheel-check  install that wheel into an empty environment and use it"
	@echo "make bench    time and memory against the bare forward pass (slow)"
	@echo "make audit    ask the public advisories about every pinned dependency (needs the network)"
	@echo "make nightly  the slow tests, and whether intervals cover on real text (two hours)"

install: $(STAMP)

# An unpinned torch brings gigabytes of CUDA packages: the pinned one goes in first, by itself.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $$(grep '^torch==' constraints.txt)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $(STAMP)

demo: install
	rm -rf runs/demo
	$(BIN)/armillary survey smollm2 --corpus python-docs --out runs/demo

browser:
	command -v chromium >/dev/null || ! command -v apt-get >/dev/null || \
	  { sudo=$$(test "$$(id -u)" = 0 || echo sudo); $$sudo apt-get update -qq && $$sudo apt-get install -qq -y chromium; }

pictures: install
	rm -rf runs/pictures
	$(BIN)/armillary survey smollm2 --corpus wikitext2 --heads --out runs/pictures
	$(BIN)/armillary heads runs/pictures
	$(BIN)/python docs/making/pictures.py runs/pictures

test: install
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not nightly" --durations=40 --durations-min=3

nightly: wheel
	$(BIN)/python -m pytest -m nightly
	$(BIN)/python benchmarks/coverage.py minilm wikitext2 --write
	$(BIN)/python benchmarks/coverage.py minilm python-code --write
	$(BIN)/python benchmarks/coverage.py smollm2 wikitext2 --no-names --write

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: install
	$(BIN)/python -m sphinx -W --keep-going --quiet -d build/docs/read docs build/docs/html
	@echo "documentation: build/docs/html/index.html"

docs-check: docs
	$(BIN)/python docs/making/visit.py build/docs/html

# What an earlier build left in build/lib would get into the wheel.
wheel: install
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	rm -rf build/lib build/bdist.*
	@ls dist/*.whl

wheel-check: wheel
	$(BIN)/python -m pytest -m nightly tests/test_wheel.py

bench: install
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/overhead.py --covariance attention
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/attention.py
	$(BIN)/python -W ignore benchmarks/peers.py
	$(BIN)/python -W ignore benchmarks/clusters.py

# Strict: a dependency that the advisories cannot be asked about is no pass.
audit:
	test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install --quiet pip-audit; }
	build/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
