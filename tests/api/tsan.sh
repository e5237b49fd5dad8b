#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs programs built with ThreadSanitizer, those of $BUILD/tests that are named; a build without them passes.
#
# ThreadSanitizer keeps its shadow at fixed places. Where the kernel happens to put a mapping in its way it ends before
# or while the program runs ("failed to allocate", "unexpected memory mapping"), which says nothing about the program:
# addresses are therefore not randomized where that may be asked for, and a run that ends so is made again.
set -u
export TSAN_OPTIONS=suppressions=$BUILD/../tests/api/llvm.supp
fixed=
setarch -R true 2>/dev/null && fixed='setarch -R'
for name; do
    program=$BUILD/tests/$name-tsan
    test -x "$program" || continue
    for attempt in 1 2 3; do
        output=$($fixed "$program" 2>&1)
        status=$?
        grep -q 'ThreadSanitizer.*\(failed to allocate\|unexpected memory mapping\)' <<<"$output" || break
    done
    if test $status != 0; then
        echo "$output" >&2
        exit $status
    fi
done
