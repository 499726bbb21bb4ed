"""Plan and Frame to toygrad: the view that the templates print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files, start_view
from crosscast.emit.loss import loss_view
from crosscast.emit.lowering import clip_constants, divisor, print_ops
from crosscast.emit.render import py_literal
from crosscast.emit.runtime import RunView, runtime_files, settings_lines
from crosscast.emit.view import (
    ScriptView,
    metrics_view,
    model_view,
    rows_view,
    scaling_view,
    schedule_view,
    script_header,
    step_view,
)
from crosscast.plan import operations as ops
from crosscast.recipe.document import BertModel
from crosscast.targets.backend import Dialect, File, Form
from crosscast_toy.overrides import ToyOverrides


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyView(ScriptView):
    """What the templates see."""

    seed: int
    strict: bool
    constants: tuple[str, ...]
    no_decay: tuple[str, ...]
    divisor: str
    clip_eps: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyCode:
    """The printed operations."""

    micro: str
    window: str


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files of a plan."""
    overrides = ToyOverrides.model_validate(frame.overrides.get("toy", {}))
    run = RunView(made_for=dialect.title, since="1.0", output=f"runs/{frame.name}-toy")
    rows = rows_view(frame)
    view = ToyView(
        header=script_header(frame, dialect.title, form),
        form=form,
        step=step_view(plan, frame),
        loss=loss_view(plan, frame, "toy"),
        metrics=metrics_view(frame, "toy"),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan),
        model=model_view(frame, "toy"),
        rows=rows,
        launch=start_view(frame),
        settings=settings_lines(plan, frame, run) if form == "script" else (),
        reseed="",
        requirements=dialect.requirements + rows.library,
        seed=frame.seed,
        strict=overrides.strict,
        constants=_constants(plan),
        no_decay=tuple(sorted(plan.get(ops.Step).no_decay)),
        divisor=divisor(plan.get(ops.Normalize), distributed=False),
        clip_eps="CLIP_EPS" if plan.get(ops.Clip).eps else "0.0",
    )
    code = ToyCode(
        micro=print_ops(templates, "toy/ops", plan.micro, view, 8),
        window=print_ops(templates, "toy/ops", plan.window, view, 4),
    )
    return _files(frame, {"view": view, "code": code}, form)


def _constants(plan: ops.Plan) -> tuple[str, ...]:
    step = plan.get(ops.Step)
    return (
        f"WEIGHT_DECAY = {py_literal(step.weight_decay)}",
        f"BETAS = {py_literal(step.betas)}",
        f"EPS = {py_literal(step.eps)}",
        *clip_constants(plan, with_eps=True),
    )


def _files(frame: Frame, context: Mapping[str, Any], form: Form) -> tuple[File, ...]:
    def file(path: str, **more: Any) -> File:
        return File(path=path, template=f"toy/{path}.j2", view=context, **more)

    if form == "step":
        return (file("step.py"),)
    return (
        file("train.py"),
        *((file("model.py"),) if isinstance(frame.model, BertModel) else ()),
        *runtime_files(dict.fromkeys(("device", "loader", "state"), "toy"), None),
        file("launch.sh", executable=True),
        file("requirements.txt"),
        *job_files(frame, context),
    )
