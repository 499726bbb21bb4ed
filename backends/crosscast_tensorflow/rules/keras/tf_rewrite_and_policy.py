"""CL714: the graph rewrite together with a Keras policy."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import half_policies


def check(subject: Subject) -> Iterator[Finding]:
    """Find both in one function or one module, under the same conditions."""
    program = subject.program
    policies = half_policies(program)
    for name, call in calls_of(program):
        if last(name) != "enable_mixed_precision_graph_rewrite":
            continue
        mine = {branch.text for branch in branches(call.node, call.module)}
        for policy in policies:
            same = (
                policy.module is call.module
                and {c.text for c in branches(policy.node, policy.module)} == mine
            )
            if same:
                yield Finding(
                    span=call.module.span(call.node),
                    message="the graph rewrite and a Keras policy for float16 exclude each other: "
                    "TensorFlow raises ValueError",
                    hint="remove the rewrite: with the policy, compile scales the loss",
                    related=(policy.module.span(policy.node),),
                )
                break


RULE = Rule("CL714", check, hints=("enable_mixed_precision_graph_rewrite",))
