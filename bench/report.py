# SPDX-License-Identifier: MIT
"""What bench/run writes: the table of an app and of all, JSON, a page of bar charts, a Markdown document.

Everything is made from the one dictionary that bench.json holds; figures.py computes the figures.
"""
import html, json, os, statistics

from figures import (best_halide, compile_ms, compile_ratio, find, floor_of, goals, kiln_of, least, measured, ratio, same_work, share_of_floor, spread,
                     threads_text, wrong)

BAR_LIMIT = 4.0       # bars longer than that many times Kiln's are cut


# ---- Numbers as text ----

def ms_text(value):
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}" if value >= 100 else f"{value:.2f}"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}x"


def percent_text(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def mb_text(kb):
    return "-" if kb is None else f"{kb / 1024:.1f}"


def compile_text(ms):
    """What was compiled ahead has no compile time."""
    return ms_text(ms) if ms else "-"


# ---- Tables ----

COLUMNS = [("halide", "manual", "Halide, hand"), ("halide", "mullapudi", "Halide, Mullapudi"), ("halide", "adams", "Halide, Adams"), ("opencv", "same", "OpenCV"),
           ("naive", "naive", "plain C")]


TITLES = {("kiln", "hand"): "Kiln, hand", ("kiln", "none"): "Kiln, none", ("kiln", "auto"): "Kiln, auto", **{(peer, variant): title for peer, variant, title in COLUMNS}}


def title(peer, variant):
    return TITLES.get((peer, variant), f"{peer} {variant}")


def align(rows):
    """Columns as wide as they must be: the first and the last to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    return "\n".join("  ".join(cell.ljust(w) if i in (0, last) else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows)


def markdown(rows, texts=()):
    """The columns named in texts, and the first, are to the left."""
    rule = "|" + "|".join("---" if i == 0 or name in texts else "---:" for i, name in enumerate(rows[0])) + "|"
    return "\n".join(["| " + " | ".join(rows[0]) + " |", rule] + ["| " + " | ".join(row) + " |" for row in rows[1:]])


def remark(variant):
    """How the result is, and in what way it was computed."""
    result = f"not the same work: {variant['instead']}" if variant.get("instead") else variant["agreement"] or "equal"
    return "; ".join(text for text in (result, variant["note"]) if text)


def app_text(result):
    """All that was measured of one app, for the terminal."""
    parts = []
    for threads in sorted({v["threads"] for v in result["variants"]}):
        kiln = kiln_of(result, threads)
        rows = [[f"{result['app']}, {threads_text(threads)}", "min ms", "median", "spread", "Kiln is", "of floor", "compile ms", "peak MB", "result"]]
        for v in measured(result, threads):
            floor, compared = v["peer"] == "floor", v["peer"] != "floor" and same_work(v)
            rows.append([f"  {v['peer']} {v['variant']}", ms_text(least(v)), ms_text(statistics.median(v["ms"])), percent_text(spread(v["ms"])),
                         ratio_text(ratio(v, kiln)) if compared and v is not kiln else "", percent_text(share_of_floor(result, threads, v)) if compared else "",
                         "" if floor else compile_text(v["compile_ms"]), "" if floor else mb_text(v["peak_kb"]), v["note"] or "" if floor else remark(v)])
        parts.append(align(rows))
    return "\n".join(parts) + "\n"


def app_rows(result, thread_list):
    """All that was measured of one app, a row for each variant."""
    names = list(dict.fromkeys((v["peer"], v["variant"]) for v in result["variants"] if v["ms"] and v["peer"] != "floor"))
    last = thread_list[-1]
    rows = [["variant"] + [f"ms, {threads_text(n)}" for n in thread_list] + [f"Kiln is, {threads_text(n)}" for n in thread_list]
            + [f"of floor, {threads_text(last)}", "compile ms", "peak MB", "result"]]
    for peer, name in names:
        each = {n: find(result, n, peer, name) for n in thread_list}
        v = each[last] or next(filter(None, each.values()))
        rows.append([title(peer, name)] + [ms_text(least(each[n])) for n in thread_list]
                    + ["" if each[n] is kiln_of(result, n) else ratio_text(ratio(each[n], kiln_of(result, n))) for n in thread_list]
                    + [percent_text(share_of_floor(result, last, each[last])), compile_text(compile_ms(result, v)), mb_text(v["peak_kb"]), remark(v)])
    floors = {n: floor_of(result, n) for n in thread_list}
    if any(ms for ms, _ in floors.values()):
        rows.append([f"floor ({floors[last][1]})"] + [ms_text(floors[n][0]) for n in thread_list] + [""] * (len(thread_list) + 4))
    return rows


def overview(whole, threads):
    """A row for each app: Kiln, the peers that do the same work, the ratios."""
    columns = [c for c in COLUMNS if any(find(result, threads, *c[:2]) for result in whole["apps"])]
    rows = [["app", "Kiln, hand", "Kiln, auto", "Kiln, none"] + [name for _, _, name in columns] + ["floor", "of floor", "best Halide / Kiln", "best Halide / auto"]]
    for result in whole["apps"]:
        kiln, floor = kiln_of(result, threads), floor_of(result, threads)
        cells = [result["app"]] + [ms_text(least(find(result, threads, "kiln", name))) for name in ("hand", "auto", "none")]
        for peer, variant, _ in columns:
            v = find(result, threads, peer, variant)
            cells.append(ms_text(least(v)) + ("*" if v and wrong(v) else ""))
        cells += [f"{ms_text(floor[0])} {floor[1] or ''}".strip(), percent_text(share_of_floor(result, threads, kiln)),
                  ratio_text(ratio(best_halide(result, threads), kiln)), ratio_text(ratio(best_halide(result, threads), find(result, threads, "kiln", "auto")))]
        rows.append(cells)
    return rows


def relatives(whole):
    """Operations of peers that do other work than the app: their times stand alone."""
    rows = [["app", "operation", "what it computes instead"] + [f"ms, {threads_text(n)}" for n in whole["threads"]]]
    for result in whole["apps"]:
        for peer, name in dict.fromkeys((v["peer"], v["variant"]) for v in result["variants"] if v.get("instead") and v["ms"]):
            each = [find(result, n, peer, name) for n in whole["threads"]]
            rows.append([result["app"], f"{peer} {name}", next(filter(None, each))["instead"]] + [ms_text(least(v)) for v in each])
    return rows if len(rows) > 1 else []


def costs(whole, threads):
    """Compile time beside Halide with its schedule by hand, and memory beside the fastest Halide."""
    rows = [["app", "compile ms, Kiln", "Halide, hand", "Kiln / Halide", "peak MB, Kiln", "best Halide", "which"]]
    for result in whole["apps"]:
        kiln, manual, halide = kiln_of(result, threads), find(result, threads, "halide", "manual"), best_halide(result, threads)
        if kiln:
            rows.append([result["app"], compile_text(compile_ms(result, kiln)), compile_text(compile_ms(result, manual)), ratio_text(compile_ratio(result, threads)),
                         mb_text(kiln["peak_kb"]), mb_text(halide and halide["peak_kb"]), halide["variant"] if halide else "-"])
    return rows


def goal_rows(whole, yes="reached", no="NOT REACHED"):
    found = goals(whole)
    return [["what", "goal", "measured", ""]] + [[what, goal, value, yes if reached else no] for what, goal, value, reached in found] if found else []


def summary_text(whole):
    parts = []
    for threads in whole["threads"]:
        parts += [f"{threads_text(threads)}, ms (* has another result):", align(overview(whole, threads)), ""]
    if goals(whole):
        parts += ["Goals, of the apps measured:", align(goal_rows(whole)), ""]
    return "\n".join(parts)


# ---- Markdown ----

HOW = """Written by `make bench`. A time is the minimum of all runs, in ms. There {are} {rounds} round{s}. In each, every variant is called in turn
and runs for {seconds:g} s after a warm-up, at least three times. Plain C is called in one round only, with one thread. Threads
are not bound to CPUs. All variants read the same files, and their results are compared. A variant marked * has another
result than Kiln, and no ratio.{took}

- *Kiln, hand* has the schedule in `apps/NAME/NAME.sched`, *Kiln, auto* the one that `kiln run` makes when none is given,
  *Kiln, none* the compiler's default (`--scheduler none`). Sizes are in `apps/NAME/NAME.bench`.
- *Halide, hand* is the program in `bench/peers/halide`. *Mullapudi* and *Adams* are the same program with a schedule from
  Halide's auto-schedulers. Each is the fastest of several variants (vectors of 32 and 64 bytes, with and without AVX-512,
  three cache sizes for Mullapudi). `bench/peers/README.md` says how these schedules were compared with Halide's own.
