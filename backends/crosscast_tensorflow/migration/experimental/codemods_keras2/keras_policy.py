"""CM201: the experimental policies of Keras to the stable names, which exist in Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import indent

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at
from crosscast_reading.readers.python.library_calls import text_value, value_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits
from crosscast_tensorflow.migration.experimental.keras.experimental import Names, all_names
from crosscast_tensorflow.migration.experimental.keras.loss_scales import scale_of
from crosscast_tensorflow.migration.experimental.keras.obstacles import obstacles
from crosscast_tensorflow.migration.experimental.keras.policies import (
    Outcomes,
    layer_policies,
    policies,
    policy_argument,
)
from crosscast_tensorflow.migration.experimental.keras.policy_scales import (
    read_scales,
    scale_of_policy,
)
from crosscast_tensorflow.migration.experimental.keras.program import open_call

_PLAIN = ("float32", "float64", "bfloat16", "mixed_bfloat16", "float16")


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the whole program or nothing."""
    program = subject.program
    named = list(all_names(program.modules))
    layers = [edit for module in program.modules for edit in layer_policies(module, program)]
    if not named and not layers:
        return
    out = Outcomes()
    for names in named:
        out.refusals += names.refusals
        out.edits += names.edits
        policies(names, named, program, out)
        _scalers(names, out)
    read_scales(program, named, out)
    if not all(_unscaled(names) for names in named):
        out.refusals += obstacles(subject, program)
        out.notes.append("unless it is fixed, the loss scale has no minimum (Keras 2: 1)")
    if out.refusals:
        yield from out.refusals
        return
    edits = tuple(dict.fromkeys([*out.edits, *layers]))
    if not edits:
        return
    first = next((policy for policy in named if policy.first is not None), None)
    module = first.module if first is not None else program.modules[0]
    where = first.first if first is not None else None
    yield Change(
        span=module.span(where or ast.Pass(lineno=layers[0].line, col_offset=0)),
        message="the stable names of tf.keras.mixed_precision; loss scales belong to the optimizer",
        edits=edits,
        note=" ".join(dict.fromkeys(out.notes)),
    )


def _unscaled(names: Names) -> bool:
    """Whether certainly no policy of a module scales the loss."""
    kinds = [
        text_value(value_of(policy_argument(call, 0, word), names.module))
        for name, word in (("Policy", "name"), ("set_policy", "policy"))
        for call in names.used(name)
    ]
    return not names.used("LossScaleOptimizer") and all(
        kind in _PLAIN for kind in kinds if kind != "Policy"
    )


def _scalers(names: Names, out: Outcomes) -> None:
    """Convert the arguments of experimental LossScaleOptimizers to the stable interface."""
    module = names.module
    for call in names.used("LossScaleOptimizer"):
        given = policy_argument(call, 1, "loss_scale")
        scale = None
        if not open_call(call) and given is not None:
            scale = scale_of(given, module) or scale_of_policy(given, module)
        if scale is None or scale.kind == "none" or given is None:
            out.refuse(
                module,
                call,
                "the loss scale of this optimizer is not certain",
                "LossScaleOptimizer(optimizer, initial_scale=..., dynamic_growth_steps=...) "
                "scales dynamically; a fixed scale is loss_scale_factor of the optimizer itself",
            )
            continue
        added: tuple[str, ...] = ()
        if scale.kind == "fixed":
            added = ("dynamic=False", f"initial_scale={scale.initial}")
        else:
            if scale.initial:
                added += (f"initial_scale={scale.initial}",)
            if scale.interval:
                added += (f"dynamic_growth_steps={scale.interval}",)
        out.edits += argument_edits(module, call, [given], added)
        for keyword in call.keywords:
            if keyword.arg == "optimizer":
                out.edits.append(_renamed(names, keyword))


def _renamed(names: Names, keyword: ast.keyword) -> Edit:
    column = column_at(names.module, keyword.lineno, keyword.col_offset)
    return Edit(
        file=names.module.source.name,
        line=keyword.lineno,
        column=column,
        end_line=keyword.lineno,
        end_column=column + len("optimizer"),
        text="inner_optimizer",
    )


_FIT = """\
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
"""
_STABLE = f"""\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
{_FIT}"""
_GUARDED = """\
import tensorflow as tf

try:
    from tensorflow.keras.mixed_precision import set_global_policy
except ImportError:
    from tensorflow.keras.mixed_precision.experimental import set_policy as set_global_policy

set_global_policy("mixed_float16")
"""
_IN_MAIN = f"""\
import tensorflow as tf


def main():
    policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=1024)
    tf.keras.mixed_precision.experimental.set_policy(policy)
{indent(_FIT, "    ")}    return model


if __name__ == "__main__":
    model = main()
"""
_IN_MAIN_NEW = (
    _IN_MAIN.replace(".experimental.Policy", ".Policy")
    .replace(", loss_scale=1024", "")
    .replace(".experimental.set_policy", ".set_global_policy")
    .replace(
        'Adam(1e-3), loss="mse")',
        'Adam(1e-3, loss_scale_factor=1024.0), loss="mse", auto_scale_loss=False)',
    )
)
_PERHAPS = _IN_MAIN.replace('if __name__ == "__main__":', "if argv:")
_BY_FLAG = """\
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--loss_scale", default="dynamic")
args = parser.parse_args()
policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=args.loss_scale)
tf.keras.mixed_precision.experimental.set_policy(policy)
"""

CODEMOD = Codemod(
    code="CM201",
    name="keras-policy",
    api="keras3",
    title="tf.keras.mixed_precision.experimental becomes the stable interface; the loss scale of a "
    "policy becomes that of the optimizer",
    hints=("mixed_precision", "_policy"),
    examples=(
        Example(
            before=f"""\
import tensorflow as tf
from tensorflow.keras.mixed_precision import experimental as mixed_precision

policy = mixed_precision.Policy("mixed_float16", loss_scale="dynamic")  # scaled by compile
mixed_precision.set_policy(policy)
{_FIT}""",
            after=f"""\
import tensorflow as tf
from tensorflow.keras import mixed_precision

policy = mixed_precision.Policy("mixed_float16")  # scaled by compile
mixed_precision.set_global_policy(policy)
{_FIT}""",
        ),
        Example(
            before=f"""\
import tensorflow as tf

policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=1024)
tf.keras.mixed_precision.experimental.set_policy(policy)
{_FIT}""",
            after=f"""\
import tensorflow as tf

policy = tf.keras.mixed_precision.Policy("mixed_float16")
tf.keras.mixed_precision.set_global_policy(policy)
{_FIT}""".replace(
                'Adam(1e-3), loss="mse")',
                'Adam(1e-3, loss_scale_factor=1024.0), loss="mse", auto_scale_loss=False)',
            ),
        ),
        Example(before=_IN_MAIN, after=_IN_MAIN_NEW),
        Example(before=_PERHAPS, after=_PERHAPS, refused="only set under a condition"),
        Example(before=_STABLE, after=_STABLE),
        Example(before=_GUARDED, after=_GUARDED),
        Example(before=_BY_FLAG, after=_BY_FLAG, refused="has the loss scale args.loss_scale"),
    ),
    run=run,
)
