# SPDX-License-Identifier: MIT
"""What of its many like cases a test tries in one run: a part, another one each day; all of them with --all."""
import sys, time

ALL = "--all" in sys.argv
DAY = int(time.time() // 86400)


def part_of(cases, parts):
    """Every so-manieth of a list, beginning with another one each day: in `parts` days all have had their turn."""
    return list(cases) if ALL else list(cases)[DAY % parts::parts]
