# SPDX-License-Identifier: MIT
"""bench/run --device: the folder of bench/device/build, and what its program has measured as tables and a document.

The lines of device.jsonl are one for the device and one for each variant of each app and size. A variant's figure is its time in batches. Halide is
measured with two limits of registers and by two versions: the best of them counts. A ratio is a peer's time over Kiln's: above 1, Kiln is faster.
"""
import ctypes.util, json, os, subprocess, sys

from figures import geometric_mean
from programs import ROOT
from report import align, markdown, ratio_text

MEAN_GOAL, WORST_GOAL = 1.5, 1.0
LOST_GOAL, LOST_APPS = 3.0, ("hist", "iir_blur", "max_filter")         # where Halide's schedules lose parallelism
COPY_GOAL, COPY_APPS, COPY_SIZE = 0.8, ("blur", "unsharp", "harris"), "6144x10240"
BLAS_GOAL = 0.8

HOW = """# Benchmarks on a GPU

Written by `bench/run --device`, from what the program of `bench/device/build` has measured. Data are on the device. A time is that of up to 100 calls
and waiting for all of them, divided by their number: the minimum of 10 such batches after 3 calls, in ms. *sync* is that of one call and waiting for it.

- *Kiln* has the schedule in `apps/NAME/NAME.cuda.sched`.
- *Halide* is the program in `bench/peers/halide` with its schedule for a GPU, which does what the schedule of Halide's own application of that name does.
  It is compiled by Debian's version and by that of PyPI's package, and the driver is told to use 64 registers to a thread, Halide's default, or up to 255.
  The fastest of the four counts. *anderson* is that program with a schedule of Halide's auto-scheduler Anderson2021, where it is better than the
  one by hand.
- *GB/s* is the size of all inputs and of the output over Kiln's time (Halide's where there is none), *of copy* that over the speed at which 2 GiB are
  copied on the device, read and written. Images of 1536x2560 stay in the device's L2 cache from call to call, in part or as a whole.
- *Halide / Kiln* is the time of Halide over that of Kiln: above 1, Kiln is faster.

All results are compared with those of Kiln's code for the CPU, on all of their values; a result marked * is another, and has no time. At a small size
they are compared with the golden files in `tests/apps`.
"""


