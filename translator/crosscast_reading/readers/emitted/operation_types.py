"""Emitted scripts: what the classes of operations of the shipped BERT compute in and store.

The types are spread over the whole model: casts, classes of layers, half copies of weights. So they
are not read off single lines: the model is printed for the types that a recipe may have, and the
script has those whose print it is. Where several types print the same script, the first that is
tried is as good as the others: policies come before single classes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

from crosscast.emit.render import render
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import OpType, Recipe
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.versions import POLICY_OF_1, as_written
from crosscast.recipe.yaml_source import parse
from crosscast.targets.backend import Backend, Dialect, Target, load_backend
from crosscast.targets.capability import Verdict, judge
from crosscast_reading.readers.emitted.script import Script, code_of, literal

Types = Mapping[str, str]
MODEL = "model.py"
TRAIN = "train.py"
ATTENTION = "attention"
"""Beside the classes of operations: the kind of attention."""
_WORDS = {
    **dict.fromkeys(("matmul", "pointwise", "reductions", "embeddings"), get_args(OpType)),
    "residual": ("half", "float32"),
    ATTENTION: ("fused", "explicit"),
}
_ROUNDS = 2
_FAR = 10**6
_LOSSES = ("micro_batch_loss", "row_losses")
"""Functions that compute the losses of rows."""
_CONSTANTS = ("MATMUL", "POINTWISE", "REDUCTIONS", "EMBEDDINGS", "RESIDUAL", "HALF", "TYPES")
_RECIPE = """
version: 2
name: printed
model: {{kind: bert, preset: tiny, labels: 3, dropout: {dropout}, attention: {attention}}}
data: {{source: synthetic}}
batch: {{micro_batch_size: {processes}}}
precision: {{mode: {mode}, compute_dtype: {half}{ops}}}
accumulation: {{steps: 1, normalize_by: {unit}}}
optimizer: {{name: sgd, learning_rate: 1.0}}
schedule: {{name: constant, total_steps: 1}}
activation_checkpointing: {recomputes}
distributed: {{strategy: {strategy}, processes_per_node: {processes}}}
"""


def operation_types(
    script: Script, backend: str, fields: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the fields about types and attention, in the words of the version that has them.

    Args:
        script: The script.
        backend: The backend that printed it.
        fields: What was read of it, by field of a recipe.

    Returns:
        None if the model is not the shipped BERT as any recipe prints it.
    """
    target = _target(script, backend)
    if target is None or fields.get("model.kind") != "bert":
        return None
    read = _facts(fields)
    types = _types_of_model(target, read, _model_of(script))
    if types is None:
        return None
    if read["mode"] != "none":
        of_loss = {name: script.functions.get(name) for name in _LOSSES}
        for losses in ("float32", "half", "float32_stored_half"):
            types = {**types, "losses": losses}
            if _printed(target, TRAIN, types, read) == of_loss:
                break
        else:
            return None
    return _as_fields(types, read)


def _types_of_model(
    target: Target, read: Mapping[str, Any], model: Mapping[str, str | None]
) -> Types | None:
    """Return the types, and the kind of attention, whose print a model is.

    Policies first; then the nearest of them, one class changed after the other.
    """

    def distance(types: Types) -> int:
        printed = _printed(target, MODEL, types, read)
        return _different_lines(printed, model) if printed is not None else _FAR

    policies = _policies(read["mode"])
    for types in policies:
        if not distance(types):
            return types
    best = min(policies, key=distance)
    for name, words in [*_WORDS.items()] * _ROUNDS if read["mode"] != "none" else ():
        best = min(({**best, name: word} for word in words), key=distance)
        if not distance(best):
            return best
    return None


def _different_lines(printed: Mapping[str, str | None], model: Mapping[str, str | None]) -> int:
    """Return the number of lines that only one of two models has, by definition."""
    count = 0
    for name in printed.keys() | model.keys():
        ours, theirs = (Counter((each.get(name) or "").splitlines()) for each in (printed, model))
        count += ((ours - theirs) + (theirs - ours)).total()
        count += (name in printed) != (name in model)
    return count


def _as_fields(types: Types, read: Mapping[str, Any]) -> Mapping[str, Any]:
    recipe = _recipe(types=types, **read)
    assert recipe is not None  # it was printed
    data = recipe.model_dump()
    data["precision"]["policy"] = POLICY_OF_1  # it says nothing that the classes do not say
    written = as_written(data)
    by_path: dict[str, Any] = {"version": written["version"]}
    if "attention" in written["model"]:
        by_path["model.attention"] = types[ATTENTION]
    if read["mode"] != "none":
        by_path |= {f"precision.ops.{name}": v for name, v in written["precision"]["ops"].items()}
    return by_path


