# The two commands of the README are `make conformance` and `make test`; `make help` lists all.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SITE = $(shell $(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')

.PHONY: build
build: $(VENV)/.ready ## compile what changed and put it into the virtual environment
	@$(VENV)/bin/cmake --build build --parallel 2
	@$(VENV)/bin/cmake --install build --prefix $(SITE) > build/install.log

# The virtual environment, with the package installed from this folder: Python files are used in place.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet scikit-build-core pybind11 scipy-openblas32 cmake ninja
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

.PHONY: gen gen-write
gen: $(VENV)/.ready ## check that the generated files are current
	$(PY) kernels/tools/opgen.py
gen-write: $(VENV)/.ready ## write the generated files
	$(PY) kernels/tools/opgen.py --write
