"""What a script tells its runtime: the call of `Settings`, and the files of the package.

The text of `runtime/` depends on the dialect alone. What a recipe decides reaches it as values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.emit.render import py_literal
from crosscast.targets.backend import File

SHARED = ("settings", "rows", "checkpoint", "run")
"""Modules that are the same file on every framework."""


def runtime_files(modules: Mapping[str, str], spelling: Mapping[str, Any]) -> list[File]:
    """Return the modules of `runtime/`.

    Args:
        modules: Those of the framework, by name, with the folder whose `runtime` has the template.
        spelling: What they print, which depends on the dialect alone.
    """
    wrapped = {"view": dict(spelling)}
    templates = {name: f"_shared/runtime/{name}.py.j2" for name in ("__init__", *SHARED)}
    templates |= {name: f"{folder}/runtime/{name}.py.j2" for name, folder in modules.items()}
    return [
        File(path=f"runtime/{name}.py", template=template, view=wrapped)
        for name, template in templates.items()
    ]


def settings_lines(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments of `Settings` as lines; those at their defaults are left out."""
    return tuple(_wrapped(name, code) for name, code in _arguments(view))


def _arguments(view: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    versions = view["versions"]
    yield "recipe", py_literal(view["recipe_hash"])
    yield "made_for", py_literal(versions["title"])
    yield "since", versions["since"]
    if versions["until"]:
        yield "until", versions["until"]
    yield "train", py_literal(view["train_data"])
    yield "eval", py_literal(view["eval_data"])
    if view["data_hint"]:
        yield "data_hint", "\n".join(py_literal(part) for part in view["data_hint"])
    yield "output", py_literal(view["output"])
    yield "seed", py_literal(view["seed"])
    yield "micro_batch_size", py_literal(view["micro_batch_size"])
    yield "accumulation_steps", view["accumulation_code"]
    if view["distributed"]:
        yield "processes", "PROCESSES"
    yield "windows", py_literal(view["windows"])
    yield "checkpoint_every", py_literal(view["checkpoint_every"])
    if not view["shuffle"]:
        yield "shuffle", "False"
    if view["tail"] in ("drop", "carry"):
        yield "tail", py_literal(view["tail"])
    if view["bert"]:
        yield "limits", "LIMITS"
        yield "max_positions", "MAX_POSITIONS"
    if view["tokens"]:
        yield "unlabelled", "True"
    if view["slot_names"]:
        yield "slots", py_literal(view["slot_names"])
    if view.get("betas"):
        yield "betas", view["betas"]
    if view["scaled"]:
        yield "scale", _scale(view["scaling"])
    if view["ema"]:
        yield "averages", "True"
    if view["checked_half"]:
        yield "half", py_literal(view["checked_half"])
    if view["tf32"]:
        yield "tf32", "True"
    if view["recomputed_dropout"]:
        yield "recomputed_dropout", "True"


def _scale(scaling: Mapping[str, Any]) -> str:
    """Return the least and the largest loss scale, by the constants of the step."""
    if scaling["mode"] == "static":
        return "(LOSS_SCALE, LOSS_SCALE)"
    most = "MAX_SCALE" if scaling["max_scale"] is not None else 'float("inf")'
    return f"({'MIN_SCALE' if scaling['min_scale'] else '0.0'}, {most})"


def _wrapped(name: str, code: str) -> str:
    """Return one argument in the style of a formatter."""
    if "\n" not in code:
        return f"    {name}={code},"
    parts = "".join(f"\n        {part}" for part in code.split("\n"))
    return f"    {name}=({parts}\n    ),"
