# SPDX-License-Identifier: MIT
"""The figures that bench/run's reports are made of: minima, ratios, floors, and how far Kiln is from its goals.

All is computed from the one dictionary that bench.json holds. A variant's figure is the least of its times. "Kiln" is Kiln with the
schedule written by hand where there is one, else with its own. A ratio is a peer's time over Kiln's: above 1, Kiln is faster. Only a variant
that does the app's own work, with Kiln's result, has a ratio.
"""
import math

MEAN_GOAL, WORST_GOAL = 1.2, 0.95                   # the best of Halide over Kiln: geometric mean, and for each app
FLOOR_GOAL, FLOOR_APPS = 0.8, ("blur", "unsharp", "harris")
AUTO_MEAN, AUTO_WORST = 1.0, 0.8                    # the same for the schedule that `auto` makes
AUTO_MULLAPUDI, AUTO_HAND = 1.5, 1 / 1.1            # Halide's classic auto-scheduler, and Kiln by hand, over it: geometric means
COMPILE_GOAL = 1 / 3                                # Kiln over Halide with its schedule by hand
MEMORY_GRAIN_KB = 1024                              # less is in the stacks and pages of a process


def measured(result, threads):
    return [v for v in result["variants"] if v["threads"] == threads and v["ms"]]


def find(result, threads, peer, name=None):
    return next((v for v in measured(result, threads) if v["peer"] == peer and name in (None, v["variant"])), None)


def fastest(variants):
    return min(variants, key=lambda v: min(v["ms"]), default=None)


def kiln_of(result, threads):
    return find(result, threads, "kiln", "hand") or find(result, threads, "kiln", "none")


def best_halide(result, threads):
    """The fastest variant of Halide whose result is right."""
    return fastest([v for v in measured(result, threads) if v["peer"] == "halide" and same_work(v)])


def wrong(variant):
    """Whether the result is not the app's, though it should be."""
    return (variant["agreement"] or "").startswith(("DIFFERENT", "another"))


def same_work(variant):
    return not wrong(variant) and not variant.get("instead")


def least(variant):
    return min(variant["ms"]) if variant else None


def ratio(variant, kiln):
    return least(variant) / least(kiln) if variant and kiln and same_work(variant) else None


def floor_of(result, threads):
    """The time that no program can go below: what takes longer, moving the bytes or the arithmetic. (ms, which)."""
    floors = [(least(v), v["variant"]) for v in measured(result, threads) if v["peer"] == "floor"]
    return max(floors, default=(None, None))


def share_of_floor(result, threads, variant):
    floor = floor_of(result, threads)[0]
    return floor / least(variant) if floor and variant and same_work(variant) else None


