#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public function of kiln.h and kiln_runtime.h is used by a test in this folder.
cd "$(dirname "$0")/../.." || exit 1
missing=0
for name in $(sed -n 's/^KN_API .*[ *]\(kn_[a-z0-9_]*\)(.*/\1/p' include/kiln.h include/kiln_runtime.h); do
    if ! grep -q "\\b$name(" tests/api/*.c; then
        echo "$name is not used in tests/api"
        missing=1
    fi
done
exit $missing
