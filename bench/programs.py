# SPDX-License-Identifier: MIT
"""The programs that are measured, and the arguments that they are measured with."""
import glob, json, os, re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# Sets of programs: what stands behind {} is a program's name.
SETS = {"apps": "apps/{0}/{0}.kiln", "fresh": "bench/fresh/{0}.kiln", "learn": "bench/unseen/learn/{0}.kiln", "held": "bench/unseen/held/{0}.kiln",
        "fresh_gpu": "bench/fresh_gpu/{0}.kiln", "opencv": "bench/peers/opencv/{0}.kiln"}


def names_of(kind):
    """The names of the programs of a set, those of apps in the order of apps.json."""
    if kind == "apps":
        with open(f"{ROOT}/bench/apps.json", encoding="utf-8") as file:
            return [app["name"] for app in json.load(file)["apps"]]
    return sorted(os.path.basename(path)[:-len(".kiln")] for path in glob.glob(f"{ROOT}/{SETS[kind].format('*')}"))


def program_of(name):
    """The path of a program from the project's folder."""
    return next((path for path in (form.format(name) for form in SETS.values()) if os.path.exists(f"{ROOT}/{path}")), SETS["apps"].format(name))


def read_arguments(path):
    """(NAME=VALUE …, options) of a .bench file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    lines = [line for line in lines if line and not line.startswith("//")]
    options = [word for line in lines if line.startswith("-") for word in line.split(None, 1)]
    return [line for line in lines if not line.startswith("-")], options


def arguments_to_schedule(app):
    """Those of a program, its inputs by their sizes alone: their values do not matter to a schedule."""
    values, options = read_arguments(f"{ROOT}/{program_of(app)[:-len('.kiln')]}.bench")
    return [re.sub(r"^(\w+=@[0-9x]+):.*", r"\1", value, flags=re.S) for value in values] + options
