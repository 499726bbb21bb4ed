"""Plan and Frame to PyTorch: the view that its templates print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files, start_view
from crosscast.emit.loss import loss_view
from crosscast.emit.lowering import divisor
from crosscast.emit.runtime import RunView, runtime_files, settings_lines
from crosscast.emit.tracking import tracking_view
from crosscast.emit.view import (
    metrics_view,
    model_view,
    rows_view,
    schedule_view,
    script_header,
    step_view,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.recipe.document import BertModel
from crosscast.targets.backend import Dialect, File, Form
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.api import spelling
from crosscast_torch.target.clip import clip_view
from crosscast_torch.target.launcher import launcher
from crosscast_torch.target.optimizer import optimizer_view, weights_view, with_optimizer
from crosscast_torch.target.overrides import TorchOverrides
from crosscast_torch.target.scaler import scaler_view, torch_scaling
from crosscast_torch.target.types import types_view
from crosscast_torch.target.view import TorchView
from crosscast_torch.target.window import WindowCode, rate_lines, window_code


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files for an API generation of PyTorch.

    Raises:
        DiagnosticError: CC208 for an override that the dialect does not know, CC212 for one about
            the model that a step is given.
    """
    view = _view(plan, frame, with_optimizer(plan, dialect), form)
    code = window_code(templates, plan, view)
    if form == "script":
        return tuple(_script(frame, view, code))
    view = replace(view, header=(*view.header, *_usage(view)))
    context = {"view": view, "code": code}
    return (File(path="step.py", template="torch/step.py.j2", view=context),)


def _view(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> TorchView:
    overrides = _overrides(frame, dialect, form)
    has, spelled = plan.adapted.__contains__, spelling(dialect)
    step, model, schedule = step_view(plan, frame), model_view(frame, "torch"), schedule_view(plan)
    optimizer = optimizer_view(plan, overrides, dialect.features)
    rows = rows_view(frame)
    weights = weights_view(plan)
    tracking = tracking_view(frame, "torch.utils.tensorboard")
    run = RunView(
        made_for=dialect.title,
        since=dialect.since,
        until=dialect.until,
        output=f"runs/{frame.name}-torch",
        half=predicates.half_type(plan) if has(TorchAdaptation.GPU_ONLY) else "",
    )
    return TorchView(
        header=script_header(frame, dialect.title, form),
        form=form,
        step=step,
        loss=loss_view(plan, frame, "torch"),
        metrics=metrics_view(frame, "torch"),
        schedule=schedule,
        scaling=torch_scaling(plan),
        model=model,
        rows=rows,
        launch=start_view(frame),
        settings=settings_lines(plan, frame, run) if form == "script" else (),
        reseed=_reseed(distributed=step.distributed) if model.has_dropout else "",
        requirements=dialect.requirements + rows.library + tracking.packages,
        tracking=tracking,
        spelling=spelled,
        types=types_view(plan, frame, spelled, form),
        weights=weights,
        optimizer=optimizer,
        clip=clip_view(plan, weights, dialect.features),
        scaler=scaler_view(plan),
        averages=has(TorchAdaptation.OWN_AVERAGE),
        divisor=divisor(plan.get(ops.Normalize), step.distributed),
        rate_lines=rate_lines(optimizer, step.rate, constant=schedule.constant),
        compile=overrides.compile,
        recomputes=frame.recomputes,
        launcher=launcher(frame, dialect),
    )


def _overrides(frame: Frame, dialect: Dialect, form: Form) -> TorchOverrides:
    overrides = TorchOverrides.model_validate(frame.overrides.get("torch", {}))
    if not overrides.compile:
        return overrides
    if "compile" not in dialect.features:
        message = f"{dialect.title} is not compiled"
        raise _not_compiled("CC208", message, "leave it out, or emit for PyTorch 2.4 or newer")
    if form == "step":
        message = "this is about the model, which a step does not contain"
        raise _not_compiled("CC212", message, "leave it out and call model.compile() yourself")
    return overrides


def _not_compiled(code: str, message: str, hint: str) -> DiagnosticError:
    path = "overrides.torch.compile"
    return DiagnosticError(Diagnostic(code=code, path=path, message=message, hint=hint))


def _reseed(*, distributed: bool) -> str:
    rank = " * PROCESSES + run.rank" if distributed else ""
    return f"torch.manual_seed(SETTINGS.seed + state.windows{rank})"


def _usage(view: TorchView) -> tuple[str, ...]:
    """Return how the step is used, for the docstring of step.py."""
    step, masters = view.step, view.weights.masters
    device = "device" if view.spelling.device_amp else ""
    scaler = f", make_scaler({device})" if view.scaler else ""
    weights = ", and `weights(model)` in float32" if masters else ""
    wrap = ("    model = torch.nn.parallel.DistributedDataParallel(model)",)
    shared = (
        "    torch.distributed.init_process_group()  # make_optimizer sends the weights of rank 0",
        "    model.to(device)",
    )
    end = (
        "    state.model = model = model.module  # or the end of the group may hang",
        "    torch.distributed.destroy_process_group()",
    )
    return (
        "",
        "Use it in a training loop of your own:",
        "",
        *(shared if step.distributed and masters else ()),
        "    optimizer = make_optimizer(model)",
        *(wrap if step.distributed else ()),
        f"    state = TrainState(model, optimizer, device{scaler})",
        "    row = train_window(state, micro_batches, loss_fn)",
        *(end if step.distributed else ()),
        "",
        "`micro_batches` are dicts of arrays or tensors, `labels` among them; `loss_fn(model,",
        f"batch)` returns the {step.reduction} of their rows' losses. A checkpoint holds model,",
        f"optimizer and everything else in `state`{weights}.",
    )


def _script(frame: Frame, view: TorchView, code: WindowCode) -> Iterator[File]:
    context = {"view": view, "code": code}

    def file(path: str, *, executable: bool = False) -> File:
        return File(path=path, template=f"torch/{path}.j2", view=context, executable=executable)

    yield file("train.py")
    if isinstance(frame.model, BertModel):
        yield file("model.py")
    modules = dict.fromkeys(("device", "loader", "state"), "torch") | {"workers": "_shared"}
    yield from runtime_files(modules, view.spelling)
    yield file("launch.sh", executable=True)
    yield file("requirements.txt")
    yield from job_files(frame, context)
