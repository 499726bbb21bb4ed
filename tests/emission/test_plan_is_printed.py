"""Scripts are printed from the operations of a Plan: every field of an operation shows in them."""

from __future__ import annotations

import ast
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import frame_of
from crosscast.emit.printer import PlanPrinter
from crosscast.emit.render import render, template_root
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.operations import OPS, Accumulate, Autocast, Group, Op, Plan
from crosscast.recipe import optimizer as optimizers
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from crosscast.targets.capability import adaptations, judge
from emission_bases import BASES, TARGETS
from frameworks.emitted_script import tiny_recipe
from tiers import cases

ROOT = Path(__file__).resolve().parents[2]
FLEET = "paddle@fleet"
QUICK = [target for target in TARGETS if "@" not in target]

ONLY_REFERENCE = {
    ("backward", "compute_dtype"): "frameworks round gradients in the type of the forward pass"
}
"""Fields that only the reference interpreter reads, with the reason."""
FIXED_BY_FLEET = {
    ("clip", "exempt"): "norm",
    ("step", "bias_correction"): "uncorrected",
    ("step", "eps_placement"): "raw epsilon",
    ("step", "groups"): "groups",
    ("step", "no_decay"): "coupled roles",
    ("step", "rate_in_momentum"): "rate in momentum",
}
"""Fields that have a single value in static graphs, with a base of another value."""
SCRIPT = "train.py"
FLAGS = frozenset(
    {
        ("autocast", "compute_dtype"),
        *(
            ("update_scale", name)
            for name in ("backoff_factor", "growth_factor", "growth_interval")
        ),
        *(("update_scale", name) for name in ("hysteresis", "init_scale", "mode")),
    }
)
WEIGHTS = frozenset({("autocast", "weights")})
PROCESSES = frozenset({("all_reduce", "processes")})
OPTIMIZER = frozenset({("step", "optimizer")})
REPEATED: dict[str, dict[str, frozenset[tuple[str, str]]]] = {
    "jax": {"launch.sh": PROCESSES, "model.py": WEIGHTS | {("autocast", "compute_dtype")}},
    "paddle": {"launch.sh": FLAGS, "model.py": WEIGHTS},
    "paddle@dygraph2": {"launch.sh": FLAGS, "model.py": WEIGHTS},
    "paddle@fleet": {"model.py": WEIGHTS | {("autocast", "compute_dtype")}},
    "tensorflow": {"launch.sh": PROCESSES, "model.py": WEIGHTS},
    "tensorflow@keras2": {"launch.sh": PROCESSES, "model.py": WEIGHTS},
    "tensorflow@graph-rewrite": {"launch.sh": PROCESSES},
    # Adafactor needs a later version, which these name.
    "torch": dict.fromkeys(("launch.sh", "model.py", "requirements.txt"), OPTIMIZER),
}
"""Fields that other files than the script show, too, by file."""
ELSEWHERE = {"jax": {("autocast", "compute_dtype")}}
"""Fields that another file shows instead of the script, which shows them in some bases: there is no
autocast in JAX, a model has the types of its layers."""
REFUSED = {
    "paddle@fleet": {
        *(("accumulate", "dtype"), ("all_reduce", "processes"), ("ema", "decay")),
        *(("group", name) for name in ("parameters", "rate_factor", "weight_decay")),
        *(("step", name) for name in ("always_adapt", "beta2_decay", "clip_threshold")),
        ("step", "factored_eps"),
    },
    "tensorflow@graph-rewrite": {("accumulate", "dtype")},
}
"""Fields of which a target accepts no base where they act."""

FALLING = ("linear", "cosine", "polynomial")


@dataclass(frozen=True)
class Counts:
    """Which file of a target shows which field of an operation, in every base where it acts."""

    shown: dict[str, frozenset[tuple[str, str]]]
    partly: frozenset[tuple[str, str]]
    """Those that some file shows in one base and not in another one."""
    hidden: frozenset[tuple[str, str]]
    """Those that some base shows in no file."""
    refused: frozenset[tuple[str, str]]


def acts(op: Any, name: str) -> bool:
    """Whether a field has a meaning next to the others of its operation."""
    match op.kind, name:
        case "step", field:
            return _acts_in_step(op, field)
        case "clip", "limit" | "exempt":
            return bool(op.mode != "none")
        case "clip", "eps":
            return "norm" in op.mode
        case "normalize", "full":
            return not op.renormalize
        case "schedule", "power":
            return bool(op.name == "polynomial")
        case "schedule", "end_lr" | "decay_from":
            return op.name in FALLING
        case "schedule", "warmup_start_lr":
            return bool(op.warmup_steps > 0)
        case "update_scale", "hysteresis_mode":
            return bool(op.mode == "dynamic" and op.hysteresis > 1)
        case "update_scale", field:
            return op.mode == "dynamic" or field in ("mode", "init_scale")
    return True


