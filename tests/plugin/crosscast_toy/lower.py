"""Plan and Frame to toygrad: the view that the templates print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
from crosscast.emit.lowering import clip_constants, divisor, factory_import, print_ops, shared_view
from crosscast.emit.render import py_literal
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.plan import operations as ops
from crosscast.targets.backend import Dialect, File, Form, version_view
from crosscast_toy.overrides import ToyOverrides


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files of a plan."""
    overrides = ToyOverrides.model_validate(frame.overrides.get("toy", {}))
    view = shared_view(plan, frame, dialect.title, form)
    view |= {
        "versions": version_view(dialect.title, "1.0"),
        "requirements": dialect.requirements,
        "output": f"runs/{frame.name}-toy",
        "factory_import": factory_import(frame, "toy"),
        "strict": overrides.strict,
        "constants": _constants(plan),
        "no_decay": sorted(plan.get(ops.Step).no_decay),
    }

    def printed(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "toy/ops", part, _values, by)

    view["micro_code"], view["window_code"] = printed(plan.micro, 8), printed(plan.window, 4)
    return _files(frame, view, form)


def _constants(plan: ops.Plan) -> tuple[str, ...]:
    step = plan.get(ops.Step)
    return (
        f"WEIGHT_DECAY = {py_literal(step.weight_decay)}",
        f"BETAS = {py_literal(step.betas)}",
        f"EPS = {py_literal(step.eps)}",
        *clip_constants(plan, with_eps=True),
    )


def _values(op: ops.Op) -> dict[str, Any]:
    """Return what the template of an operation sees."""
    match op:
        case ops.Normalize():
            return {"divisor": divisor(op, distributed=False)}
        case ops.Clip():
            return {"eps": "CLIP_EPS" if op.eps else "0.0"}
    return {}


def _files(frame: Frame, view: dict[str, Any], form: Form) -> tuple[File, ...]:
    def file(path: str, **more: Any) -> File:
        return File(path=path, template=f"toy/{path}.j2", view={"view": view}, **more)

    if form == "step":
        return (file("step.py"),)
    view["settings"] = settings_lines(view)
    return (
        file("train.py"),
        *((file("model.py"),) if view["bert"] else ()),
        *runtime_files(dict.fromkeys(("device", "state"), "toy"), {}),
        file("launch.sh", executable=True),
        file("requirements.txt"),
        *job_files(frame, view),
    )