def spread(ms):
    ordered, last = sorted(ms), len(ms) - 1
    return (ordered[last * 9 // 10] - ordered[last // 10]) / ordered[0]


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratios(whole, threads):
    """{app: the best of Halide over Kiln}, of the apps that have both."""
    each = {result["app"]: ratio(best_halide(result, threads), kiln_of(result, threads)) for result in whole["apps"]}
    return {app: value for app, value in each.items() if value}


def auto_ratios(whole, threads, peer, name=None):
    """{app: that variant, or the best of Halide, over Kiln with the schedule of `auto`}, of the apps that have both."""
    each = {}
    for result in whole["apps"]:
        other = find(result, threads, peer, name) if name else best_halide(result, threads)
        each[result["app"]] = ratio(other, find(result, threads, "kiln", "auto"))
    return {app: value for app, value in each.items() if value}


def auto_goals(whole, threads):
    """Rows of goals(): how fast the schedules are that nobody wrote."""
    rows, times = [], lambda value: f"{value:.2f}x"
    for what, each, goal in (("best Halide", auto_ratios(whole, threads, "halide"), AUTO_MEAN),
                             ("Halide, Mullapudi", auto_ratios(whole, threads, "halide", "mullapudi"), AUTO_MULLAPUDI),
                             ("Kiln, hand", auto_ratios(whole, threads, "kiln", "hand"), AUTO_HAND)):
        mean = geometric_mean(each.values())
        if mean:
            rows.append([f"{what} / Kiln, auto, geometric mean of {len(each)} app{'s' * (len(each) > 1)}, {threads_text(threads)}", f"at least {times(goal)}", times(mean), mean >= goal])
    each = auto_ratios(whole, threads, "halide")
    if each:
        missed = sum(value < AUTO_WORST for value in each.values())
        rows.append([f"best Halide / Kiln, auto, the lowest of an app, {threads_text(threads)}", f"at least {times(AUTO_WORST)}", extreme(each, min(each, key=each.get), missed, times),
                     not missed])
    return rows


def compile_ms(result, variant):
    """The least of all calls of that variant, with whatever number of threads: compiling takes one."""
    if not variant:
        return None
    times = [v["compile_ms"] for v in result["variants"] if (v["peer"], v["variant"]) == (variant["peer"], variant["variant"]) and v["compile_ms"]]
    return min(times, default=None)


def compile_ratio(result, threads):
    """Kiln's compile time over that of Halide with its schedule by hand."""
    mine, its = compile_ms(result, kiln_of(result, threads)), compile_ms(result, find(result, threads, "halide", "manual"))
    return mine / its if mine and its else None


def memory_excess_kb(result, threads):
    """By how much more memory Kiln needs than the fastest Halide; below 0, it needs less."""
    both = [v and v["peak_kb"] for v in (kiln_of(result, threads), best_halide(result, threads))]
    return None if None in both else both[0] - both[1]


def of_all(whole, threads, figure):
    """{app: figure}, of the apps that have it."""
    each = {result["app"]: figure(result, threads) for result in whole["apps"]}
    return {app: value for app, value in each.items() if value is not None}


def extreme(each, app, missed, show):
    """The figure that is worst and, where some miss the goal, how many."""
    return f"{show(each[app])} ({app}{f'; {missed} of {len(each)} apps miss it' if missed else ''})"


def goals(whole):
    """[what, goal, measured, reached]: those that the apps measured say something about."""
    rows, last = [], whole["threads"][-1]
    times = lambda value: f"{value:.2f}x"
    for threads in whole["threads"]:
        each = ratios(whole, threads)
        if each:
            mean, low, missed = geometric_mean(each.values()), min(each, key=each.get), sum(value < WORST_GOAL for value in each.values())
            rows.append([f"best Halide / Kiln, geometric mean of {len(each)} app{'s' * (len(each) > 1)}, {threads_text(threads)}", f"at least {times(MEAN_GOAL)}",
                         times(mean), mean >= MEAN_GOAL])
            rows.append([f"best Halide / Kiln, the lowest of an app, {threads_text(threads)}", f"at least {times(WORST_GOAL)}", extreme(each, low, missed, times),
                         not missed])
        rows += auto_goals(whole, threads)
    for result in whole["apps"]:
        copy, kiln = find(result, last, "floor", "copy"), kiln_of(result, last)
        if result["app"] in FLOOR_APPS and copy and kiln:
            share = least(copy) / least(kiln)
            rows.append([f"{result['app']}, of the speed of a copy, {threads_text(last)}", f"at least {100 * FLOOR_GOAL:.0f} %", f"{100 * share:.0f} %", share >= FLOOR_GOAL])
    each = of_all(whole, last, compile_ratio)
    if each:
        missed = sum(value > COMPILE_GOAL for value in each.values())
        rows.append(["compile time, Kiln / Halide by hand, the highest of an app", f"at most {times(COMPILE_GOAL)}",
                     extreme(each, max(each, key=each.get), missed, times), not missed])
    each = of_all(whole, last, memory_excess_kb)
    if each:
        missed = sum(value > MEMORY_GRAIN_KB for value in each.values())
        rows.append([f"peak memory, Kiln less the best Halide, the highest of an app, {threads_text(last)}", f"at most 0, within {MEMORY_GRAIN_KB // 1024} MB",
                     extreme(each, max(each, key=each.get), missed, lambda kb: f"{kb / 1024:+.1f} MB"), not missed])
    return rows


def threads_text(n):
    return f"{n} thread{'s' * (n > 1)}"
