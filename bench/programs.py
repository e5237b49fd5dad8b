# SPDX-License-Identifier: MIT
"""The programs that are measured, and the arguments that they are measured with."""
import json, os, re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def all_apps():
    """The names of the apps of apps.json."""
    with open(f"{ROOT}/bench/apps.json", encoding="utf-8") as file:
        return [app["name"] for app in json.load(file)["apps"]]


def read_arguments(path):
    """(NAME=VALUE …, options) of a .bench file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    lines = [line for line in lines if line and not line.startswith("//")]
    options = [word for line in lines if line.startswith("-") for word in line.split(None, 1)]
    return [line for line in lines if not line.startswith("-")], options


def arguments_to_schedule(app):
    """Those of an app, its inputs by their sizes alone: their values do not matter to a schedule."""
    values, options = read_arguments(f"{ROOT}/apps/{app}/{app}.bench")
    return [re.sub(r"^(\w+=@[0-9x]+):.*", r"\1", value, flags=re.S) for value in values] + options
