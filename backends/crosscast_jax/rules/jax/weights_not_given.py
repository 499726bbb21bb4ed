"""CL016: an update that needs the weights does not get them."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_jax.answers.chains import links_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_NEED = frozenset(
    {
        *("adamw", "nadamw", "adamaxw", "lamb", "lars", "lion", "adafactor"),
        *("add_decayed_weights", "scale_by_trust_ratio"),
    }
)
"""Transformations that fail without them."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find `tx.update(gradients, state)` of a transformation that decays."""
    for _, call in calls_of(subject.program):
        receiver = call.receiver
        if call.method != "update" or receiver is None:
            continue
        if len(call.node.args) != 2 or call.node.keywords or call.has_star:
            continue
        links = links_of(receiver, call.module)
        needing = next((link for link in links if link.name in _NEED), None)
        if needing is not None and needing.call is not None:
            yield Finding(
                span=call.module.span(call.node),
                message=f"{needing.name} needs the weights, which update does not get: it fails",
                hint=f"pass them: `{call.receiver_text}.update(gradients, state, weights)`",
                related=(needing.call.module.span(needing.call.node),),
            )


RULE = Rule("CL016", check, hints=("optax",))
