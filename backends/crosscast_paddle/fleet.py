"""Recipe to a static graph that paddle.distributed.fleet builds: AMP and gradient merge."""

from __future__ import annotations

from typing import Any

from crosscast.emit.launching import job_files
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.emit.lowering import clip_constants, divisor, shared_view
from crosscast.emit.render import py_literal
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan, scale_before_schedule
from crosscast.recipe.document import Adam, AdamW, DynamicLossScaling, Recipe, Sgd
from crosscast.targets.backend import Dialect, File, Form, Lowered, version_view
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


def lower(recipe: Recipe, dialect: Dialect, form: Form) -> Lowered:
    """Return plan and files of a recipe as a static graph.

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
    # An overflow shows in a counter that the update of the scale changes.
    plan = scale_before_schedule(canonical_plan(recipe))
    # The plain model, which the rows insist on, is that of dynamic graphs.
    view = modes(recipe, PaddleOverrides(), form)
    view |= shared_view(recipe, plan, dialect.title, form)
    view["versions"] = version_view(dialect.title, dialect.oldest, dialect.until)
    normalize, clip = plan.find(ops.Normalize), plan.find(ops.Clip)
    assert normalize is not None  # every canonical plan has both
    assert clip is not None
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    view |= {
        "recompute": False,
        "length": "paddle.shape(input_ids)[1]",  # known only when the program runs
        "forks": recipe.precision.mode == "mixed",
        "launch_flags": (),
        "no_gpus": "",
        "log_dir": "",
        "requirements": dialect.requirements,
        "output": f"runs/{recipe.name}-paddle-{dialect.name}",
        "reseed": "paddle.seed(SETTINGS.seed + state.windows)" if view["has_dropout"] else "",
        "half": recipe.precision.mode == "mixed",
        "float32_ops": FLOAT32_OPS,
        "merges": recipe.accumulation.steps > 1,
        "divisor": divisor(normalize, distributed=False),
        "clip": clip.mode,
        "clipped_norm": "norm + CLIP_EPS" if clip.eps else "norm",
        "clip_constants": (*clip_constants(recipe, with_eps=True), *full),
        "optimizer": _optimizer(recipe.optimizer),
        **_scaling(recipe),
    }
    view["betas"] = "BETAS" if view["optimizer"]["counts_steps"] else ""
    view["math"] = view["schedule"]["math"] or recipe.scaling_on
    names = ("named_parameters", *(("restore_scale",) if view["machine"] else ()), "variable")
    view["state_names"] = ", ".join((*names, "write"))
    view["settings"] = settings_lines(view | {"half": recipe.half})
    return Lowered(plan=plan, files=_files(recipe, view))


def _scaling(recipe: Recipe) -> dict[str, Any]:
    machine = isinstance(recipe.loss_scaling, DynamicLossScaling)
    return {
        "machine": machine,
        "scaling_code": "CC340" if machine else "CC342",
        "scaling_owner": "LossScale decides about the scale"
        if machine
        else "the scale is constant",
        "first_scale": "INIT_SCALE" if machine else "LOSS_SCALE",
    }


def _optimizer(optimizer: Any) -> dict[str, Any]:
    """Return class, constants and arguments of an optimizer that the rows accept."""
    view: dict[str, Any] = {"decays": False, "counts_steps": False, "slots": ""}
    constants: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    if isinstance(optimizer, Sgd):
        view["cls"] = "Momentum" if optimizer.momentum else "SGD"
        if optimizer.momentum:
            constants = (f"MOMENTUM = {py_literal(optimizer.momentum)}",)
            nesterov = ("use_nesterov=True",) if optimizer.nesterov else ()
            arguments = ("momentum=MOMENTUM", *nesterov)
            view["slots"] = '{"momentum_buffer": "velocity_0"}'
    else:
        assert isinstance(optimizer, Adam | AdamW)
        view["cls"] = "AdamW" if isinstance(optimizer, AdamW) else "Adam"
        constants = (
            f"BETAS = {py_literal(optimizer.betas)}",
            f"EPS = {py_literal(optimizer.eps)}",
        )
        arguments = ("beta1=BETAS[0]", "beta2=BETAS[1]", "epsilon=EPS")
        view["slots"] = '{"exp_avg": "moment1_0", "exp_avg_sq": "moment2_0"}'
        view["counts_steps"] = True
    decoupled = isinstance(optimizer, AdamW)
    if optimizer.weight_decay or decoupled:  # AdamW's own default is not 0
        constants = (*constants, f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}")
        arguments = (*arguments, "weight_decay=WEIGHT_DECAY")
    if decoupled and optimizer.weight_decay and optimizer.no_decay:
        endings = [end for role in optimizer.no_decay for end in _ENDINGS[role]]
        constants = (*constants, f"NO_DECAY = {py_literal(tuple(dict.fromkeys(endings)))}")
        view["decays"] = True
        arguments = (*arguments, "apply_decay_param_fun=decaying.__contains__")
    kind = "Decoupled" if decoupled else "Coupled (L2)"
    where = "but for what has none" if view["decays"] else "on every parameter"
    decay = f"{kind} weight decay {where}." if optimizer.weight_decay else "No weight decay."
    doc = f"{view['cls']}. {decay}"
    return view | {"constants": constants, "arguments": arguments, "doc": doc}


def _files(recipe: Recipe, view: dict[str, Any]) -> tuple[File, ...]:
    wrapped = {"view": view}
    files = (
        File(path=path, template=template, view=wrapped, executable=path == "launch.sh")
        for path, template in _TEMPLATES.items()
    )
    spelling = {"recomputes_on_cpu": True, "flags": False}
    runtime = runtime_files({"device": "paddle", "state": "paddle/fleet"}, spelling)
    return (*files, *runtime, *job_files(recipe, view))
