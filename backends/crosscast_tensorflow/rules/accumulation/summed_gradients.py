"""Mistakes of accumulation where a program adds up lists of gradients itself."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.lint.rules.accumulation.off_by_one_window import shifted_windows
from crosscast_reading.lint.rules.accumulation.tail_leaks import leaking_tails
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.summed_gradients import (
    applied_again,
    clipped_before_the_sum,
    misaligned_sums,
    never_applied,
    starts_again,
    summed_not_averaged,
    sums_gradients,
)


def _shifted(subject: Subject) -> Iterator[Finding]:
    yield from misaligned_sums(subject)
    for step in subject.steps:
        if sums_gradients(subject, step):
            yield from shifted_windows(step)


def _leaking(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        if sums_gradients(subject, step) and not starts_again(subject, step):
            yield from leaking_tails(step)


FORMS = (
    RuleForm(rule="CL101", check=summed_not_averaged, hints=("apply_gradients", "get_updates")),
    RuleForm(rule="CL104", check=_shifted),
    RuleForm(rule="CL105", check=_leaking),
    RuleForm(rule="CL110", check=never_applied),
    RuleForm(rule="CL111", check=applied_again),
    RuleForm(rule="CL303", check=clipped_before_the_sum),
)
