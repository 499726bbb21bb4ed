"""Compares a table of defaults with what the installed packages say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from crosscast.targets.defaults import Defaults, holding
from frameworks.subprocesses import run_python


def installed(*packages: str) -> dict[str, str]:
    """Return the versions of the distributions that are here, by the name the table uses."""
    names = {name: name for name in packages}
    names |= {"tensorflow": "tensorflow-cpu"} if "tensorflow" in names else {}
    names |= {"paddle": "paddlepaddle"} if "paddle" in names else {}
    found = {}
    for name, distribution in names.items():
        for candidate in (distribution, name):
            try:
                found[name] = version(candidate)
                break
            except PackageNotFoundError:
                continue
    return found


def question(entry: Defaults) -> dict[str, Any]:
    return {
        "api": entry.api,
        "form": entry.form,
        "arguments": list(entry.arguments),
        "fixed": bool(entry.fixed),
    }


def label(entry: Defaults) -> str:
    return f"{entry.api} {entry.form}".strip()


def expected(entry: Defaults) -> dict[str, Any]:
    """Return what the program must answer, as JSON holds it."""
    told: dict[str, Any] = json.loads(
        json.dumps({"arguments": dict(entry.arguments), "fixed": dict(entry.fixed)})
    )
    return told


def ask(
    folder: Path, framework: str, table: Sequence[Defaults], versions: Mapping[str, str]
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return what the table says and what is true, for the entries that hold here."""
    entries = list(holding(table, versions))
    questions = json.dumps([question(entry) for entry in entries])
    answers = run_python(folder / "read_defaults.py", framework, questions)
    return {
        label(entry): (expected(entry), answer)
        for entry, answer in zip(entries, answers, strict=True)
    }
