"""Compile a recipe: judge, lower, verify, render, without importing frameworks or writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from crosscast.emit.render import render
from crosscast.messages.diagnostics import Collector, Diagnostic, Severity
from crosscast.messages.output import OutputFile
from crosscast.plan.operations import Plan
from crosscast.plan.order import verify
from crosscast.recipe.document import BertModel, CrossEntropy, OpTypes, Precision, Recipe
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.targets import capability
from crosscast.targets.backend import (
    Backend,
    Form,
    Target,
    backend_names,
    find_target,
    load_backend,
)
from crosscast.targets.target_names import backend_meant


@dataclass(frozen=True, slots=True)
class Compiled:
    """One target's plan, files by relative path, and diagnostics."""

    target: Target
    plan: Plan
    files: dict[str, OutputFile]
    judgements: tuple[capability.Judgement, ...]
    diagnostics: tuple[Diagnostic, ...]


def compile_recipe(
    recipe: Recipe, targets: Sequence[str], *, form: Form = "script", strict: bool = False
) -> list[Compiled]:
    """Return the emitted files of every target.

    Args:
        recipe: The recipe.
        targets: Names of targets, see `crosscast.targets.backend.find_target`.
        form: `script` for a complete training script, `step` for only the training step.
        strict: Refuse fields that are not exact.

    Raises:
        DiagnosticError: Fields or overrides that a target cannot express, for all targets together.
    """
    collect = Collector()
    collect.diagnostics += check_override_names(recipe)
    if form == "step":
        collect.diagnostics += _beyond_a_step(recipe)
        recipe = of_program_model(recipe)
    judged = []
    for target in map(find_target, targets):
        judgements = tuple(capability.judge(recipe, target.rows))
        diagnostics = tuple(capability.diagnose(target.name, judgements))
        judged.append((target, judgements, diagnostics))
        for diagnostic in (*check_overrides(recipe, target.backend), *diagnostics):
            collect.add(diagnostic)
        if strict:
            _refuse_inexact(target, diagnostics, collect)
    collect.raise_errors()
    return [
        _compile_one(recipe, target, form, judgements, diagnostics)
        for target, judgements, diagnostics in judged
    ]


def _refuse_inexact(target: Target, diagnostics: Sequence[Diagnostic], collect: Collector) -> None:
    below = [d for d in diagnostics if d.severity is not Severity.ERROR]
    if below:
        codes = ", ".join(sorted({d.code for d in below}))
        collect.add(
            Diagnostic(
                code="CC301",
                message=f"{target.name}: not everything is exact ({codes})",
                hint="remove --strict, or see `crosscast explain`",
            )
        )


def _beyond_a_step(recipe: Recipe) -> list[Diagnostic]:
    """Return errors for fields about the model, the loss and the evaluation: a step has none."""
    loss = recipe.loss
    requested = (
        ("loss", "loss", loss != CrossEntropy(target=loss.target or "labels")),
        ("metrics", "evaluation", bool(recipe.metrics.custom)),
        ("tracking", "run", recipe.tracking.used),
        ("precision.ops", "model", sets_types(recipe)),
        ("activation_checkpointing", "model", recipe.activation_checkpointing),
    )
    return [
        Diagnostic(
            code="CC212",
            path=path,
            message=f"this is about the {part}, which a step does not contain",
            hint=f"remove it or --form step, and implement it in your {part}",
        )
        for path, part, is_set in requested
        if is_set
    ]


def sets_types(recipe: Recipe) -> bool:
    """Whether a recipe asks for other types than those of its policy, or another policy."""
    precision = recipe.precision
    policy = POLICIES[precision.policy]
    derived = precision.policy in (DEFAULT_POLICY, Precision().policy)
    return not derived or precision.ops.model_dump() != policy


def of_program_model(recipe: Recipe) -> Recipe:
    """Return the recipe without the types of the shipped BERT: a step is given its model."""
    types = {"policy": Precision().policy, "ops": OpTypes()}
    changes: dict[str, Any] = {"precision": recipe.precision.model_copy(update=types)}
    if isinstance(recipe.model, BertModel):
        changes["model"] = recipe.model.model_copy(update={"attention": "explicit"})
    return recipe.model_copy(update=changes)


def _compile_one(
    recipe: Recipe,
    target: Target,
    form: Form,
    judgements: tuple[capability.Judgement, ...],
    diagnostics: tuple[Diagnostic, ...],
) -> Compiled:
    backend = target.backend
    lowered = backend.lower(recipe, judgements, target.dialect, form)
    broken = verify(lowered.plan)
    if broken:  # a bug in the backend, not in the recipe
        raise AssertionError(f"{target.name}: {broken[0].code}: {broken[0].message}")
    files = {
        file.path: OutputFile(render(backend.templates, file.template, file.view), file.executable)
        for file in lowered.files
    }
    return Compiled(target, lowered.plan, files, judgements, diagnostics)


def check_override_names(recipe: Recipe) -> list[Diagnostic]:
    """Return a diagnostic for every override of a backend that is not installed."""
    names = backend_names() if recipe.overrides else []
    return [
        Diagnostic(
            code="CC106",
            path=f"overrides.{name}",
            message=f"no backend of that name; installed: {', '.join(names)}",
            hint=f"did you mean {near!r}?" if (near := backend_meant(name, names)) else "",
        )
        for name in recipe.overrides
        if name not in names
    ]


def check_all_overrides(recipe: Recipe) -> None:
    """Check the overrides of every backend that the recipe names.

    Raises:
        DiagnosticError: CC106 and CC208; CC107 if one of the backends does not load.
    """
    collect = Collector()
    collect.diagnostics += check_override_names(recipe)
    for name in recipe.overrides:
        if name in backend_names():
            collect.diagnostics += check_overrides(recipe, load_backend(name))
    collect.raise_errors()


def check_overrides(recipe: Recipe, backend: Backend) -> list[Diagnostic]:
    """Return the problems of one backend's overrides."""
    try:
        backend.overrides.model_validate(recipe.overrides.get(backend.name, {}))
    except ValidationError as error:
        known = list(backend.overrides.model_fields)
        return [
            Diagnostic(
                code="CC208",
                path=f"overrides.{backend.name}.{'.'.join(map(str, detail['loc']))}",
                message=detail["msg"],
                hint=f"known: {', '.join(known)}",
            )
            for detail in error.errors(include_url=False)
        ]
    return []
