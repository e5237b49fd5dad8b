#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests and ends with the line "N passed, N failed".

    tests/run.py [-v] [--all] [--write] [FILTER …]      only tests whose name contains one of the filters; -v names
                                                        each, with its time

Tests of many like cases try a part of them, another one each day, so that all of it ends within minutes: those for
which SAMPLED has a line, the apps, and with the sanitizers text cases and what a unit test asks check_sampled() about
(unit/check.h). --all tries everything, which takes several times as long.
--write puts the pictures that the commands of apps/*/*.md make beside these, instead of comparing them.

What is run, with build/ and with the sanitizers of build-asan/:

  unit/*.c, api/*.c    programs that Meson builds; their last line is their own "N passed, N failed"
  language/*.test, errors/*.test, schedules/*.test, cli/*.test      text cases, see below
  apps/NAME.json       {"app": "apps/blur/blur.kiln", "args": […], "golden": "golden/blur.npy", "tol": "0",
                       "fast": "1e-6"}: a program compared with a file beside the .json: interpreted; and compiled, with
                       the schedule that `auto` makes, by default and with the .sched beside it, with 1 and 2 threads:
                       with --strict-float within tol, and as usual within fast, or tol (build/ only; which of these
                       with how many threads: WAYS). Where there is an OpenCL device, on it too, by default and with
                       the .cuda.sched beside it: with --strict-float it has the bits of the CPU, there with
                       device_args in place of args where an app has some
  fuzz/regressions/*.kiln      programs that have failed once, and at least 1000 random ones that never ran before
                       (fuzz/programs.c); the same with schedules, and thousands of random cases that never ran before
                       (fuzz/schedules.c); fuzz/gpu/*.kiln and fresh ones for GPUs, executed, some of the former on PoCL
  fuzz/parse, fuzz/interpret, fuzz/region      the corpora of the fuzz targets
  layers, style, lint, exports, install, docs, aot, levels, tile, tile_cuda, footprints, naive, cback, foreign, bench,
  explain, progress, runner     scripts, given the build folder (build/ only)
  README.md, docs/*.md, apps/README.md, apps/*/*.md      code blocks, by the words behind ```:
      kiln             passes `kiln check`; `kiln NAME.kiln` also puts it into the folder of the blocks that follow
      kiln wrong       does not
      sh run           is executed in that folder, which has the project's apps/ and examples/
      output           what the block before has printed, both streams
      c                a program: is compiled with the static library and run
      a block with the word `fragment`, and any other, is not looked at
      The pictures beside a document of an app are those that its commands make, but for rounding.

A case in a .test file: a name, then sections; what stands before the first section is a remark.

    === a name
    --- file blur.kiln            text of a file in the case's own folder
    --- run kiln check blur.kiln  a shell command there; $BUILD is the build folder, kiln the one in it
    --- status 1                  what it exits with, 0 if not said; comes before the next two
    --- stdout                    what it prints: exactly, but for … which stands for any text in a line, and alone on a
    --- stderr                    line for any lines. A stream without a section is not looked at.

What cannot fail is refused: an expected text of … alone, a case that runs nothing, a program whose checks are none.
"""
import difflib, functools, glob, json, os, re, shutil, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from sample import ALL, part_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILDS = ["build", "build-asan"]
TIMEOUT = 300         # seconds, for one command
MOST_LINES = 40       # of a failure that are shown
WRITE = False         # --write
# Scripts that try a part of their cases each day (tests/sample.py), and all with --all.
SAMPLED = ("lint", "levels", "tile", "tile_cuda", "naive", "cback")
# Each day one of so many apps is tried in every way, the others interpreted and with the schedule of `auto`.
APP_PARTS = 4
# Of a compiled app: number of threads and whether with --strict-float. Code does not depend on the number of threads
# but for the schedule of `auto`, so that it is compiled twice there, and once for each kind of floats elsewhere.
WAYS = {"auto": [(1, True), (2, False)], "none": [(1, True), (2, True)], "by hand": [(1, True), (2, True), (2, False)]}
ALL_WAYS = [(threads, strict) for threads in (1, 2) for strict in (True, False)]
# With the sanitizers each day one of so many text cases of a file is tried.
CASE_PARTS = 3
# Not with the sanitizers: one counts steps and bytes of code, the other says what apps compute.
PLAIN_ONLY = {"unit-test_compile_cost", "apps/apps"}
ROUNDING = "6,0,0.02,64"      # of a picture's values: what JPEG makes of floats that were added up in another order


class Failure(Exception):
    pass


def execute(command, cwd, build):
    """Runs a shell command with the kiln of `build`; gives (status, stdout, stderr)."""
    build = os.path.join(ROOT, build)
    env = dict(os.environ, BUILD=build, PATH=build + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", KILN_CACHE="",
               # gcc 12's leak checker crashes in the thread-local memory of a library that was loaded late, as LLVM is
               ASAN_OPTIONS="exitcode=99:detect_leaks=1:intercept_tls_get_addr=0",
               UBSAN_OPTIONS="exitcode=99:halt_on_error=1:print_stacktrace=1")
    env.pop("CC", None)                                                      # messages name the compiler
    if ALL:
        env["KILN_TEST_ALL"] = "1"
    try:
        done = subprocess.run(["bash", "-c", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              capture_output=True)
    except subprocess.TimeoutExpired:
        raise Failure(f"$ {command}\ntook more than {TIMEOUT} s")
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def expect_status(command, result, status=0):
    if result[0] != status:
        raise Failure(f"$ {command}\nexit status {result[0]}, expected {status}\n{result[1]}{result[2]}")


def expect_text(command, stream, got, expected):
    """Compares but for …, and for empty lines at the end."""
    if "…" in expected and not re.sub(r"[…\s]", "", expected):
        raise Failure(f"$ {command}\nthe expected {stream} is … alone, which asserts nothing")
    got, expected = got.rstrip("\n"), expected.rstrip("\n")
    lines = [r"(?:.*\n)*" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
             for line in expected.split("\n")]
    if not re.fullmatch("".join(lines), got + "\n"):
        diff = difflib.unified_diff(expected.split("\n"), got.split("\n"), "expected " + stream, "got", lineterm="")
        raise Failure(f"$ {command}\n" + "\n".join(diff))


# ---- Text cases ----

def parse_cases(path):
    """Yields (name, [(directive, argument, text)])."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^=== (.*)\n", file.read(), flags=re.M)
    for name, body in zip(parts[1::2], parts[2::2]):
        sections = re.split(r"^--- (\w+) ?(.*)\n", body + "\n", flags=re.M)
        yield name.strip(), list(zip(sections[1::3], sections[2::3], sections[3::3]))


def run_case(sections, build):
    if not any(directive == "run" for directive, _, _ in sections):
        raise Failure("the case runs nothing")
    with tempfile.TemporaryDirectory() as folder:
        command, result, status_checked = None, None, True
        for directive, argument, text in sections + [("run", None, "")]:
            if directive in ("file", "run") and not status_checked:
                expect_status(command, result)
            if directive == "file":
                target = os.path.join(folder, argument)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "w", encoding="utf-8") as file:
                    file.write(text.rstrip("\n") + "\n")
            elif directive == "run" and argument:
                command, status_checked = argument, False
                result = execute(command, folder, build)
            elif directive == "status":
                expect_status(command, result, int(argument))
                status_checked = True
            elif directive in ("stdout", "stderr"):
                if not status_checked:
                    expect_status(command, result)
                    status_checked = True
                expect_text(command, directive, result[directive == "stderr" and 2 or 1], text)
            elif directive != "run":
                raise Failure(f"no such section: --- {directive}")


def case_tests():
    for path in sorted(glob.glob(f"{ROOT}/tests/*/*.test")):
        group = os.path.relpath(path, ROOT + "/tests")[:-len(".test")]
        cases = list(parse_cases(path))
        sanitized = [] if group in PLAIN_ONLY else part_of(cases, CASE_PARTS)
        for case in cases:
            name, sections = case
            for build in BUILDS if case in sanitized else BUILDS[:1]:
                yield f"{group}: {name}", build, lambda build, s=sections: run_case(s, build)


# ---- Programs and scripts ----

def run_program(program, build):
    """Gives the number of checks that passed, 1 if the program does not say."""
    result = execute(program, ROOT, build)
    expect_status(program, result)
    counts = re.findall(r"^(\d+) (?:passed|checks), 0 failed$", result[1], flags=re.M)
    if counts and int(counts[-1]) == 0:
        raise Failure(f"{program} checked nothing")
    return int(counts[-1]) if counts else 1


def program_tests():
    for kind in ("unit", "api"):
        for source in sorted(glob.glob(f"{ROOT}/tests/{kind}/*.c")):
            name = f"{kind}-{os.path.basename(source)[:-2]}"
            for build in BUILDS if name not in PLAIN_ONLY else BUILDS[:1]:
                yield name, build, lambda build, n=name: run_program(f"{ROOT}/{build}/tests/{n}", build)


def built_without_isl(build, command):
    """Is this one of the programs that Meson leaves out where isl is missing?"""
    program = command.split()[0]
    missing = program in ("fuzz-tile", "replay-region") and not os.path.exists(f"{ROOT}/{build}/tests/{program}")
    if missing:
        print(f"skipped: {program} needs isl", flush=True)
    return missing


def fuzz_tests():
    fuzz = f"{ROOT}/tests/fuzz"
    commands = {"fuzz: fresh programs": "fuzz-programs 0 2000 10",
                "fuzz: fresh graphs": "fuzz-graphs 0 2000 6",
                "fuzz: regressions": f"fuzz-programs {fuzz}/regressions/*.kiln",
                "fuzz: fresh schedules": "fuzz-schedules 0 400 15",
                "fuzz: fresh schedules for GPUs": "fuzz-schedules --gpu 0 400 8",
                "fuzz: schedules for GPUs that failed once": f"fuzz-schedules --gpu {fuzz}/gpu/*.kiln",
                "fuzz: fresh schedules as C": "fuzz-c 0 100 3",
                "fuzz: regressions as C": f"fuzz-c {fuzz}/regressions/c_*.kiln",
                "fuzz: schedules of regressions": f"fuzz-schedules {fuzz}/regressions/*.kiln",
                "fuzz: corpus of parse": f"replay-parse {fuzz}/parse/*",
                "fuzz: corpus of region": f"replay-region {fuzz}/region/*",
                "fuzz: fresh C loops, tiled": "fuzz-tile 0 200 8",
                "fuzz: fresh C loops, tiled by Kiln's own code": "fuzz-tile 0 20 2 llvm",
                "fuzz: corpus of interpret": f"replay-interpret {fuzz}/interpret/*"}
    for name, command in commands.items():
        compiled = "fuzz-c" in command or command.endswith("llvm")      # a C compiler makes no sanitized code of it
        for build in BUILDS[:1] if compiled else BUILDS:
            if not built_without_isl(build, command):
                yield name, build, lambda build, c=command: run_program(f"{ROOT}/{build}/tests/{c}", build)
    yield "fuzz: schedules that failed on PoCL", "build", run_on_opencl


def run_on_opencl(build):
    if not has_opencl(build):
        return 0
    return run_program(f"{ROOT}/{build}/tests/fuzz-schedules --opencl {ROOT}/tests/fuzz/gpu/masked_*.kiln", build)


def run_script(script, build):
    """What a script could not try, it says in lines that begin with `skipped:`; what it measured, with `measured:`."""
    command = f"{ROOT}/tests/{script} {ROOT}/{build}" + " --all" * (ALL and script in SAMPLED)
    result = execute(command, ROOT, build)
    expect_status(command, result)
    for line in re.findall(r"^(?:skipped|measured): .*", result[1], flags=re.M):
        print(f"{script}: {line}", flush=True)


def script_tests():
    for script in ("layers", "style", "lint", "exports", "install", "docs", "aot", "levels", "tile", "tile_cuda",
                   "footprints", "naive", "cback", "foreign", "bench", "explain", "progress", "runner"):
        yield script, "build", lambda build, s=script: run_script(s, build)


# ---- Applications ----

@functools.cache
def has_opencl(build):
    """Is there a device? Said where there is none."""
    found = re.search(r"^OpenCL 0:", execute("kiln devices", ROOT, build)[1], flags=re.M)
    if not found:
        print("apps: skipped: no OpenCL device", flush=True)
    return bool(found)


def ways_of(schedule, has_turn):
    """How an app is run on the CPU: (options, is it --strict-float)."""
    forms = {"auto": "", "none": "--scheduler none", "by hand": f"--schedule {schedule}"}
    if not os.path.exists(os.path.join(ROOT, schedule)):
        del forms["by hand"]
    ways = {form: ALL_WAYS if ALL else WAYS[form] for form in forms if has_turn or form == "auto"}
    return [(f"{forms[form]} --threads {threads}" + " --strict-float" * strict, strict)
            for form in ways for threads, strict in ways[form]]


def has_turn(path):
    """Is this app tried in every way?"""
    return path in part_of(sorted(glob.glob(f"{ROOT}/tests/apps/*.json")), APP_PARTS)


def run_app(path, build):
    with open(path, encoding="utf-8") as file:
        app = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        quote = lambda words: " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        quoted = quote(app["args"])
        golden = os.path.join(os.path.dirname(path), app["golden"])
        schedule = app["app"].removesuffix(".kiln") + ".sched"
        exact, fast = app.get("tol", "0"), app.get("fast", app.get("tol", "0"))
        ways = [(quoted, "--interpret", golden, exact)]
        ways += [(quoted, way, golden, exact if strict else fast) for way, strict in ways_of(schedule, has_turn(path))]
        if has_turn(path) and has_opencl(build):
            by_hand = app["app"].removesuffix(".kiln") + ".cuda.sched"
            plain = f"{folder}/plain.npy"
            on_device = quote(app.get("device_args", app["args"]))
            command = f"kiln run {app['app']} {on_device} --scheduler none --strict-float -o {plain}"
            expect_status(command, execute(command, ROOT, build))
            ways.append((on_device, "--target opencl --strict-float", plain, "0"))
            if os.path.exists(os.path.join(ROOT, by_hand)):
                ways.append((on_device, f"--target opencl --strict-float --schedule {by_hand}", plain, "0"))
        for args, way, expected, tolerance in ways:
            caches = f"KILN_CACHE={folder} POCL_CACHE_DIR={folder}"
            if not ALL and "opencl" in way and "--schedule" not in way:
                # Half the time, which is PoCL's compiler's; large kernels, as those by hand are, take longer so.
                caches += " POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable"
            for command in (f"{caches} kiln run {app['app']} {args} {way} -o {folder}/out.npy",
                            f"kiln diff {folder}/out.npy {expected} --tol {tolerance}"):
                expect_status(command, execute(command, ROOT, build))


def app_tests():
    for path in sorted(glob.glob(f"{ROOT}/tests/apps/*.json")):
        yield f"apps/{os.path.basename(path)[:-5]}", "build", lambda build, p=path: run_app(p, build)


# ---- Code blocks of the docs ----

def run_block(words, text, folder, build, previous):
    """Runs one block of a document; gives what it prints, for an `output` block behind it."""
    language, rest = words[0], words[1:]
    if language == "output":
        expect_text("(the block before)", "output", previous or "", text)
        return None
    name = next((w for w in rest if "." in w), "block." + language)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)
    commands = {
        "kiln": f"kiln check {name}",
        "sh": f"set -e; {text}",
        "c": f"cc -std=c11 -Wall -Wextra -Werror -I{ROOT}/include {name} $BUILD/libkiln.a "
             "$(pkg-config --libs libpng libjpeg libtiff-4 libffi) -lm -lpthread -o block && "
             "LD_LIBRARY_PATH=$BUILD ./block",
    }
    result = execute(commands[language], folder, build)
    expect_status(text, result, 1 if "wrong" in rest else 0)
    return result[1] + result[2]


def compare_pictures(text, beside, folder, build):
    """The pictures that a document shows from its own folder were made by its commands."""
    for name in re.findall(r"!\[[^]]*\]\(([\w.]+)\)", text):
        made, shown = os.path.join(folder, name), os.path.join(beside, name)
        if not os.path.exists(made):
            raise Failure(f"no command makes {name}")
        if WRITE:
            shutil.copyfile(made, shown)
            continue
        command = f"kiln diff {made} {shown} --tol {ROUNDING}"
        result = execute(command, folder, build)
        expect_status(command + "\nif the new picture looks right: tests/run.py --write", result)


def run_document(path, build):
    with open(path, encoding="utf-8") as file:
        document = file.read()
    blocks = re.findall(r"^```(.*)\n((?:.*\n)*?)```$", document, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        for part in ("apps", "examples"):
            if os.path.isdir(f"{ROOT}/{part}"):
                shutil.copytree(f"{ROOT}/{part}", f"{folder}/{part}")
        printed = None
        for info, text in blocks:
            words = info.split()
            if not words or "fragment" in words or words[0] not in ("kiln", "sh", "c", "output"):
                continue
            if words[0] == "sh" and "run" not in words:
                continue
            printed = run_block(words, text, folder, build, printed)
        if path.startswith(f"{ROOT}/apps/"):
            compare_pictures(document, os.path.dirname(path), folder, build)


def document_tests():
    patterns = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "apps/README.md", "apps/*/*.md")
    for path in [path for pattern in patterns for path in sorted(glob.glob(f"{ROOT}/{pattern}"))]:
        yield os.path.relpath(path, ROOT), "build", lambda build, p=path: run_document(p, build)


# ---- All of them ----

def run_one(test):
    """(name, how many passed, why it failed or None, seconds)."""
    name, build, function = test
    name = f"{name} [{build}]"
    begin = time.monotonic()
    try:
        passed, why = function(build) or 1, None
    except Failure as failure:
        passed, why = 0, str(failure)
    return name, passed, why, time.monotonic() - begin


def main(words):
    global WRITE
    verbose, WRITE = "-v" in words, "--write" in words
    filters = [w for w in words if w not in ("-v", "--write", "--all")]
    groups = (fuzz_tests, script_tests, app_tests, document_tests, program_tests, case_tests)      # the short ones last
    tests = [t for group in groups for t in group()
             if not filters or any(f in t[0] for f in filters)]
    passed = failed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, count, why, seconds in pool.map(run_one, tests):
            passed += count
            failed += why is not None
            if why is not None:
                lines = why.rstrip("\n").split("\n")
                lines[MOST_LINES:] = [f"({len(lines) - MOST_LINES} more lines)"] * (len(lines) > MOST_LINES)
                print("\n    ".join([f"FAILED {name}"] + lines), flush=True)
            elif verbose:
                print(f"passed {name} in {seconds:.1f} s", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