- *floor* estimates the lower bound on this machine: the time to read all inputs and write all outputs once (copy), or to
  do the arithmetic at peak (arithmetic), whichever is longer. Both are measured in the same run; `bench/apps.json` has the
  counts of operations. *of floor* is the floor's time over Kiln's. It can be above 100 %, for example where data stay in
  the caches from run to run.
- *best Halide / Kiln* is the time of Halide's fastest variant over that of Kiln: above 1, Kiln is faster.
"""

HOW_COSTS = """Compile time is from the definition of the program to code that can be called, in a process that has compiled before. It is
the minimum of all calls. For Halide it is the time of its JIT for the chosen variant, without the search for that variant
and without an auto-scheduler. Memory is the peak of a run without its inputs and outputs, with {threads}."""


def failures(whole):
    seen = []
    for result in whole["apps"]:
        for v in result["variants"]:
            text = f"{result['app']}, {v['peer']} {v['variant']}: {v['failure']}"
            if v["failure"] and text not in seen:
                seen.append(text)
    return seen


def document(whole):
    last = whole["threads"][-1]
    parts = ["# Benchmarks", "", HOW.format(took=f" The run took {whole['minutes']:.0f} minutes." if whole.get("minutes") else "", are="is" if whole["rounds"] == 1 else "are", s="" if whole["rounds"] == 1 else "s", **whole)]
    parts += [markdown([["machine", ""]] + [[name, value] for name, value in whole["machine"].items()], [""]), ""]
    if whole["missing"]:
        parts += [f"Not measured, because not built here: {', '.join(whole['missing'])}.", ""]
    if goals(whole):
        parts += ["## Goals", "", markdown(goal_rows(whole, no="**not reached**"), ["goal", "measured", ""]), ""]
    for threads in whole["threads"]:
        parts += [f"## {threads_text(threads).capitalize()}", "", markdown(overview(whole, threads)), ""]
    parts += ["## Compile time and memory", "", HOW_COSTS.format(threads=threads_text(last)), "", markdown(costs(whole, last), ["which"]), ""]
    if relatives(whole):
        parts += ["## Related operations", "", "These operations do other work than the app, so their times cannot be compared with those above.", "",
                  markdown(relatives(whole), ["operation", "what it computes instead"]), ""]
    parts += ["## Each app", ""]
    for result in whole["apps"]:
        parts += [f"### {result['app']}", "", markdown(app_rows(result, whole["threads"]), ["result"]), ""]
    if failures(whole):
        parts += ["## What failed", ""] + [f"- {text}" for text in failures(whole)] + [""]
    return "\n".join(parts)


# ---- HTML ----

STYLE = """
:root { color-scheme: light dark; --ink: #222; --dim: #666; --paper: #fff; --line: #ddd; --kiln: #c2410c; --own: #f0a878; --halide: #3b6ea8;
        --opencv: #5a8f5a; --naive: #999; --other: #8a6fb0; --floor: #000; --yes: #2e7d32; --no: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --dim: #999; --paper: #17181a; --line: #3a3a3a; --kiln: #f97316; --own: #9a5a30;
        --halide: #6ea3dd; --opencv: #7fb87f; --naive: #777; --other: #b39ddb; --floor: #fff; --yes: #81c784; --no: #ef9a9a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; } td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } td:first-child, th:first-child, .text { text-align: left; white-space: normal; } .yes { color: var(--yes); } .no { color: var(--no); font-weight: bold; } .wide { overflow-x: auto; } .dim { color: var(--dim); }
svg { width: 100%; height: auto; margin: .3rem 0 1rem; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.kiln { fill: var(--kiln); } .own { fill: var(--own); } .halide { fill: var(--halide); } .opencv { fill: var(--opencv); } .naive { fill: var(--naive); }
.other { fill: var(--other); } .floor { stroke: var(--floor); stroke-width: 1.5; stroke-dasharray: 4 3; } .cut { fill: var(--paper); }
"""


def bar_class(variant):
    if variant["peer"] == "kiln":
        return "own" if variant["variant"] in ("none", "auto") else "kiln"
    return variant["peer"] if variant["peer"] in ("halide", "opencv", "naive") else "other"


def chart(result, threads):
    """One bar for each variant, shortest time first in its group; the floor is a dashed line."""
    variants = [v for v in measured(result, threads) if v["peer"] != "floor" and not v.get("instead")]
    if not variants:
        return ""
    left, right, row, width = 170, 90, 22, 900
    kiln = kiln_of(result, threads) or variants[0]
    most = min(max(map(least, variants)), BAR_LIMIT * least(kiln))
    scale = (width - left - right) / most
    height = row * len(variants) + 8
    parts, figures = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(result["app"])}, {threads_text(threads)}">'], []
    for i, v in enumerate(variants):
        y, length, cut = row * i + 4, min(least(v), most) * scale, least(v) > most * 1.001
        label = title(v["peer"], v["variant"]) + "*" * wrong(v)
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>'
                     f'<rect class="{bar_class(v)}" x="{left}" y="{y}" width="{length:.1f}" height="{row - 5}" rx="2">'
                     f'<title>{html.escape(label)}: {ms_text(least(v))} ms, median {ms_text(statistics.median(v["ms"]))} ms, {len(v["ms"])} runs</title></rect>')
        if cut:
            x = left + length - 26
            parts.append(f'<path class="cut" d="M{x:.1f} {y - 1} l6 0 l-5 {row - 3} l-6 0 z M{x + 10:.1f} {y - 1} l6 0 l-5 {row - 3} l-6 0 z"/>')
        figures.append(f'<text x="{left + length + 6:.1f}" y="{y + 14}">{ms_text(least(v))}</text>')
    floor, which = floor_of(result, threads)
    if floor and floor <= most:
        x = left + floor * scale
        parts.append(f'<line class="floor" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"><title>floor ({which}): {ms_text(floor)} ms</title></line>')
    return "".join(parts + figures) + "</svg>"


CELL_CLASSES = {"reached": "yes", "NOT REACHED": "no"}


def html_table(rows, texts=()):
    """The columns named in texts, and the first, are to the left."""
    def cells(row, tag):
        classes = [CELL_CLASSES.get(cell) or ("text" if name in texts else None) for cell, name in zip(row, rows[0])]
        return "<tr>" + "".join(f'<{tag} class="{c}">{html.escape(cell)}</{tag}>' if c else f"<{tag}>{html.escape(cell)}</{tag}>" for cell, c in zip(row, classes)) + "</tr>"
    return '<div class="wide"><table>' + cells(rows[0], "th") + "".join(cells(row, "td") for row in rows[1:]) + "</table></div>"


def page(whole):
    parts = ["<!doctype html>", '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
             f"<title>Kiln: benchmarks</title><style>{STYLE}</style>", "<h1>Kiln beside its peers</h1>",
             "<p>Times in ms, the least of all runs: shorter is faster. The dashed line is the floor, the time that copying the bytes or the arithmetic "
             f"alone takes. Bars of more than {BAR_LIMIT:g} times Kiln's are cut; * has another result than Kiln.</p>",
             '<p class="dim">' + "<br>".join(f"{html.escape(k)}: {html.escape(v)}" for k, v in whole["machine"].items()) + "</p>"]
    if whole["missing"]:
        parts.append(f"<p>Not measured, because not built here: {html.escape(', '.join(whole['missing']))}.</p>")
    if goals(whole):
        parts += ["<h2>Goals</h2>", html_table(goal_rows(whole), ["goal", "measured", ""])]
    for threads in whole["threads"]:
        parts += [f"<h2>{threads_text(threads).capitalize()}</h2>", html_table(overview(whole, threads))]
    last = whole["threads"][-1]
    parts += ["<h2>Compile time and memory</h2>", f"<p>{html.escape(HOW_COSTS.format(threads=threads_text(last)))}</p>", html_table(costs(whole, last))]
    if relatives(whole):
        parts += ["<h2>Related operations</h2>", "<p>These do other work than the app; they are not in the charts.</p>", html_table(relatives(whole), ["operation", "what it computes instead"])]
    for result in whole["apps"]:
        parts.append(f"<h2>{html.escape(result['app'])}</h2>")
        for threads in whole["threads"]:
            parts.append(f'<p class="dim">{threads_text(threads)}</p>{chart(result, threads)}')
    return "\n".join(parts) + "\n</html>\n"


# ---- Files ----

def write(whole, folder, docs):
    """Writes the files; gives their paths."""
    os.makedirs(folder, exist_ok=True)
    texts = {f"{folder}/bench.json": json.dumps(whole, indent=1) + "\n", f"{folder}/bench.html": page(whole), f"{folder}/bench.md": document(whole)}
    if docs:
        texts[docs] = document(whole)
    for path, text in texts.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return list(texts)