def _acts_in_step(op: Any, name: str) -> bool:
    cls = next(c for c in _optimizers() if _name(c) == op.optimizer)
    known = set(cls.model_fields) | {"optimizer"}
    known ^= {"eps", "factored_eps"} if op.optimizer == "adafactor" else set()
    match name:
        case "nesterov" | "rate_in_momentum":
            return name in known and op.momentum > 0
        case "no_decay":
            return bool(op.weight_decay > 0)
        case "eps_placement":
            return name in known and bool(op.bias_correction)
    return name in known


def possible(plan: Plan) -> bool:
    """Whether the types of a plan fit each other, as those of every recipe do."""
    autocast, sums = plan.get(Autocast), plan.get(Accumulate).dtype
    return autocast.weights in ("float32", autocast.compute_dtype) and sums in (
        "float32",
        autocast.weights,
    )


def _optimizers() -> tuple[Any, ...]:
    return (
        *(optimizers.Sgd, optimizers.Adam, optimizers.AdamW),
        *(optimizers.Lamb, optimizers.Lion, optimizers.Adafactor),
    )


def _name(cls: Any) -> str:
    return str(get_args(cls.model_fields["name"].annotation)[0])


def others(annotation: Any, value: Any) -> Iterator[Any]:
    """Yield other values of a field."""
    if get_origin(annotation) is Literal:
        yield from (choice for choice in get_args(annotation) if choice != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield 0.75 * value if value else 0.25
    elif value is None:
        yield 0.375
    elif isinstance(value, tuple):
        yield _other_tuple(annotation, value)
    else:
        raise AssertionError(f"no other value of {annotation}")


def _other_tuple(annotation: Any, value: tuple[Any, ...]) -> tuple[Any, ...]:
    inner = get_args(annotation)[0]
    if inner is float:
        return tuple(0.75 * item for item in value)
    if inner is str:
        return (*value, "other.*")
    if inner is Group:
        return (*value, Group(parameters=("other.*",), weight_decay=0.25, rate_factor=0.75))
    return tuple(role for role in get_args(inner) if role not in value)


def mutations(plan: Plan) -> Iterator[tuple[str, str, Plan]]:
    """Yield plans with another value in one field: kind of the operation, field, plan."""
    for op in plan:
        for name, other in _changed(op):
            yield op.kind, name, _with(plan, op, other)
        for group in getattr(op, "groups", ()):
            for name, other in _changed(group):
                yield "group", name, _with(plan, op, replace(op, groups=(other,)))  # type: ignore[call-arg]


def _changed(op: Any) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(type(op))
    for field in fields(op):
        if isinstance(op, Group) or acts(op, field.name):
            for value in others(hints[field.name], getattr(op, field.name)):
                yield field.name, replace(op, **{field.name: value})


def _with(plan: Plan, old: Op, new: Any) -> Plan:
    def swapped(part: tuple[Op, ...]) -> tuple[Op, ...]:
        return tuple(new if op is old else op for op in part)

    return replace(plan, micro=swapped(plan.micro), window=swapped(plan.window))


def every_field() -> set[tuple[str, str]]:
    """Return kind and name of every field that an operation or a group has."""
    classes: list[tuple[str, Any]] = [*((op.kind, op) for op in OPS), ("group", Group)]
    return {(kind, field.name) for kind, cls in classes for field in fields(cls)}


def printed(
    target: str, plan: Plan, recipe: Recipe, templates: Path | None = None
) -> dict[str, str]:
    """Return the text of a target's files for a plan that need not be the recipe's."""
    found = find_target(target)
    assert isinstance(found.backend, PlanPrinter)
    adapted = replace(plan, adapted=adaptations(judge(recipe, found.rows, plan)))
    files = found.backend.print_plan(adapted, frame_of(recipe), found.dialect, "script")
    root = templates or found.backend.templates
    return {file.path: render(root, file.template, file.view) for file in files}


@cache
def base(name: str) -> Recipe:
    return tiny_recipe(**BASES[name])


def expected(target: str, field: tuple[str, str]) -> set[str]:
    """Return which files of a target should show a field: no further values are tried then."""
    repeated = REPEATED.get(target, {})
    script = set() if field in ELSEWHERE.get(target, ()) else {SCRIPT}
    return script | {path for path, fields in repeated.items() if field in fields}


def counts(target: str, bases: Iterable[str] = BASES, templates: Path | None = None) -> Counts:
    """Return which files show which fields: some other value changes their text."""
    acting: Counter[tuple[str, str]] = Counter()
    showing: Counter[tuple[str, tuple[str, str]]] = Counter()
    hidden: set[tuple[str, str]] = set()
    for name in bases:
        try:
            (compiled,) = compile_recipe(base(name), [target])
        except DiagnosticError:
            continue
        before = printed(target, compiled.plan, base(name), templates)
        changed: dict[tuple[str, str], set[str]] = defaultdict(set)
        for kind, field, plan in mutations(compiled.plan):
            if possible(plan) and not expected(target, (kind, field)) <= changed[kind, field]:
                now = printed(target, plan, base(name), templates)
                changed[kind, field] |= {path for path in before if now.get(path) != before[path]}
        acting.update(changed.keys())
        showing.update((path, field) for field, paths in changed.items() for path in paths)
        hidden |= {field for field, paths in changed.items() if not paths}
    shown: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for (path, found), times in showing.items():
        if times == acting[found]:
            shown[path].add(found)
    return Counts(
        {path: frozenset(fields) for path, fields in shown.items()},
        frozenset(found for (_, found), times in showing.items() if times < acting[found]),
        frozenset(hidden),
        frozenset(every_field() - acting.keys()),
    )


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_every_field_of_an_operation_shows_in_the_script(target: str) -> None:
    """And in every other file that shows it anywhere: a constant in one template is seen."""
    fixed = FIXED_BY_FLEET if target == FLEET else {}
    found = counts(target)
    assert found.hidden == ONLY_REFERENCE.keys() | fixed.keys()
    elsewhere = ELSEWHERE.get(target, set())
    assert found.partly <= fixed.keys() | elsewhere
    assert found.refused == REFUSED.get(target, set())
    script = every_field() - found.hidden - found.refused - elsewhere
    assert found.shown == {SCRIPT: script} | REPEATED.get(target, {})


PLANTED = "INIT_SCALE = {{ view.scaling.op.init_scale | py }}"


def test_a_constant_in_a_template_is_seen_although_another_file_shows_the_field(
    tmp_path: Path,
) -> None:
    """Paddle's launch.sh repeats the scale as a flag."""
    shutil.copytree(find_target("paddle").backend.templates, tmp_path, dirs_exist_ok=True)
    template = "_shared/scaling_constants.j2"
    text = (template_root() / template).read_text(encoding="utf-8")
    assert PLANTED in text
    (tmp_path / "_shared").mkdir(exist_ok=True)
    (tmp_path / template).write_text(text.replace(PLANTED, "INIT_SCALE = 65536.0"), "utf-8")
    right, wrong = (counts("paddle", ["float16"], templates) for templates in (None, tmp_path))
    assert right.shown["launch.sh"] == wrong.shown["launch.sh"] == FLAGS
    assert right.shown[SCRIPT] - wrong.shown[SCRIPT] == {("update_scale", "init_scale")}


@pytest.mark.parametrize("name", FIXED_BY_FLEET.values())
def test_static_graphs_refuse_other_values(name: str) -> None:
    with pytest.raises(DiagnosticError):
        compile_recipe(base(name), [FLEET])


def test_a_plan_is_printed_as_compiled() -> None:
    recipe = base("float16")
    for target in QUICK:
        (compiled,) = compile_recipe(recipe, [target])
        texts = {path: file.text for path, file in compiled.files.items()}
        assert printed(target, compiled.plan, recipe) == texts


SHARED = tuple(
    f"translator/crosscast/emit/{name}.py"
    for name in ("launching", "loss", "lowering", "runtime", "view")
)
OF_THE_FRAME = {
    *("BertModel", "CustomModel", "Model", "OpType", "OpTypes", "Launch"),
    *("CustomData", "ImageData", "PaddedData", "SyntheticData"),
    *("Section", "Loss", "CrossEntropy", "CustomLoss"),
}
"""What printing may import of the recipe: nothing of its training step."""


def printing_modules() -> list[Path]:
    """Return the modules that print: the shared ones, and what `lower` imports of its package."""
    found = [ROOT / path for path in SHARED]
    for package in ("torch", "tensorflow", "paddle"):
        folder = ROOT / f"backends/crosscast_{package}/target"
        todo = [folder / "lower.py", *([folder / "fleet.py"] if package == "paddle" else [])]
        while todo:
            path = todo.pop()
            if path in found or path.name == "overrides.py":
                continue
            found.append(path)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                of_target = f"crosscast_{package}.target."
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith(of_target):
                    todo.append(folder / f"{str(node.module).rpartition('.')[2]}.py")
    return found


@pytest.mark.parametrize("path", printing_modules(), ids=lambda path: path.stem)
def test_what_prints_does_not_know_the_recipe(path: Path) -> None:
    """Printing cannot reach a section of the step: it neither takes nor imports the recipe."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("crosscast.recipe")
        for alias in node.names
    }
    assert words & {"recipe", "Recipe", "canonical_plan"} == set()
    assert imported <= OF_THE_FRAME
