# SPDX-License-Identifier: MIT
# A thin front for Meson. `make help` lists what there is.
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
NINJA        := ninja

.PHONY: all compile demo test fuzz bench install clean help

all:            ## build build/kiln, the libraries, the compiler's backend
	@scripts/deps --check
	@$(MAKE) --no-print-directory compile

compile: build/build.ninja
	@$(NINJA) -C build

# A folder is newer than the build when a test was added to it: then Meson lists the tests again.
TESTS     := $(wildcard tests/unit tests/api tests/fuzz)
SETUP      = meson setup $(if $(wildcard $@),--reconfigure) $(@D)
SANITIZED := -Db_sanitize=address,undefined -Db_lundef=false

build/build.ninja: $(TESTS)
	$(SETUP)

build-asan/build.ninja: $(TESTS)
	$(SETUP) $(SANITIZED)

build-fuzz/build.ninja: $(TESTS)
	CC=clang $(SETUP) $(SANITIZED) -Dfuzz=true

demo:           ## build the compiler alone, sharpen a photograph and say where it is
	@scripts/deps
	@$(MAKE) --no-print-directory build/build.ninja
	@$(NINJA) -C build kiln libkiln-llvm.so
	@scripts/demo

test:           ## run all tests, in a plain and in a sanitizer build
	@scripts/deps --test
	@$(MAKE) --no-print-directory build/build.ninja build-asan/build.ninja
	@$(NINJA) -C build
	@$(NINJA) -C build-asan
	@python3 tests/run.py

fuzz:           ## run each fuzz target for FUZZ_SECONDS (60); scripts/campaign compares compiled code
	@scripts/deps --fuzz
	@$(MAKE) --no-print-directory build-fuzz/build.ninja
	@$(NINJA) -C build-fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

bench:          ## measure Kiln beside its peers; BENCH='blur --quick' says what and how (bench/run --help)
	@scripts/deps --bench
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory -k -C bench/peers BUILD=$(CURDIR)/build-bench \
	    || echo 'bench: going on without the peers that could not be built'
	@bench/run $(BENCH)

install: all    ## install to DESTDIR/PREFIX (/usr/local): kiln, libraries, headers, man page, kiln.pc
	@meson configure build -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C build
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi     # programs find the library at once

clean:          ## remove what was built
	rm -rf build build-asan build-fuzz build-bench out

help:
	@echo 'make TARGET, where TARGET is'
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '  %-9s %s\n' "$$target" "$$text"; done
	@echo 'demo, test, fuzz and bench install missing packages first when run as root, and say so.'
