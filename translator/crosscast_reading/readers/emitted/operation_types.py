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
from itertools import combinations, product
from typing import Any, get_args

from crosscast.emit.render import render
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import OpType, Recipe
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.versions import POLICY_OF_1, as_written
from crosscast.recipe.yaml_source import document_of
from crosscast.targets.backend import Backend, Dialect, Target, load_backend
from crosscast.targets.capability import Verdict, judge
from crosscast_reading.readers.emitted.script import Script, code_of, literal

Types = Mapping[str, str]
Text = Mapping[str, str]
"""Name to normalized code, or value, of definitions."""
MODEL = "model.py"
TRAIN = "train.py"
ATTENTION = "attention"
"""Beside the classes of operations: the kind of attention."""
_WORDS = {
    **dict.fromkeys(
        ("matmul", "pointwise", "reductions", "embeddings", "losses"), get_args(OpType)
    ),
    "residual": ("half", "float32"),
    ATTENTION: ("fused", "explicit"),
}
_ROUNDS = 2
_FAR = 10**6
_LOSSES = ("micro_batch_loss", "row_losses")
_OF_STEP = (*_LOSSES, "DTYPE_POLICY")
"""What outside of the model depends on types: the losses of rows, and the policy of Keras."""
_CONSTANTS = (
    *("MATMUL", "POINTWISE", "REDUCTIONS", "EMBEDDINGS", "RESIDUAL", "HALF", "TYPES"),
    "DTYPE_POLICY",
)
_NAMED = (ast.FunctionDef, ast.ClassDef)


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
    # Another loss is always float32, and is not what is printed here.
    ignored = () if _plain(fields) else _LOSSES
    types = _types_of(target, read, _text_of(script), ignored)
    return _as_fields(types, read) if types is not None else None


def _plain(fields: Mapping[str, Any]) -> bool:
    """Whether the loss is a cross-entropy without weights and smoothing."""
    kind = fields.get("loss.kind", "cross_entropy") == "cross_entropy"
    return kind and not fields.get("loss.label_smoothing") and not fields.get("loss.class_weights")


def _types_of(
    target: Target, read: Mapping[str, Any], text: Text, ignored: Sequence[str]
) -> Types | None:
    """Return the types, and the kind of attention, whose print a script is.

    Policies first; then the nearest of them, some classes changed after the others.
    """

    def distance(types: Types) -> int:
        printed = _printed(target, types, read)
        return _different_lines(printed, text, ignored) if printed is not None else _FAR

    policies = _policies(read["mode"])
    for types in policies:
        if not distance(types):
            return types
    best = min(policies, key=distance)
    for names in _steps(without="losses" if ignored else "") if read["mode"] != "none" else ():
        changes = product(*(_WORDS[name] for name in names))
        best = min(
            ({**best, **dict(zip(names, words, strict=True))} for words in changes), key=distance
        )
        if not distance(best):
            return best
    return None


def _steps(without: str) -> list[tuple[str, ...]]:
    """Return the classes that are changed together: one after the other, then every two of them.

    Two may have to change at once, such as what a sum computes in and what it stores. One is left
    as it is, if the script does not show it.
    """
    names = [name for name in _WORDS if name != without]
    return [(name,) for name in names] * _ROUNDS + [*combinations(names, 2)]


def _different_lines(printed: Text, text: Text, ignored: Sequence[str]) -> int:
    """Count the lines that only one of two scripts has, by definition."""
    count = 0
    for name in (printed.keys() | text.keys()) - set(ignored):
        ours, theirs = (Counter(each.get(name, "").splitlines()) for each in (printed, text))
        count += ((ours - theirs) + (theirs - ours)).total()
        count += (name in printed) != (name in text)
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
    """Return the target that a script names, with its API generation.

    Some optimizers need a later version than the generation begins with, which the script names
    instead: then it is the generation that has this version.
    """
    loaded: Backend = load_backend(backend)
    made_for = script.constants.get("SETTINGS.made_for")
    named: list[Dialect] = [each for each in loaded.dialects if each.title == made_for]
    since = script.constants.get("SETTINGS.since")
    if not named and isinstance(since, tuple | list):
        version = ".".join(map(str, since))
        named = [each for each in loaded.dialects if each.covers(version)]
    return Target(backend, loaded, named[0]) if named else None


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


def _recipe(
    *,
    types: Types,
    mode: str,
    half: str,
    dropout: float,
    recomputes: bool,
    unit: str,
    processes: int,
) -> Recipe | None:
    bert = {"kind": "bert", "preset": "tiny", "labels": 3}
    ops = {name: word for name, word in types.items() if name != ATTENTION}
    data = {
        "version": 2,
        "name": "printed",
        "model": {**bert, "dropout": dropout, ATTENTION: types[ATTENTION]},
        "data": {"source": "synthetic"},
        "batch": {"micro_batch_size": processes},
        "precision": {"mode": mode, "compute_dtype": half}
        | ({} if mode == "none" else {"ops": ops}),
        "accumulation": {"steps": 1, "normalize_by": unit},
        "optimizer": {"name": "sgd", "learning_rate": 1.0},
        "schedule": {"name": "constant", "total_steps": 1},
        "activation_checkpointing": recomputes,
        "distributed": {
            "strategy": "data_parallel" if processes > 1 else "none",
            "processes_per_node": processes,
        },
    }
    try:
        return build_recipe(document_of(data, "printed"))
    except DiagnosticError:
        return None


def _printed(target: Target, types: Types, read: Mapping[str, Any]) -> Text | None:
    """Print what of a target's script depends on types; None if it cannot express them."""
    key = (tuple(types.items()), tuple(read.items()))
    return _print(target.backend.name, target.dialect.name, key)


@cache
def _print(backend: str, dialect: str, key: Any) -> Text | None:
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
    files = {f.path: f for f in loaded.lower(recipe, judgements, generation, "script").files}
    if not files.keys() >= {MODEL, TRAIN}:
        return None
    model, train = (
        render(loaded.templates, files[path].template, files[path].view) for path in (MODEL, TRAIN)
    )
    return {**_definitions_in(model), **_definitions_in(train, only=_OF_STEP)}


@cache
def _definitions_in(text: str, only: Sequence[str] | None = None) -> Text:
    """Return definitions of a printed file; most types print the same file."""
    return _definitions(ast.parse(text).body, only)


def _text_of(script: Script) -> Text:
    """Read what of a script depends on types: its model's definitions, and the loss."""
    model: Text = {}
    others: dict[str, str] = {}
    for module in script.own:
        names = {node.name for node in module.tree.body if isinstance(node, _NAMED)}
        if {"build_model", "BertClassifier"} <= names:
            model = _definitions(module.tree.body)
        others |= _definitions(module.tree.body, _OF_STEP)
    return {**model, **others}


def _definitions(body: Sequence[ast.stmt], only: Sequence[str] | None = None) -> Text:
    """Return the definitions among some statements, or only those of some names."""
    known: dict[str, str] = {}
    for statement in body:
        match statement:
            case (
                ast.FunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
            ) if only is not None and name not in only:
                pass
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                known[name] = code_of(statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _CONSTANTS:
                data = literal(value)[1]
                items = data.items() if isinstance(data, dict) else [("", data)]
                known[name] = "\n".join(f"{key}: {item}" for key, item in items)
    return known
