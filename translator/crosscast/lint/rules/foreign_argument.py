"""CL513: an optimizer gets an argument under its name in another library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import PLAIN, changed
from crosscast.messages.diagnostics import Severity
from crosscast.readers.python.library_calls import calls_of
from crosscast.sources.subject import Subject

FOREIGN: tuple[tuple[str, dict[str, str]], ...] = (
    (
        r"torch\.optim\.(?!lr_scheduler|swa_utils)[A-Z]\w+",
        {
            "learning_rate": "`lr`",
            "parameters": "`params`",
            "beta1": "`betas=(beta1, beta2)`",
            "beta2": "`betas=(beta1, beta2)`",
            "beta_1": "`betas=(beta1, beta2)`",
            "beta_2": "`betas=(beta1, beta2)`",
            "epsilon": "`eps`",
            "grad_clip": "torch.nn.utils.clip_grad_norm_ before the step",
        },
    ),
    (r"torch\.optim\.(Adam|AdamW)", {"momentum": "`betas`, whose first number is the momentum"}),
    (
        r"paddle\.optimizer\.[A-Z]\w+",
        {
            "lr": "`learning_rate`",
            "params": "`parameters`",
            "betas": "`beta1` and `beta2`",
            "beta_1": "`beta1`",
            "beta_2": "`beta2`",
            "eps": "`epsilon`",
        },
    ),
    (r"paddle\.optimizer\.SGD", {"momentum": "the class Momentum"}),
    (r"paddle\.optimizer\.(Adam|AdamW)", {"momentum": "`beta1`"}),
    (
        r"keras\.optimizers\.(Adam|AdamW|SGD)",
        {
            "betas": "`beta_1` and `beta_2`",
            "beta1": "`beta_1`",
            "beta2": "`beta_2`",
            "eps": "`epsilon`",
            "params": "no parameters",
            "parameters": "no parameters",
        },
    ),
)
"""Optimizers, arguments that none of them has in any version, and what they have instead."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find keywords that certainly raise TypeError, or ValueError in Keras."""
    program = subject.program
    for name, call in calls_of(program) if program is not None else ():
        if len(call.names) != 1:
            continue
        for pattern, words in FOREIGN:
            for given in call.node.keywords if re.fullmatch(pattern, name) else ():
                if given.arg in words:
                    yield Finding(
                        span=call.module.span(given),
                        message=f"{name} has no argument {given.arg}: the call raises an exception",
                        hint=f"use {words[given.arg]}",
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
