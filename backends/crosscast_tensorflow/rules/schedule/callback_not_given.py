"""Schedules that are callbacks of Keras, and that no training gets."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.callbacks_kept import not_given


def _given_to_no_fit(subject: Subject) -> Iterator[Finding]:
    """Find callbacks of Keras that change the rate, and that `fit` does not get."""
    for call, fit in not_given(subject.program):
        yield Finding(
            span=call.module.span(call.node),
            message="no training gets this callback: the learning rate stays the same",
            hint=f"pass it to `{fit.method}`, in `callbacks`",
            related=(fit.module.span(fit.node.func),),
        )


FORMS = (RuleForm(rule="CL512", check=_given_to_no_fit),)
