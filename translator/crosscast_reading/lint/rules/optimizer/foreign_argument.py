"""CL513: an optimizer gets an argument under its name in another library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.pysource.names.star_imports import may_be_rebound
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

FOREIGN: tuple[tuple[str, dict[str, str]], ...] = (
    (
        r"torch\.optim\.(?!lr_scheduler|swa_utils)[A-Z]\w+",
        {
            "learning_rate": "use `lr`",
            "parameters": "use `params`",
            "beta1": "Adam has `betas=(beta1, beta2)`",
            "beta2": "Adam has `betas=(beta1, beta2)`",
            "beta_1": "Adam has `betas=(beta_1, beta_2)`",
            "beta_2": "Adam has `betas=(beta_1, beta_2)`",
            "epsilon": "Adam has `eps`",
            "grad_clip": "call torch.nn.utils.clip_grad_norm_ before the step",
        },
    ),
    (
        r"torch\.optim\.(Adam|AdamW)",
        {"momentum": "use `betas`, whose first number takes its place"},
    ),
    (
        r"paddle\.optimizer\.[A-Z]\w+",
        {
            "lr": "use `learning_rate`",
            "params": "use `parameters`",
            "betas": "Adam has `beta1` and `beta2`",
            "beta_1": "Adam has `beta1`",
            "beta_2": "Adam has `beta2`",
            "eps": "Adam has `epsilon`",
        },
    ),
    (r"paddle\.optimizer\.SGD", {"momentum": "use the class Momentum"}),
    (r"paddle\.optimizer\.(Adam|AdamW)", {"momentum": "use `beta1`"}),
    (
        r"keras\.optimizers\.(legacy\.)?(Adam|AdamW|SGD)",
        {
            "betas": "Adam has `beta_1` and `beta_2`",
            "beta1": "Adam has `beta_1`",
            "beta2": "Adam has `beta_2`",
            "eps": "Adam has `epsilon`",
            "params": "leave it out: the variables come with the gradients",
            "parameters": "leave it out: the variables come with the gradients",
        },
    ),
)
"""Optimizers, arguments that none of them has in any version, and what to do instead."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find keywords that certainly raise TypeError, or ValueError in Keras."""
    program = subject.program
    for name, call in calls_of(program):
        if len(call.names) != 1 or may_be_rebound(call.node.func, call.module):
            continue
        for pattern, words in FOREIGN:
            for word in call.node.keywords if re.fullmatch(pattern, name) else ():
                if word.arg in words:
                    yield Finding(
                        span=call.module.span(word),
                        message=f"{name} has no argument {word.arg}: the call raises an exception",
                        hint=words[word.arg],
                    )


RULE = Rule(
    code="CL513",
    name="foreign-argument",
    topic="optimizer",
    severity=Severity.ERROR,
    title="An argument of an optimizer under the name of another library",
    why="PyTorch, Keras and Paddle call the same numbers differently, and none of them accepts "
    "the names of the others. The line raises an exception when it is reached, which on a rare "
    "branch may be after the data was prepared.",
    wrong=changed(PLAIN, ("lr=0.1)", "learning_rate=0.1)")),
    right=PLAIN,
    check=check,
    hints=("optim",),
    sources=("torch 2.13, Keras 3.15, tf_keras 2.21, Paddle 3.3.1: signatures of the classes",),
    needs_training=False,
)
