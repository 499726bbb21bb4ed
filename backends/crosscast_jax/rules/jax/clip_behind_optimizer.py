"""CL011: gradients are clipped after the optimizer has used them."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_jax.answers.chains import chains
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_CLIPS = ("clip_by_global_norm", "clip")


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips that stand behind an optimizer of optax in a chain."""
    for _, links in chains(subject.program):
        made = next((link for link in links if link.keeps), None)
        if made is None or made.call is None:
            continue
        if any(link.name.startswith("scale") for link in links[links.index(made) :]):
            continue  # a limit of steps, which get their size behind it
        for link in links[links.index(made) :]:
            if link.name in _CLIPS and link.call is not None:
                yield Finding(
                    span=link.call.module.span(link.call.node),
                    message=f"{link.name} stands behind {made.name}: it limits updates, which "
                    "have the size of the learning rate, and no gradient",
                    hint=f"put it before optax.{made.name} in the chain",
                    related=(made.call.module.span(made.call.node),),
                )


RULE = Rule("CL011", check, hints=("optax",))
