# `make conformance` shows that it works, `make test` that it is right; `make help` lists all.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PY := $(BIN)/python
SITE = $(shell $(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
export PATH := $(BIN):$(PATH)

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

.PHONY: build
build: $(VENV)/.ready ## compile what changed and put it into the virtual environment
	@$(BIN)/cmake --build build --parallel 2 > build/build.log || { cat build/build.log; exit 1; }
	@for part in Unspecified editable; do \
	  $(BIN)/cmake --install build --prefix $(SITE) --component $$part; done > build/install.log

# The virtual environment, with the package installed from this folder: Python files are used in place.
$(VENV)/.ready: pyproject.toml
	@echo "setting up $(VENV) and compiling; this takes minutes, once"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), f"wanted Python 3.10 or later, found {sys.version}"'
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check scikit-build-core pybind11 scipy-openblas32 cmake ninja
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
	@touch $@

.PHONY: conformance
conformance: build ## judge cpu; make, build, judge and train a new plugin; print one table
	@$(PY) scripts/conformance.py

# The last command of `make test` asks the same, and prints the rate.
ALL_MUTANTS := conformance/tests/test_mutants.py::test_every_planted_fault_is_caught

.PHONY: test
test: build gen abi lint ## the whole test suite, and the kill rate of the planted faults
	$(PY) -m pytest -q -n 2 --dist worksteal --deselect $(ALL_MUTANTS)
	$(PY) -m dougong conformance mutants --json build/mutants.json

# A device for plugins/opencl without hardware: an OpenCL runtime for CPUs, from Debian's packages.
.PHONY: opencl-runtime
opencl-runtime: ## install PoCL, so that opencl:0 is there (Debian, as root)
	@apt-get -qq install --yes --no-install-recommends pocl-opencl-icd ocl-icd-libopencl1 > build/opencl-runtime.log

.PHONY: bench
bench: build ## measure against the peer, side by side
	@test -d build/peers/torch || $(PY) -m pip install --quiet --disable-pip-version-check --target build/peers -r benchmarks/requirements.txt
	$(PY) benchmarks/run.py

# Headers of the device API are laid out by hand, and the generator has its own layout.
FORMATTED = git ls-files '*.cc' '*.h' '*.c' | grep -vE '^(device_api/include|runtime/src/generated)/' | xargs ls 2> /dev/null

.PHONY: lint
lint: $(VENV)/.ready ## style: ruff, and the rules of CONTRIBUTING.md that a program can check
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	@$(FORMATTED) | xargs $(BIN)/clang-format --dry-run --Werror 2>&1 | grep -oE '^[^:]+:[0-9]+' | sed 's/$$/: run `make format`/' \
	  | { ! grep . ; }
	$(PY) scripts/lint.py

.PHONY: format
format: $(VENV)/.ready ## put Python and C++ into the house style
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .
	$(FORMATTED) | xargs $(BIN)/clang-format -i

.PHONY: gen gen-write
gen: $(VENV)/.ready ## check that the generated files are current
	$(PY) kernels/tools/opgen.py
	$(PY) scripts/quotes.py
gen-write: $(VENV)/.ready ## write the generated files
	$(PY) kernels/tools/opgen.py --write
	$(PY) scripts/quotes.py --write

.PHONY: abi abi-write
abi: $(VENV)/.ready ## check that the device API is as promised
	$(PY) device_api/abi/lock.py
abi-write: $(VENV)/.ready ## write what was appended to the device API: a decision
	$(PY) device_api/abi/lock.py --write

# A build of its own, in an environment of its own, so that the sanitized libraries are the ones that are loaded.
ASAN := build/asan
ASAN_VENV := $(ASAN)/venv
ASAN_FLAGS := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
ASAN_SITE = $(shell $(ASAN_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
ASAN_TESTS ?= runtime/tests plugins
ASAN_QUICK := tensor autograd dispatch allocator streams dlpack

$(ASAN_VENV)/bin/python:
	@$(PYTHON) -m venv --without-pip $(ASAN_VENV)

.PHONY: sanitize
sanitize: build $(ASAN_VENV)/bin/python ## the core and the plugins under the address and undefined-behaviour sanitizers
	@$(BIN)/cmake -S . -B $(ASAN) -G Ninja -DCMAKE_BUILD_TYPE=Sanitize -DPython_EXECUTABLE=$(PY) \
	  -Dpybind11_DIR="$$($(PY) -m pybind11 --cmakedir)" \
	  -DCMAKE_C_FLAGS="$(ASAN_FLAGS)" -DCMAKE_CXX_FLAGS="$(ASAN_FLAGS)" > $(ASAN).log
	@$(BIN)/cmake --build $(ASAN) --parallel 2
	@echo $(SITE) > $(ASAN_SITE)/dependencies.pth
	@ln -sfn $(SITE)/scipy_openblas32 $(ASAN_SITE)/scipy_openblas32
	@ln -sf $(BIN)/cmake $(BIN)/ninja $(ASAN_VENV)/bin
	@$(BIN)/cmake --install $(ASAN) --prefix $(ASAN_SITE) >> $(ASAN).log
	@cp -r runtime/python/dougong conformance/dougong_conformance $(ASAN_SITE)
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=8 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(ASAN_VENV)/bin/python -m pytest -q -s --timeout 600 $(ASAN_TESTS)

.PHONY: sanitize-quick
sanitize-quick: ## the same on a short selection, as CI runs it
	@$(MAKE) sanitize ASAN_TESTS="$(ASAN_QUICK:%=runtime/tests/test_%.py)"

# The core without Python, under the thread sanitizer, on a synchronous and on an asynchronous plugin.
TSAN := build/tsan
TSAN_FLAGS := -O1 -g1 -fsanitize=thread -fPIC -Idevice_api/include -Iruntime/src

.PHONY: tsan
tsan: $(VENV)/.ready ## threads on the core and on an asynchronous plugin, under the thread sanitizer
	@mkdir -p $(TSAN)
	@cc -std=gnu11 $(TSAN_FLAGS) -shared runtime/tests/plugins/queue.c -o $(TSAN)/libdg_queue.so -pthread
	@$(BIN)/cmake -S runtime/tests/stress -B $(TSAN) -G Ninja > $(TSAN).log
	@$(BIN)/cmake --build $(TSAN) --parallel 2 >> $(TSAN).log || { cat $(TSAN).log; exit 1; }
	TSAN_OPTIONS=halt_on_error=1 $(TSAN)/stress $(TSAN)/libdg_queue.so

.PHONY: clean
clean: ## remove what was built, and the virtual environment
	rm -rf build dist $(VENV)
