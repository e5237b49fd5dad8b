# SPDX-License-Identifier: MIT
"""Schedules as text: what a scheduler makes of an app, and how long the app takes under it."""
import json, math, re, subprocess, sys, tempfile

from programs import ROOT, arguments_to_schedule, program_of


def make(options, app, scheduler, machine=None):
    """The text of a schedule without comments, made for this machine or for one that is named, and its predicted ms."""
    command = [options.kiln, "schedule", program_of(app), *arguments_to_schedule(app),
               "--scheduler", scheduler, "--threads", str(options.threads), *(["--machine", machine] if machine else [])]
    made = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if made.returncode:
        sys.exit(f"{app}: {scheduler}: {made.stderr}")
    predicted = re.search(r"predicted ([-+.e0-9a-z]+) ms", made.stdout)
    text = "".join(line + "\n" for line in made.stdout.splitlines() if not line.startswith("//"))
    return text, float(predicted.group(1)) if predicted else math.inf


def measure(options, app, texts):
    """{text: the least ms}; they take turns."""
    command = [options.kiln, "bench", program_of(app), "--json", "--threads", str(options.threads),
               "--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    with tempfile.TemporaryDirectory() as folder:
        for i, text in enumerate(texts):
            with open(f"{folder}/{i}.sched", "w", encoding="utf-8") as file:
                file.write(text)
            command += ["--schedule", f"{folder}/{i}.sched", "--only", f"{i}.sched"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if ran.returncode:
        print(f"{app}: {ran.stderr}", file=sys.stderr)
    rows = map(json.loads, ran.stdout.splitlines())
    return {texts[int(row["schedule"].split(".")[0])]: row["min_ms"] for row in rows}
