"""Methods of Keras 2 in programs that are certainly written for Keras 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.outdated_apis import older, within_try
from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.keras import scaler_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METHODS = ("get_scaled_loss", "get_unscaled_gradients")
"""What a LossScaleOptimizer has in Keras 2 only."""
_LEGACY = re.compile(r"\btf_keras\b|LEGACY_KERAS")
_HEAD = re.compile(r"(tensorflow|\btf) *+(==|>=|v)? *(?P<version>2\.\d+)", re.I)
_PIN = re.compile(r"\btensorflow *(==|>=|~=) *2\.\d", re.I)
_UNSURE = re.compile(
    r"\b(not|cannot|no|none|never|without|except|unless|before|until|older|below|under|up to|than"
    r"|fail\w*|break\w*|instead|todo|if|when|once|should|will|would|may|might|port\w*|migrat\w*"
    r"|upgrad\w*)\b|n['\u2019]t\b",
    re.I,
)
"""Words of a sentence that may say that a program does not run with a version."""
_ENDS = re.compile(r"[.!?;:](?=\s|$)|\n\s*\n")
_LINES = 6
"""Lines at the top of a file that say what it is written for."""


def _of_keras_2(subject: Subject) -> Iterator[Finding]:
    """Find scaled losses of Keras 2 where TensorFlow has Keras 3."""
    program = subject.program
    scalers = {name for name, _ in scaler_calls(program)}
    if not scalers or not _has_keras_3(program, scalers):
        return
    for module in program.modules:
        names = {*module.functions, *(n.value for n in module.every(ast.Constant))}
        if names & {*_METHODS, "scale_loss"} or _LEGACY.search(module.source.text):
            return  # the program defines or looks for them, or has the old Keras
    calls = [call for call in program.calls() if call.method in (*_METHODS, "scale_loss")]
    if not calls or any(call.method == "scale_loss" for call in calls):
        return
    first, *others = calls
    if any(within_try(call.module, call.node) for call in calls):
        return
    yield Finding(
        span=first.module.span(first.node.func),
        message=f"the loss scale optimizer of Keras 3 has no {first.method}: the first step raises "
        "AttributeError",
        hint="use `scale_loss(loss)`, and give the gradients to `apply_gradients` as they are: it "
        "unscales them",
        related=tuple(call.module.span(call.node.func) for call in others[:2]),
    )


def _has_keras_3(program: Program, scalers: set[str]) -> bool:
    """Whether a program certainly runs with Keras 3, the only one with a scaler in `optimizers`."""
    named = program.versions.get("tensorflow", "")
    if named:
        return not older(program, "tensorflow", "2.16")
    if program.versions.get("keras", "").startswith("3"):
        return True
    made = scalers == {"keras.optimizers.LossScaleOptimizer"}
    return made or any(_says(module) for module in program.modules)


def _says(module: Module) -> bool:
    """Whether the top of a file plainly says that it is for TensorFlow with Keras 3.

    By a pin, or in its first sentence; what other sentences say of a version proves nothing.
    """
    lines = module.source.text.splitlines()[:_LINES]
    versions = [match["version"] for match in _HEAD.finditer("\n".join(lines))]
    if not all(int(version[2:]) >= 16 for version in versions):
        return False
    comments = [line.lstrip("# ") for line in lines if re.match("#(?!!)", line)]
    texts = ["\n".join(comments), ast.get_docstring(module.tree) or ""]
    sentences = [each for text in texts for each in _ENDS.split(text) if each.strip()]
    telling = [each for each in sentences if _HEAD.search(each)]
    if not telling or any(_UNSURE.search(each) for each in telling):
        return False
    return telling[0] is sentences[0] or any(_PIN.search(each) for each in telling)


FORMS = (RuleForm(rule="CL508", check=_of_keras_2),)