def _facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Everything besides the types on which the print of a model and of its loss depends."""
    parallel = fields.get("distributed.strategy") == "data_parallel"
    return {
        "mode": fields.get("precision.mode", "none"),
        "half": fields.get("precision.compute_dtype", "float32"),
        "dropout": fields.get("model.dropout", 0.0) and 0.1,
        "recomputes": bool(fields.get("activation_checkpointing")),
        "unit": fields.get("accumulation.normalize_by", "sample"),
        "processes": max(2, fields.get("distributed.processes_per_node", 1)) if parallel else 1,
    }


def _target(script: Script, backend: str) -> Target | None:
    """Return the target that a script names, with its API generation."""
    loaded: Backend = load_backend(backend)
    made_for = script.constants.get("SETTINGS.made_for", "")
    titles: dict[str, Dialect] = {dialect.title: dialect for dialect in loaded.dialects}
    dialect = titles.get(str(made_for))
    return Target(backend, loaded, dialect) if dialect is not None else None


def _policies(mode: str) -> list[Types]:
    """Return the types of policies with both kinds of attention, likely ones first.

    TensorFlow has one kind only: fused where version 1 cannot say the types anyway.
    """
    if mode == "none":
        return [{**POLICIES[POLICY_OF_1], ATTENTION: kind} for kind in ("explicit", "fused")]
    ordered: list[Types] = []
    for policy in dict.fromkeys((POLICY_OF_1, DEFAULT_POLICY, *POLICIES)):
        types = POLICIES[policy]
        old = "float32_stored_half" not in types.values()
        old = old and types["residual"] == types["pointwise"]
        kinds = ("explicit", "fused") if old else ("fused", "explicit")
        ordered += [{**types, ATTENTION: kind} for kind in kinds]
    return ordered


def _recipe(*, types: Types, **read: Any) -> Recipe | None:
    ops = ", ".join(f"{name}: {word}" for name, word in types.items() if name != ATTENTION)
    text = _RECIPE.format(
        **{
            **read,
            ATTENTION: types[ATTENTION],
            "ops": "" if read["mode"] == "none" else f", ops: {{{ops}}}",
            "recomputes": str(read["recomputes"]).lower(),
            "strategy": "data_parallel" if read["processes"] > 1 else "none",
        }
    )
    try:
        return build_recipe(parse(text, "printed.yaml"))
    except DiagnosticError:
        return None


def _printed(
    target: Target, path: str, types: Types, read: Mapping[str, Any]
) -> Mapping[str, str | None] | None:
    """Print a file of a target: classes and functions of a model, or those of the loss.

    None if it cannot express the types.
    """
    key = (tuple(types.items()), tuple(read.items()))
    return _print(target.backend.name, target.dialect.name, path, key)


@cache
def _print(backend: str, dialect: str, path: str, key: Any) -> Mapping[str, str | None] | None:
    types, read = key
    recipe = _recipe(types=dict(types), **dict(read))
    loaded = load_backend(backend)
    generation = next(each for each in loaded.dialects if each.name == dialect)
    target = Target(backend, loaded, generation)
    if recipe is None:
        return None
    judgements = tuple(judge(recipe, target.rows))
    if any(each.row.verdict is Verdict.UNSUPPORTED for each in judgements):
        return None
    lowered = loaded.lower(recipe, judgements, generation, "script")
    file = next((each for each in lowered.files if each.path == path), None)
    if file is None:
        return None
    tree = ast.parse(render(loaded.templates, file.template, file.view))
    if path == MODEL:
        return _definitions(tree.body)
    functions = _definitions(tree.body)
    return {name: functions.get(name) for name in _LOSSES}


def _model_of(script: Script) -> Mapping[str, str | None]:
    """Return the classes, functions and constants of types in the module of the model."""
    for module in script.own:
        names = {getattr(statement, "name", "") for statement in module.tree.body}
        if {"build_model", "BertClassifier"} <= names:
            return _definitions(module.tree.body)
    return {}


def _definitions(body: Sequence[ast.stmt]) -> Mapping[str, str | None]:
    known: dict[str, str | None] = {}
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                known[name] = code_of(statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _CONSTANTS:
                known[name] = str(literal(value)[1])
    return known
