"""Rows for static programs with a note, a way out, or arguments that must be looked at.

The others are in `rows.txt`.
"""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.helpers import (
    OPTIMIZERS,
    names_of,
    operations,
)
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.module import Module

TIES = (
    "where several elements are the largest or smallest, they share its gradient, which each of "
    "them got whole in Paddle 1"
)
AT_ZERO = (
    "at a logit of exactly 0 the gradient of sigmoid_cross_entropy_with_logits is too small by 1 "
    "in Paddle 3; its layer must not start with zeros"
)
BELOW_ZERO = "whole quotients and remainders round down below zero; Paddle 1 rounded toward zero"
EPSILON = (
    "Adam adds epsilon after the correction of the second moment, Paddle 1 before it: where "
    "gradients are about as small as epsilon, steps are larger now"
)
_NOTES = {
    "fluid_reduce_max": TIES,
    "fluid_reduce_min": TIES,
    "fluid_elementwise_floordiv": BELOW_ZERO,
    "fluid_elementwise_mod": BELOW_ZERO,
}
_FLEET = (
    "Paddle 3 has no transpiler and no parameter servers in this form; start the processes with "
    "paddle.distributed.launch and use paddle.distributed.fleet"
)
_FILES = "checkpoints keep one file per variable, and files of Paddle 1 can be read"
_MODELS = "an inference model is saved as NAME.pdmodel and NAME.pdiparams"
_LOD = (
    "rows of different lengths (LoD levels) have no counterpart; pad the rows and give their "
    "lengths as a mask"
)
_SEED = "initializers take no seed of their own; that of the program counts"
_SEEDED = {"seed": ("*",)}
_DIAGONAL = {"diag_num": ("0",), "diag_step": ("0",), "diag_val": ("1.0", "1")}
_AMP = "adam skips an overflow, where it made a step with zero gradients before Paddle 2"


def _plain_rate(module: Module, call: ast.Call) -> list[Edit]:
    """Refuse a learning rate that may be a variable of the graph, or is not a float."""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "learning_rate")]
    for value in given:
        if not (isinstance(value, ast.Constant) and isinstance(value.value, float)):
            raise CannotError(value, "the learning rate may be a variable of the graph")
    return []


def _helped(old: str, helper: str, note: str) -> NameRow:
    return NameRow(old=(old,), mode="static", helper=helper, note=note)