def read(path):
    """(the device, the results) of a device.jsonl."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return next((line for line in lines if "device" in line), {}), [line for line in lines if "app" in line]


def cases_of(results):
    return list(dict.fromkeys((line["app"], line["size"]) for line in results if not line["golden"]))


def variants(results, case, peer):
    return [line for line in results if (line["app"], line["size"]) == case and line["peer"].startswith(peer) and not line["golden"]]


def fastest(results, case, peer):
    """The fastest variant with the right result; None if there is none."""
    if peer == "kiln":
        lines = [line for line in variants(results, case, peer) if line["peer"] == "kiln"]
    else:
        lines = variants(results, case, peer)
    return min((line for line in lines if "batch_ms" in line), key=lambda line: line["batch_ms"], default=None)


def ratio(results, case, peer):
    other, kiln = fastest(results, case, peer), fastest(results, case, "kiln")
    return other["batch_ms"] / kiln["batch_ms"] if other and kiln else None


def ms_text(line, lines, field="batch_ms"):
    """A time of microseconds needs more digits than one of seconds."""
    if not line:
        return "*" if any("DIFFERENT" in other.get("agreement", "") for other in lines) else "failed" if any(other["failure"] != "not built" for other in lines if "failure" in other) else "-"
    ms = line[field]
    return f"{ms:.4f}" if ms < 1 else f"{ms:.3f}" if ms < 10 else f"{ms:.2f}"


def gigabytes(line):
    return line["bytes"] / line["batch_ms"] / 1e6


def overview(device, results):
    libraries = [name for name in ("cublas", "cudnn") if any(line["peer"] == name and "batch_ms" in line for line in results)]
    rows = [["app", "size", "Kiln", "sync", "Halide", "sync", "which"] + libraries + ["GB/s", "of copy", "Halide / Kiln"]]
    for case in cases_of(results):
        kiln, halide = fastest(results, case, "kiln"), fastest(results, case, "halide")
        both = [("kiln", kiln), ("halide", halide)]
        cells = [*case]
        for peer, line in both:
            lines = variants(results, case, peer)
            cells += [ms_text(line, lines), ms_text(line, [], "sync_ms")]
        cells.append(f"{halide['peer']}, {halide['variant']}" if halide else "-")
        cells += [ms_text(fastest(results, case, name), variants(results, case, name)) for name in libraries]
        shown = kiln or halide
        cells += [f"{gigabytes(shown):.0f}" if shown else "-", f"{gigabytes(shown) / device['copy_gb_per_s']:.2f}" if shown else "-", ratio_text(ratio(results, case, "halide"))]
        rows.append(cells)
    return rows


def app_means(results):
    """{app: the geometric mean of Halide over Kiln at its sizes}."""
    each = {}
    for app, size in cases_of(results):
        value = ratio(results, (app, size), "halide")
        if value:
            each.setdefault(app, []).append(value)
    return {app: geometric_mean(values) for app, values in each.items()}


def goals(device, results):
    """[what, goal, measured, reached], of what was measured."""
    rows, means = [], app_means(results)
    if means:
        mean = geometric_mean(means.values())
        rows.append([f"Halide / Kiln, geometric mean of {len(means)} app{'s' * (len(means) > 1)}", f"at least {MEAN_GOAL:.2f}x", ratio_text(mean), mean >= MEAN_GOAL])
        lowest, case = min((ratio(results, case, "halide"), case) for case in cases_of(results) if ratio(results, case, "halide"))
        rows.append(["Halide / Kiln, the lowest", f"at least {WORST_GOAL:.2f}x", f"{ratio_text(lowest)} ({' '.join(case)})", lowest >= WORST_GOAL])
    for app in LOST_APPS:
        if app in means:
            rows.append([f"Halide / Kiln, {app}", f"at least {LOST_GOAL:.2f}x", ratio_text(means[app]), means[app] >= LOST_GOAL])
    for app in COPY_APPS:
        kiln = fastest(results, (app, COPY_SIZE), "kiln")
        if kiln:
            share = gigabytes(kiln) / device["copy_gb_per_s"]
            rows.append([f"{app} at {COPY_SIZE}, of the copy's speed", f"at least {COPY_GOAL:.2f}", f"{share:.2f}", share >= COPY_GOAL])
    for app, library, goal in (("mat_mul", "cublas", BLAS_GOAL), ("conv_layer", "cudnn", 1.0)):
        each = [value for value in (ratio(results, case, library) for case in cases_of(results) if case[0] == app) if value]
        if each:
            rows.append([f"{library} / Kiln, {app}, the lowest", f"at least {goal:.2f}x", ratio_text(min(each)), min(each) >= goal])
    return rows


def goal_rows(device, results):
    return [["what", "goal", "measured", ""]] + [[what, goal, figure, "reached" if reached else "**not reached**"] for what, goal, figure, reached in goals(device, results)]


def golden_rows(results):
    peers = list(dict.fromkeys(line["peer"] for line in results if line["golden"] and line["peer"] != "-"))
    rows = [["app"] + peers]
    for app in dict.fromkeys(line["app"] for line in results if line["golden"]):
        lines = {line["peer"]: line for line in results if line["golden"] and line["app"] == app}
        rows.append([app] + [lines[peer].get("failure") or lines[peer]["agreement"] if peer in lines else "-" for peer in peers])
    return rows


def variant_rows(results, case):
    rows = [["variant", "batches", "sync", "sync, median", "first call", "result"]]
    for line in variants(results, case, ""):
        times = [ms_text(line, [], field) if field in line else "-" for field in ("batch_ms", "sync_ms", "sync_median_ms", "first_ms")]
        rows.append([", ".join(filter(None, (line["peer"], line["variant"])))] + times + [line.get("failure") or line.get("agreement", "-")])
    return rows


def document(device, results):
    machine = [["device", ""], ["name", device["device"]], ["compute capability", device["capability"]], ["driver", device["driver"]],
               ["multiprocessors", str(device["multiprocessors"])], ["L2 cache", f"{device['cache_kb'] / 1024:.0f} MB"],
               ["memory", f"{device['memory'] / 2**30:.0f} GiB"], ["copy of 2 GiB, read and written", f"{device['copy_gb_per_s']:.0f} GB/s"]]
    parts = [HOW, markdown(machine, [""]), ""]
    if goals(device, results):
        parts += ["## Goals", "", markdown(goal_rows(device, results), ["goal", "measured", ""]), ""]
    parts += ["## All apps", "", markdown(overview(device, results), ["size", "which"]), ""]
    parts += ["## Goldens", "", "How results differ from the golden files: the largest difference, or `equal`.", "", markdown(golden_rows(results), golden_rows(results)[0]), ""]
    parts += ["## Each app", ""]
    for case in cases_of(results):
        parts += [f"### {case[0]}, {case[1]}", "", markdown(variant_rows(results, case), ["result"]), ""]
    return "\n".join(parts)


def complete(results):
    """Whether all of cases.json was measured, and Kiln with it: only then the document of docs/ is written."""
    with open(f"{ROOT}/bench/device/cases.json", encoding="utf-8") as file:
        wanted = {(app["name"], size["label"]) for app in json.load(file)["apps"] for size in app["sizes"]}
    return all(fastest(results, case, "kiln") for case in wanted)


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def run(options):
    """What `bench/run --device` does; gives the exit status."""
    path = options.results
    if not path:
        built = subprocess.run([f"{ROOT}/bench/device/build", "--search", "--kiln", options.kiln] + options.apps, cwd=ROOT)
        if built.returncode:
            return built.returncode
        if not ctypes.util.find_library("cuda"):
            say("there is no CUDA driver here. Carry build-device to a machine that has one and call build-device/run there; then bench/run --device --from device.jsonl")
            return 0
        path = f"{options.out}/device.jsonl"
        os.makedirs(options.out, exist_ok=True)
        subprocess.run([f"{ROOT}/build-device/run", "--out", path] + ["--quick"] * options.quick + options.apps, cwd=ROOT)
    device, results = read(path)
    if not device or not results:
        say(f"{path} has no results")
        return 1
    print(align(overview(device, results)))
    if goals(device, results):
        print("\n" + align(goal_rows(device, results)))
    written = [f"{options.out}/gpu-benchmarks.md"] + ([f"{ROOT}/docs/gpu-benchmarks.md"] if complete(results) else [])
    os.makedirs(options.out, exist_ok=True)
    for name in written:
        with open(name, "w", encoding="utf-8") as file:
            file.write(document(device, results))
    say("wrote " + ", ".join(os.path.relpath(name) for name in written))
    return 0
