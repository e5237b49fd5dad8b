"""What bench/run writes: the table of an app and of all, JSON, a page of bar charts, a Markdown document.

Everything is made from the one dictionary that bench.json holds. A variant's figure is the least of its times. "Kiln" is Kiln with the
schedule written by hand where there is one, else with its own. A ratio is a peer's time over Kiln's: above 1, Kiln is faster.
"""
import html, json, math, os, statistics

BAR_LIMIT = 4.0       # bars longer than that many times Kiln's are cut


# ---- Figures ----

def measured(result, threads):
    return [v for v in result["variants"] if v["threads"] == threads and v["ms"]]


def find(result, threads, peer, name=None):
    return next((v for v in measured(result, threads) if v["peer"] == peer and name in (None, v["variant"])), None)


def fastest(variants):
    return min(variants, key=lambda v: min(v["ms"]), default=None)


def kiln_of(result, threads):
    return find(result, threads, "kiln", "hand") or find(result, threads, "kiln", "default")


def best_halide(result, threads):
    """The fastest variant of Halide whose result is right."""
    return fastest([v for v in measured(result, threads) if v["peer"] == "halide" and not wrong(v)])


def wrong(variant):
    return (variant["agreement"] or "").startswith(("DIFFERENT", "another"))


def least(variant):
    return min(variant["ms"]) if variant else None


def ratio(variant, kiln):
    return least(variant) / least(kiln) if variant and kiln else None


def floor_of(result, threads):
    """The time that no program can go below: what takes longer, moving the bytes or the arithmetic. (ms, which)."""
    floors = [(least(v), v["variant"]) for v in measured(result, threads) if v["peer"] == "floor"]
    return max(floors, default=(None, None))


def share_of_floor(result, threads, variant):
    floor = floor_of(result, threads)[0]
    return floor / least(variant) if floor and variant else None


