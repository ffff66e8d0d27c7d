# The commands of the house. `make mnist` and `make test` do all the set-up themselves; everything real is in CMake.
#
#   make mnist [DATA=dir] [EPOCHS=n] [SEED=n] [THREADS=n] [LITERAL=1] [EAGER=1] [ARGS="..."]
#   make test | asan | tsan | nightly | bench | format | tidy | clean
#   make compare [TF_PYTHON=python] [TORCH_PYTHON=python] [JAX_PYTHON=python] [LIBTORCH=1] [THREADS="1 2"] [WORKLOADS=a,b] [ROUNDS=n] [SECONDS=s]
#     [CAPSTAN_MODES="eager function"] [TF_MODES="eager function xla"] [TORCH_MODES="eager compile"] [JAX_MODES="eager jit"]
#   make interop [PYTHON=python] [SCRIPTS="arrays files"] [TORCH=1]
#   make python [PYTHON3=python3] [ARGS="-k tutorials"]
#   make fuzz [READERS="npy png"] [SECONDS=n] [EXECUTIONS=n]
#   make install [PREFIX=/usr/local] [SHARED=ON]

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SHARED ?= OFF

mnist_options = $(if $(DATA),--data "$(DATA)") $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(SEED),--seed $(SEED)) \
  $(if $(THREADS),--threads $(THREADS)) $(if $(LITERAL),--literal) \
  $(if $(EAGER),--eager) $(ARGS)

# What is compared, and in which modes: Capstan, and each framework for which there is a Python or, with LIBTORCH=1, a library.
CAPSTAN_MODES ?= eager function
TF_MODES ?= eager function xla
TORCH_MODES ?= eager compile
JAX_MODES ?= eager jit

workloads_of = $(foreach mode,$(2),--run "$(1) --mode $(mode)")
peers = $(call workloads_of,build/release/benchmarks/shared_workloads,$(CAPSTAN_MODES)) \
  $(if $(LIBTORCH),$(call workloads_of,build/release/benchmarks/libtorch_peer,eager)) \
  $(if $(TF_PYTHON),$(call workloads_of,$(TF_PYTHON) benchmarks/peers/tensorflow_peer.py,$(TF_MODES))) \
  $(if $(TORCH_PYTHON),$(call workloads_of,$(TORCH_PYTHON) benchmarks/peers/pytorch_peer.py,$(TORCH_MODES))) \
  $(if $(JAX_PYTHON),$(call workloads_of,$(JAX_PYTHON) benchmarks/peers/jax_peer.py,$(JAX_MODES)))
compare_options = $(if $(THREADS),--threads $(THREADS)) $(if $(WORKLOADS),--workloads $(WORKLOADS)) \
  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

.PHONY: python mnist test asan tsan nightly interop fuzz bench compare format tidy install clean dependencies test-dependencies

mnist: dependencies
	@cmake --preset native
	@cmake --build --preset native --parallel $(JOBS)
	build/native/examples/mnist $(mnist_options)

# The last lines are ctest's own: a count of tests, and the time.
test: test-dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS)
	@ctest --preset release --parallel $(JOBS)

asan tsan nightly: test-dependencies
	@cmake --preset $@
	@cmake --build --preset $@ --parallel $(JOBS)
	@ctest --preset $@ --parallel $(JOBS)

# Files of Capstan read by the tools that own the formats, and theirs by Capstan; without PYTHON the tools come from PyPI.
interop: dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS) --target interop_checks
	@$(if $(PYTHON),,tools/interop_environment.sh $(if $(TORCH),--torch))
	@tests/interop/run.sh $(if $(PYTHON),$(PYTHON),build/interop/bin/python) $(SCRIPTS)

# The fuzzers of the readers, one after the other; what they find lies in build/fuzz.
fuzz: dependencies
	@tools/install_dependencies.sh fuzz
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS) --target capstan
	@cmake --preset fuzz
	@cmake --build --preset fuzz --parallel $(JOBS)
	@tests/fuzz/run.sh $(if $(SECONDS),--seconds $(SECONDS)) $(if $(EXECUTIONS),--executions $(EXECUTIONS)) $(READERS)

# The Python module in a virtual environment of its own, and its tests. The tests of TensorFlow run too if
# CAPSTAN_TENSORFLOW_SOURCE names a tree of it.
PYTHON3 ?= python3
python_environment = build/python/venv
python: dependencies
	@tools/install_dependencies.sh python
	@test -d $(python_environment) || $(PYTHON3) -m venv $(python_environment)
	@$(python_environment)/bin/python -m pip install --quiet nanobind scikit-build-core build numpy pytest mypy
	@$(python_environment)/bin/python -m pip install --quiet --no-build-isolation .
	@$(python_environment)/bin/python -m pytest -q tests/python $(ARGS)

# Every Google Benchmark program, one after the other, on an otherwise idle machine.
bench: dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS)
	@for program in build/release/benchmarks/*_benchmark; do \
	  echo "$$program"; $$program $(ARGS) || exit 1; done

# Capstan and other frameworks on the same workloads; the table is in build/compare.md and build/compare.json, too.
compare: dependencies
	@cmake --preset release -DCAPSTAN_LIBTORCH_PEER=$(if $(LIBTORCH),ON,OFF)
	@cmake --build --preset release --parallel $(JOBS) --target shared_workloads $(if $(LIBTORCH),libtorch_peer)
	@benchmarks/peers/compare.py $(peers) $(compare_options) --markdown build/compare.md --json build/compare.json

format: test-dependencies
	@tools/format.sh

tidy: test-dependencies
	@cmake --preset release
	@tools/tidy.sh $(BASE)

install: dependencies
	@cmake --preset package -DBUILD_SHARED_LIBS=$(SHARED)
	@cmake --build --preset package --parallel $(JOBS)
	@cmake --install build/package --prefix "$(PREFIX)"

clean:
	rm -rf build

dependencies:
	@tools/install_dependencies.sh

test-dependencies:
	@tools/install_dependencies.sh test
