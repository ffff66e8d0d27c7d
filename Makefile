# The commands of the house. `make mnist` and `make test` do all the set-up themselves; everything real is in CMake.
#
#   make mnist [DATA=dir] [EPOCHS=n] [SEED=n] [THREADS=n] [LITERAL=1] [ARGS="..."]
#   make test | asan | tsan | nightly | bench | format | tidy | clean
#   make install [PREFIX=/usr/local] [SHARED=ON]

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SHARED ?= OFF

mnist_options = $(if $(DATA),--data "$(DATA)") $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(SEED),--seed $(SEED)) \
  $(if $(THREADS),--threads $(THREADS)) $(if $(LITERAL),--literal) $(ARGS)

.PHONY: mnist test asan tsan nightly bench format tidy install clean dependencies test-dependencies

mnist: dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS) --target mnist
	build/release/examples/mnist $(mnist_options)

# The last lines are ctest's own: a count of tests, and the time.
test: test-dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS)
	@ctest --preset release --parallel $(JOBS)

asan tsan nightly: test-dependencies
	@cmake --preset $@
	@cmake --build --preset $@ --parallel $(JOBS)
	@ctest --preset $@ --parallel $(JOBS)

# Every Google Benchmark program, one after the other, on an otherwise idle machine.
bench: dependencies
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS)
	@for program in build/release/benchmarks/*_benchmark; do \
	  echo "$$program"; $$program $(ARGS) || exit 1; done

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
