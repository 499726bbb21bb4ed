"""Recipe to toygrad: the canonical Plan and the view that the templates print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crosscast.emit.launching import job_files
from crosscast.emit.lowering import clip_constants, divisor, factory_import, print_ops, shared_view
from crosscast.emit.render import py_literal
from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import AdamW, Recipe
from crosscast.targets.backend import Dialect, File, Form, Lowered, version_view
from crosscast_toy.overrides import ToyOverrides


def lower(recipe: Recipe, dialect: Dialect, templates: Path, form: Form) -> Lowered:
    """Return plan and files."""
    plan = canonical_plan(recipe)
    overrides = ToyOverrides.model_validate(recipe.overrides.get("toy", {}))
    view = shared_view(recipe, plan, dialect.title, form)
    view |= {
        "versions": version_view("toygrad", dialect.title, "1.0"),
        "requirements": dialect.requirements,
        "output": f"runs/{recipe.name}-toy",
        "factory_import": "" if view["bert"] else factory_import(recipe, "toy"),
        "strict": overrides.strict,
        "state_arguments": "",
        "constants": _constants(recipe, plan),
        "no_decay": sorted(recipe.optimizer.no_decay),
    }

    def printed(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "toy/ops", part, _values, by)

    view["micro_code"], view["window_code"] = printed(plan.micro, 8), printed(plan.window, 4)
    return Lowered(plan=plan, files=_files(recipe, view, form))


def _constants(recipe: Recipe, plan: ops.Plan) -> tuple[str, ...]:
    optimizer, normalize = recipe.optimizer, plan.find(ops.Normalize)
    assert isinstance(optimizer, AdamW)  # the rows accept no other
    assert normalize is not None
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    return (
        f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}",
        f"BETAS = {py_literal(optimizer.betas)}",
        f"EPS = {py_literal(optimizer.eps)}",
        *clip_constants(recipe, with_eps=True),
        *full,
    )


def _values(op: ops.Op) -> dict[str, Any]:
    """Return what the template of an operation sees."""
    match op:
        case ops.Normalize():
            return {"divisor": divisor(op, distributed=False)}
        case ops.Clip():
            return {"eps": "CLIP_EPS" if op.eps else "0.0"}
    return {}


def _files(recipe: Recipe, view: dict[str, Any], form: Form) -> tuple[File, ...]:
    def file(path: str, **more: Any) -> File:
        return File(path=path, template=f"toy/{path}.j2", view={"view": view}, **more)

    if form == "step":
        return (file("step.py"),)
    model = (file("model.py"),) if view["bert"] else ()
    launch = file("launch.sh", executable=True)
    return (file("train.py"), *model, launch, file("requirements.txt"), *job_files(recipe, view))
