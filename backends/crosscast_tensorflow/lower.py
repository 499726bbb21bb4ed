"""Plan and Frame to TensorFlow: the view that its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
from crosscast.emit.lowering import clip_constants, divisor, factory_import, print_ops, shared_view
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.targets.backend import Dialect, File, Form, version_view
from crosscast_tensorflow.adaptations import TensorflowAdaptation
from crosscast_tensorflow.keras import decorator, spelling
from crosscast_tensorflow.literals import group_lines
from crosscast_tensorflow.optimizer import optimizer_view, role_names
from crosscast_tensorflow.overrides import TensorflowOverrides
from crosscast_tensorflow.parallel import parallel_advice, parallel_view, start_view
from crosscast_tensorflow.precision import op_types, policy, types_view

LOSS_SCALE = TensorflowAdaptation.LOSS_SCALE
_OWN_SEED = "state.model, SETTINGS.seed, state.windows"
"""What the dropout of a model of the user's own depends on, besides the process."""
_HOST = (ops.Schedule, ops.UpdateScale)
"""What Python does after the compiled part of a window: it counts, and reads no gradients."""


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files for a generation of Keras."""
    overrides = TensorflowOverrides.model_validate(frame.overrides.get("tensorflow", {}))
    view = shared_view(plan, frame, dialect.title, form)
    # Keras 2 also comes as tf_keras beside a newer TensorFlow: select_device looks at Keras itself.
    since = dialect.since or dialect.oldest
    view["versions"] = version_view(dialect.title, since)
    view |= spelling(dialect)
    view |= {
        "machine": LOSS_SCALE in plan.adapted,
        "rewrite": TensorflowAdaptation.GRAPH_REWRITE in plan.adapted,
        "ema": TensorflowAdaptation.OWN_AVERAGE in plan.adapted,
        "math": view["schedule"]["math"] or LOSS_SCALE in plan.adapted,
        "accumulation_code": "ACCUMULATION_STEPS",
        "policy": policy(plan, frame),
        "step_decorator": decorator(dialect, jit_compile=overrides.jit_compile),
        "optimizer": optimizer_view(plan),
        "factory_import": factory_import(frame, "tensorflow"),
        "inputs": "**inputs" if view["bert"] else "inputs",
        "output": f"runs/{frame.name}-tensorflow",
        # The shipped BERT draws from one seed; layers of Keras 2 have none that could be set.
        "reseed": (
            _reseed(view) if view["has_dropout"] and (view["keras3"] or view["bert"]) else ""
        ),
        "state_names": _state_names(plan, view),
    }
    view |= _types(plan, frame) | _constants(plan)
    if form == "step":
        view["header"] = (*view["header"], *_advice(view))
    view["checked_half"] = predicates.half_type(plan) if view["rewrite"] else ""
    view |= parallel_view(view) | start_view(plan, frame, view)
    view |= _code(plan, templates, view)
    return _files(frame, view, form)


def _reseed(view: Mapping[str, Any]) -> str:
    rank = ", run.rank" if view["distributed"] else ""
    return f"reseed(state{rank})" if view["bert"] else f"reseed({_OWN_SEED}{rank})"


def _state_names(plan: ops.Plan, view: Mapping[str, Any]) -> str:
    """Return what train.py imports of `runtime.state`."""
    names = {
        "check_model": not view["bert"],
        "named_parameters": TensorflowAdaptation.GROUPS in plan.adapted,
        "reseed": not view["bert"] and view["keras3"],
    }
    return ", ".join(name for name, used in names.items() if used)


def _advice(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the head of a step asks of the program around it."""
    policy = f'Call {view["set_policy"]}("{view["policy"]}") before you build the model.'
    rewrite = "Call tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite before, too."
    return (policy, *((rewrite,) if view["rewrite"] else ()), *parallel_advice(view))


def _types(plan: ops.Plan, frame: Frame) -> dict[str, Any]:
    """Return what depends on the types of weights, gradients and operations."""
    full = TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted
    half_sums = predicates.half_sums(plan)
    half, several = predicates.half_type(plan), predicates.processes(plan) > 1
    # What a strategy reduces has to stand on a device, which a read of a variable does not.
    read = "tf.identity(total)" if several else "total.value()"
    read_sums = f"tf.cast({read}, tf.float32)"
    half_loss = bool(half) and op_types(plan, frame).losses == "compute"
    return {
        "types": types_view(plan, frame),
        "recompute": TensorflowAdaptation.RECOMPUTATION in plan.adapted,
        "half_loss": half_loss,
        "loss_dtype": half if half_loss else "float32",
        "half_sums": half_sums,
        "sum_value": read_sums if half_sums else read,
        "sum_type": "the types of the weights" if half_sums else "float32",
        "weights": "optimizer.variables" if full else "model.trainable_variables",
    }


