"""Plan and Frame to a static graph that paddle.distributed.fleet builds: AMP and gradient merge."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
from crosscast.emit.lowering import clip_constants, divisor, shared_view
from crosscast.emit.render import py_literal
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.targets.backend import Dialect, File, Form, version_view
from crosscast_paddle.adaptations import PaddleAdaptation
from crosscast_paddle.modes import modes
from crosscast_paddle.overrides import PaddleOverrides

STATIC = "static"
"""Feature of a dialect whose script is a static graph."""
FLEET = Dialect(
    name="fleet",
    title="Paddle 2.6, static graphs by fleet",
    oldest="2.6",
    until="3.0",
    requirements=(
        "# On a GPU install paddlepaddle-gpu of the same version instead, as Paddle's guide says.",
        "paddlepaddle>=2.6,<3  # fleet's static graphs do not build with Paddle 3",
        "protobuf<7  # fleet's DistributedStrategy reads what 7 took away",
        "numpy>=1.22,<2  # what Paddle 2.6 was built for",
        "safetensors>=0.6",
    ),
    features=frozenset({STATIC}),
)
# Everything in the graph of the shipped BERT but matmul_v2 that AMP could compute in half.
FLOAT32_OPS = (
    "cast",
    "dropout",
    "elementwise_add",
    "elementwise_div",
    "elementwise_mul",
    "flatten_contiguous_range",
    "gelu",
    "layer_norm",
    "lookup_table_v2",
    "reduce_sum",
    "reshape2",
    "scale",
    "slice",
    "softmax",
    "softmax_with_cross_entropy",
    "tanh",
    "transpose2",
    "unsqueeze2",
)
_ENDINGS = {
    "bias": (".bias",),
    "layer_norm": (".LayerNorm.weight", ".LayerNorm.bias"),
    "embedding": ("_embeddings.weight",),
}
_TEMPLATES = {
    "train.py": "paddle/fleet/train.py.j2",
    "model.py": "paddle/fleet/model.py.j2",
    "launch.sh": "paddle/launch.sh.j2",
    "requirements.txt": "paddle/requirements.txt.j2",
}


def files(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> tuple[File, ...]:
    """Return the files of a static graph.

    Raises:
        DiagnosticError: CC386 for the form `step`: the step is part of a program.
    """
    if form == "step":
        raise DiagnosticError(
            Diagnostic(
                code="CC386",
                message=f"paddle@{dialect.name}: the step is part of a program, not a function",
                hint="leave --form step out",
            )
        )
    # The plain model, which the rows insist on, is that of dynamic graphs.
    view = modes(plan, frame, PaddleOverrides(), form)
    view |= shared_view(plan, frame, dialect.title, form)
    view["versions"] = version_view(dialect.title, dialect.oldest, dialect.until)
    clip, has = plan.get(ops.Clip), plan.adapted.__contains__
    mixed, own_clip = has(PaddleAdaptation.AMP), has(PaddleAdaptation.OWN_CLIP)
    view |= {
        "recompute": False,
        "length": "paddle.shape(input_ids)[1]",  # known only when the program runs
        "forks": mixed,
        "launch_flags": (),
        "no_gpus": "",
        "log_dir": "",
        "requirements": dialect.requirements,
        "output": f"runs/{frame.name}-paddle-{dialect.name}",
        "reseed": "paddle.seed(SETTINGS.seed + state.windows)" if view["has_dropout"] else "",
        "half": mixed,
        "float32_ops": FLOAT32_OPS,
        "merges": has(PaddleAdaptation.MERGE),
        "divisor": divisor(plan.get(ops.Normalize), distributed=False),
        "clip": clip.mode,
        "clipped_norm": "norm + CLIP_EPS" if own_clip else "norm",
        "clip_constants": clip_constants(plan, with_eps=own_clip),
        "optimizer": _optimizer(plan.get(ops.Step)),
        **_scaling(plan),
    }
    view["betas"] = "BETAS" if view["optimizer"]["counts_steps"] else ""
    view["math"] = view["schedule"]["math"] or predicates.scaled(plan)
    names = ("named_parameters", *(("restore_scale",) if view["machine"] else ()), "variable")
    view["state_names"] = ", ".join((*names, "write"))
    view["checked_half"] = predicates.half_type(plan) if view["requires_amp"] else ""
    if view["merges"]:
        view["accumulation_code"] = "ACCUMULATION_STEPS"
    view["settings"] = settings_lines(view)
    return _files(frame, view)


def _scaling(plan: ops.Plan) -> dict[str, Any]:
    machine = PaddleAdaptation.LOSS_SCALE in plan.adapted
    constant = PaddleAdaptation.CONSTANT_SCALE in plan.adapted
    return {
        "machine": machine,
        "scaling_code": "CC342" if constant else "CC340",
        "scaling_owner": "the scale is constant"
        if constant
        else "LossScale decides about the scale",
        "first_scale": "LOSS_SCALE" if constant else "INIT_SCALE",
    }


def _optimizer(step: ops.Step) -> dict[str, Any]:
    """Return class, constants and arguments of an optimizer that the rows accept."""
    view: dict[str, Any] = {"decays": False, "counts_steps": False}
    constants: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    if step.optimizer == "sgd":
        view["cls"] = "Momentum" if step.momentum else "SGD"
        if step.momentum:
            constants = (f"MOMENTUM = {py_literal(step.momentum)}",)
            nesterov = ("use_nesterov=True",) if step.nesterov else ()
            arguments = ("momentum=MOMENTUM", *nesterov)
    else:
        view["cls"] = "AdamW" if step.optimizer == "adamw" else "Adam"
        constants = (
            f"BETAS = {py_literal(step.betas)}",
            f"EPS = {py_literal(step.eps)}",
        )
        arguments = ("beta1=BETAS[0]", "beta2=BETAS[1]", "epsilon=EPS")
        view["counts_steps"] = True
    decoupled = step.optimizer == "adamw"
    if step.weight_decay or decoupled:  # AdamW's own default is not 0
        constants = (*constants, f"WEIGHT_DECAY = {py_literal(step.weight_decay)}")
        arguments = (*arguments, "weight_decay=WEIGHT_DECAY")
    if decoupled and step.weight_decay and step.no_decay:
        endings = [end for role in step.no_decay for end in _ENDINGS[role]]
        constants = (*constants, f"NO_DECAY = {py_literal(tuple(dict.fromkeys(endings)))}")
        view["decays"] = True
        arguments = (*arguments, "apply_decay_param_fun=decaying.__contains__")
    kind = "Decoupled" if decoupled else "Coupled (L2)"
    where = "but for what has none" if view["decays"] else "on every parameter"
    decay = f"{kind} weight decay {where}." if step.weight_decay else "No weight decay."
    doc = f"{view['cls']}. {decay}"
    return view | {"constants": constants, "arguments": arguments, "doc": doc}


def _files(frame: Frame, view: dict[str, Any]) -> tuple[File, ...]:
    wrapped = {"view": view}
    files = (
        File(path=path, template=template, view=wrapped, executable=path == "launch.sh")
        for path, template in _TEMPLATES.items()
    )
    spelling = {"recomputes_on_cpu": True, "flags": False}
    runtime = runtime_files({"device": "paddle", "state": "paddle/fleet"}, spelling)
    return (*files, *runtime, *job_files(frame, view))