def spread(ms):
    ordered, last = sorted(ms), len(ms) - 1
    return (ordered[last * 9 // 10] - ordered[last // 10]) / ordered[0]


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


# ---- Numbers as text ----

def ms_text(value):
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}" if value >= 100 else f"{value:.2f}"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}x"


def percent_text(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def mb_text(kb):
    return "-" if kb is None else f"{kb / 1024:.1f}"


def threads_text(n):
    return f"{n} thread{'s' * (n > 1)}"


# ---- Tables ----

def align(rows):
    """Columns as wide as they must be: the first and the last to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    return "\n".join("  ".join(cell.ljust(w) if i in (0, last) else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows)


def markdown(rows):
    rule = "|---|" + "---:|" * (len(rows[0]) - 1)
    return "\n".join(["| " + " | ".join(rows[0]) + " |", rule] + ["| " + " | ".join(row) + " |" for row in rows[1:]])


def remark(variant):
    said = [variant["agreement"] if variant["agreement"] not in (None, "equal") else None, variant["note"]]
    return "; ".join(text for text in said if text)


def app_text(result):
    """All that was measured of one app, for the terminal."""
    parts = []
    for threads in sorted({v["threads"] for v in result["variants"]}):
        kiln = kiln_of(result, threads)
        rows = [[f"{result['app']}, {threads_text(threads)}", "min ms", "median", "spread", "Kiln is", "of floor", "compile ms", "peak MB", "result"]]
        for v in measured(result, threads):
            floor = v["peer"] == "floor"
            rows.append([f"  {v['peer']} {v['variant']}", ms_text(least(v)), ms_text(statistics.median(v["ms"])), percent_text(spread(v["ms"])),
                         "" if floor or v is kiln else ratio_text(ratio(v, kiln)), "" if floor else percent_text(share_of_floor(result, threads, v)),
                         "" if floor else ms_text(v["compile_ms"]), "" if floor else mb_text(v["peak_kb"]), "" if floor else remark(v) or "equal"])
        parts.append(align(rows))
    return "\n".join(parts) + "\n"


def overview(whole, threads):
    """A row for each app: Kiln, the peers, the ratios."""
    names = []
    for result in whole["apps"]:
        for v in measured(result, threads):
            name = (v["peer"], v["variant"])
            if v["peer"] not in ("kiln", "floor") and name not in names:
                names.append(name)
    names.sort(key=lambda name: ("halide", "opencv", "naive").index(name[0]) if name[0] in ("halide", "opencv", "naive") else 3)
    rows = [["app", "Kiln, hand", "Kiln, own"] + [f"{peer} {variant}" for peer, variant in names] + ["floor", "of floor", "best Halide / Kiln"]]
    for result in whole["apps"]:
        kiln, floor = kiln_of(result, threads), floor_of(result, threads)
        cells = [result["app"], ms_text(least(find(result, threads, "kiln", "hand"))), ms_text(least(find(result, threads, "kiln", "default")))]
        for peer, variant in names:
            v = find(result, threads, peer, variant)
            cells.append(ms_text(least(v)) + ("*" if v and wrong(v) else ""))
        cells += [f"{ms_text(floor[0])} {floor[1] or ''}".strip(), percent_text(share_of_floor(result, threads, kiln)),
                  ratio_text(ratio(best_halide(result, threads), kiln))]
        rows.append(cells)
    return rows


def costs(whole, threads):
    """Compile time and memory beside the fastest Halide."""
    rows = [["app", "compile ms, Kiln", "Halide", "Halide / Kiln", "peak MB, Kiln", "Halide"]]
    for result in whole["apps"]:
        kiln, halide = kiln_of(result, threads), best_halide(result, threads)
        if not kiln:
            continue
        times = [v and v["compile_ms"] for v in (kiln, halide)]
        rows.append([result["app"], ms_text(times[0]), ms_text(times[1]), ratio_text(times[1] / times[0] if all(times) else None),
                     mb_text(kiln["peak_kb"]), mb_text(halide and halide["peak_kb"])])
    return rows


def ratios(whole, threads):
    return {result["app"]: ratio(best_halide(result, threads), kiln_of(result, threads)) for result in whole["apps"]}


def verdict(whole, threads):
    """One sentence about Kiln and the best of Halide; None without Halide."""
    each = {app: value for app, value in ratios(whole, threads).items() if value}
    if not each:
        return None
    worst = min(each, key=each.get)
    return (f"{threads_text(threads)}: Kiln is {geometric_mean(each.values()):.2f} times as fast as the best of Halide "
            f"(geometric mean of {len(each)} app{'s' * (len(each) > 1)}), at least {each[worst]:.2f} times ({worst})")


def summary_text(whole):
    parts = []
    for threads in whole["threads"]:
        parts += [f"{threads_text(threads)}, ms:", align(overview(whole, threads)), ""]
        parts += [text for text in [verdict(whole, threads)] if text]
        parts.append("")
    return "\n".join(parts)


# ---- Markdown ----

HOW = """Written by `make bench`. A time is the least of all runs, in ms; in each round, of which there {are} {rounds}, every variant is called once, in turn, and runs
for {seconds:g} s after a warm-up, at least three times. Threads are not bound to CPUs. All read the same files, and their results are compared: one
marked * has another result than Kiln (another algorithm, or another border).

- *Kiln, hand* has the schedule in `apps/NAME/NAME.sched`, *Kiln, own* the one that Kiln makes up. Sizes are in `apps/NAME/NAME.bench`.
- *floor* is what no program can go below on this machine: the time to read all inputs and write all outputs once (copy), or that of the arithmetic
  at peak (arithmetic), whichever is longer; both are measured in the same run, and the operations counted in `bench/apps.json`.
- *best Halide / Kiln* is the time of Halide's fastest variant over that of Kiln: above 1, Kiln is faster.
"""


def failures(whole):
    seen = []
    for result in whole["apps"]:
        for v in result["variants"]:
            text = f"{result['app']}, {v['peer']} {v['variant']}: {v['failure']}"
            if v["failure"] and text not in seen:
                seen.append(text)
    return seen


def document(whole):
    parts = ["# Benchmarks", "", HOW.format(are="is" if whole["rounds"] == 1 else "are", **whole)]
    parts += [markdown([["machine", ""]] + [[name, value] for name, value in whole["machine"].items()]).replace("---:", "---"), ""]
    if whole["missing"]:
        parts += [f"Not measured, because not built here: {', '.join(whole['missing'])}.", ""]
    for threads in whole["threads"]:
        parts += [f"## {threads_text(threads)}", "", markdown(overview(whole, threads)), ""]
        parts += [text + "." for text in [verdict(whole, threads)] if text] + [""]
    last = whole["threads"][-1]
    parts += ["## Compile time and memory", "", f"With {threads_text(last)}. Memory is what a run takes beside its inputs and outputs.", "",
              markdown(costs(whole, last)), ""]
    if failures(whole):
        parts += ["## What failed", ""] + [f"- {text}" for text in failures(whole)] + [""]
    return "\n".join(parts)


# ---- HTML ----

STYLE = """
:root { color-scheme: light dark; --ink: #222; --dim: #666; --paper: #fff; --line: #ddd; --kiln: #c2410c; --own: #f0a878; --halide: #3b6ea8;
        --opencv: #5a8f5a; --naive: #999; --other: #8a6fb0; --floor: #000; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --dim: #999; --paper: #17181a; --line: #3a3a3a; --kiln: #f97316; --own: #9a5a30;
        --halide: #6ea3dd; --opencv: #7fb87f; --naive: #777; --other: #b39ddb; --floor: #fff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; } td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; } .wide { overflow-x: auto; } .dim { color: var(--dim); }
svg { width: 100%; height: auto; margin: .3rem 0 1rem; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.kiln { fill: var(--kiln); } .own { fill: var(--own); } .halide { fill: var(--halide); } .opencv { fill: var(--opencv); } .naive { fill: var(--naive); }
.other { fill: var(--other); } .floor { stroke: var(--floor); stroke-width: 1.5; stroke-dasharray: 4 3; } .cut { fill: var(--paper); }
"""


def bar_class(variant):
    if variant["peer"] == "kiln":
        return "own" if variant["variant"] == "default" else "kiln"
    return variant["peer"] if variant["peer"] in ("halide", "opencv", "naive") else "other"


def chart(result, threads):
    """One bar for each variant, shortest time first in its group; the floor is a dashed line."""
    variants = [v for v in measured(result, threads) if v["peer"] != "floor"]
    if not variants:
        return ""
    left, right, row, width = 170, 90, 22, 900
    kiln = kiln_of(result, threads) or variants[0]
    most = min(max(map(least, variants)), BAR_LIMIT * least(kiln))
    scale = (width - left - right) / most
    height = row * len(variants) + 8
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(result["app"])}, {threads_text(threads)}">']
    for i, v in enumerate(variants):
        y, length, cut = row * i + 4, min(least(v), most) * scale, least(v) > most * 1.001
        label = f"{v['peer']} {v['variant']}{'*' * wrong(v)}"
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>'
                     f'<rect class="{bar_class(v)}" x="{left}" y="{y}" width="{length:.1f}" height="{row - 5}" rx="2">'
                     f'<title>{html.escape(label)}: {ms_text(least(v))} ms, median {ms_text(statistics.median(v["ms"]))} ms, {len(v["ms"])} runs</title></rect>')
        if cut:
            x = left + length - 26
            parts.append(f'<path class="cut" d="M{x:.1f} {y - 1} l6 0 l-5 {row - 3} l-6 0 z M{x + 10:.1f} {y - 1} l6 0 l-5 {row - 3} l-6 0 z"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 14}">{ms_text(least(v))}</text>')
    floor, which = floor_of(result, threads)
    if floor and floor <= most:
        x = left + floor * scale
        parts.append(f'<line class="floor" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"><title>floor ({which}): {ms_text(floor)} ms</title></line>')
    return "".join(parts) + "</svg>"


def html_table(rows):
    cells = lambda row, tag: "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
    return '<div class="wide"><table>' + cells(rows[0], "th") + "".join(cells(row, "td") for row in rows[1:]) + "</table></div>"


def page(whole):
    parts = ["<!doctype html>", '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
             f"<title>Kiln: benchmarks</title><style>{STYLE}</style>", "<h1>Kiln beside its peers</h1>",
             "<p>Times in ms, the least of all runs: shorter is faster. The dashed line is the floor, the time that copying the bytes or the arithmetic "
             f"alone takes. Bars of more than {BAR_LIMIT:g} times Kiln's are cut; * has another result than Kiln.</p>",
             '<p class="dim">' + "<br>".join(f"{html.escape(k)}: {html.escape(v)}" for k, v in whole["machine"].items()) + "</p>"]
    if whole["missing"]:
        parts.append(f"<p>Not measured, because not built here: {html.escape(', '.join(whole['missing']))}.</p>")
    for threads in whole["threads"]:
        parts += [f"<h2>{threads_text(threads)}</h2>", html_table(overview(whole, threads))]
        parts += [f"<p>{html.escape(text)}.</p>" for text in [verdict(whole, threads)] if text]
    parts += ["<h2>Compile time and memory</h2>", html_table(costs(whole, whole["threads"][-1]))]
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