def _constants(plan: ops.Plan) -> dict[str, Any]:
    """Return what the head of the file names, and the divisor of the loss."""
    clip, groups = plan.get(ops.Clip), plan.get(ops.Step).groups
    several = predicates.processes(plan) > 1
    by = divisor(plan.get(ops.Normalize), several)
    return {
        "clip_constants": clip_constants(plan, with_eps=True),
        "group_lines": group_lines(
            tuple((g.parameters, g.rate_factor, g.weight_decay) for g in groups)
        ),
        "fnmatch": TensorflowAdaptation.GROUPS in plan.adapted,
        "exempt": role_names(clip.exempt),
        "exempt_by_name": TensorflowAdaptation.CLIPS_BY_NAME in plan.adapted,
        "divisor": by[1:-1] if several else by,  # without brackets
    }


def _code(plan: ops.Plan, templates: Path, view: Mapping[str, Any]) -> dict[str, str]:
    """Print the operations: recorded by the tape or not, compiled for the window or not."""

    def text(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(
            templates, "tensorflow/ops", part, lambda op: _values(op, plan.adapted, view), by
        )

    taped = next(i for i, op in enumerate(plan.micro) if isinstance(op, ops.Backward))
    host = tuple(op for op in plan.window if isinstance(op, _HOST))
    own_reduction = TensorflowAdaptation.OWN_REDUCTION in plan.adapted
    reduce = tuple(op for op in plan.window if own_reduction and isinstance(op, ops.AllReduce))
    graph = tuple(op for op in plan.window if not isinstance(op, (*_HOST, ops.AllReduce)))
    return {
        "tape_code": text(plan.micro[:taped], 8),
        "micro_code": text(plan.micro[taped:], 4),
        "reduce_code": text(reduce, 4),
        "graph_code": text(graph, 4),
        "host_code": text(host, 4),
    }


def _values(op: ops.Op, adapted: frozenset[str], view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of one operation prints."""
    scaled = view["scaled"]
    match op:
        case ops.Autocast():
            return {"dtype": op.compute_dtype, "rewrite": view["rewrite"]}
        case ops.Accumulate():
            return {
                "several": TensorflowAdaptation.OWN_SUMS in adapted,
                "half": view["optimizer"]["full"],
                "dtype": op.dtype,
            }
        case ops.Backward():
            return {"loss": "scaled_loss" if scaled else "loss"}
        case ops.Clip():
            own = TensorflowAdaptation.OWN_CLIP in adapted or op.mode == "value"
            mode, exempt = (op.mode, bool(op.exempt)) if own else ("none", False)
            return {"mode": mode, "eps": op.eps, "exempt": exempt}
        case ops.Step():
            keras2 = not (view["keras3"] or view["optimizer"]["own"])
            return {"scaled": scaled, "apply": "keras2" if keras2 else "apply"}
        case ops.Ema():
            return {"scaled": scaled, "weights": f"state.{view['weights']}"}
        case ops.Schedule():
            return {"scaled": scaled}
        case ops.UpdateScale():
            static = TensorflowAdaptation.CONSTANT_SCALE in adapted
            return {"dynamic": LOSS_SCALE in adapted, "static": static, "keras3": view["keras3"]}
        case _:
            return {}


def _files(frame: Frame, view: dict[str, Any], form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        return (File(path="step.py", template="tensorflow/step.py.j2", view=wrapped),)
    view["settings"] = settings_lines(view)
    spelling = {name: view[name] for name in ("keras3", "name_of", "rewrites")}
    modules = ("device", "state", *(("processes",) if view["distributed"] else ()))
    names = ["train.py", "launch.sh", "requirements.txt"]
    if view["bert"]:
        names.insert(1, "model.py")
    files = (
        File(path=n, template=f"tensorflow/{n}.j2", view=wrapped, executable=n == "launch.sh")
        for n in names
    )
    runtime = runtime_files(dict.fromkeys(modules, "tensorflow"), spelling)
    return (*files, *runtime, *job_files(frame, view))