ROWS = (
    *(
        _helped(f"layers.{name.removeprefix('fluid_')}", name, _NOTES.get(name, ""))
        for name in operations()
        if name != "fluid_op"
    ),
    _helped(
        "layers.sigmoid_cross_entropy_with_logits",
        "fluid_sigmoid_cross_entropy_with_logits",
        AT_ZERO,
    ),
    *(
        NameRow(old=(f"io.{name}",), mode="static", new=f"paddle.static.{name}", note=_FILES)
        for name in ("save_vars", "load_vars")
    ),
    *(
        _helped(f"io.{name}", f"fluid_{name}", _FILES)
        for name in ("save_persistables", "load_persistables", "save_params", "load_params")
    ),
    *(
        _helped(f"io.{name}", f"fluid_{name}", _MODELS)
        for name in ("save_inference_model", "load_inference_model")
    ),
    _helped(
        "layers.py_reader",
        "fluid_py_reader",
        "at the end of each pass of its reader, Paddle 1 counted one more step for the "
        "learning rates in the graph",
    ),
    _helped(
        "ExecutionStrategy",
        "fluid_ExecutionStrategy",
        "the options of ExecutionStrategy have no effect in Paddle 3",
    ),
    _helped(
        "ParallelExecutor",
        "fluid_ParallelExecutor",
        "ParallelExecutor trains on one device; for several start one process each with "
        "paddle.distributed.launch and use paddle.distributed.fleet",
    ),
    NameRow(
        old=("initializer.Uniform",),
        mode="static",
        new="paddle.nn.initializer.Uniform",
        order="low high seed diag_num diag_step diag_val",
        new_order="low high",
        dropped=_SEEDED | _DIAGONAL,
        note=_SEED,
    ),
    *(
        NameRow(
            old=(f"initializer.{kind}",),
            mode="static",
            new=f"paddle.nn.initializer.{kind}",
            order="loc scale seed",
            new_order="loc scale",
            renamed={"loc": "mean", "scale": "std"},
            dropped=_SEEDED,
            note=_SEED,
        )
        for kind in ("Normal", "TruncatedNormal")
    ),
    *(
        NameRow(
            old=(f"optimizer.{kind}",),
            mode="static",
            new=f"paddle.optimizer.{kind}",
            helper=f"fluid_{kind}",
            order=" ".join(names_of(parameters)),
            renamed={"regularization": "weight_decay", "parameter_list": "parameters"},
            rewrite=_plain_rate,
            note=EPSILON if kind == "Adam" else "",
        )
        for kind, parameters in OPTIMIZERS.items()
    ),
    NameRow(
        old=("optimizer.Adadelta",),
        mode="static",
        refused="Adadelta of Paddle 3 multiplies by the learning rate and makes other steps; use "
        "paddle.optimizer.Adadelta with a learning rate that you tried",
    ),
    NameRow(
        old=("contrib.mixed_precision.decorate", "contrib.mixed_precision.decorator.decorate"),
        mode="static",
        new="paddle.static.amp.decorate",
        order="optimizer amp_lists init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf "
        "incr_ratio decr_ratio use_dynamic_loss_scaling",
        new_order="optimizer amp_lists",
        dropped={"use_pure_fp16": ("False",), "use_fp16_guard": ("None", "False")},
        written={
            "level": '"O1"',
            "dtype": '"float16"',
            "init_loss_scaling": "2.0**15",
            "incr_every_n_steps": "1000",
            "decr_every_n_nan_or_inf": "2",
            "incr_ratio": "2.0",
            "decr_ratio": "0.8",
            "use_dynamic_loss_scaling": "True",
        },
        note=_AMP,
    ),
    NameRow(
        old=("layers.case", "layers.switch_case"),
        mode="static",
        refused="paddle.static.nn.case does not work in graphs with names; nest fluid.layers.cond "
        "before the migration",
    ),
    NameRow(
        old=("DistributeTranspiler", "DistributeTranspilerConfig", "transpiler"),
        mode="static",
        refused=_FLEET,
    ),
    NameRow(
        old=("optimizer.ModelAverage",),
        mode="static",
        refused="averages of weights do not work in graphs with names; assign them in the program",
    ),
    NameRow(
        old=("contrib.memory_usage",),
        mode="static",
        refused="the estimate of memory was removed; read paddle.device.cuda.max_memory_allocated",
    ),
    NameRow(
        old=("profiler",),
        mode="static",
        refused="the profiler has another interface; use paddle.profiler.Profiler",
    ),
    NameRow(
        old=("core.NCCL2", "core.globals", "core.Tracer"),
        mode="static",
        refused="it is internal to Paddle 1; remove what needs it",
    ),
    NameRow(
        old=(
            *("layers.sequence_pad", "layers.sequence_unpad", "layers.sequence_concat"),
            *("layers.sequence_expand_as", "layers.sequence_reshape", "layers.sequence_slice"),
            *("layers.sequence_enumerate", "layers.sequence_reverse", "layers.sequence_scatter"),
            *("layers.lod_reset", "layers.lod_append", "layers.dynamic_lstm", "layers.dynamic_gru"),
            *("layers.dynamic_lstmp", "layers.DynamicRNN", "layers.linear_chain_crf"),
            *("layers.crf_decoding", "layers.chunk_eval", "layers.edit_distance"),
            *("layers.ctc_greedy_decoder", "layers.beam_search", "layers.beam_search_decode"),
            "layers.sequence_erase",
        ),
        mode="static",
        refused=_LOD,
    ),
)
