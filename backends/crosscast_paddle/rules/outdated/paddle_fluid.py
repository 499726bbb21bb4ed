"""CL906: paddle.fluid, which was removed from Paddle."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import older, spans, used
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_SUCCESSORS = {
    "paddle.fluid.contrib.mixed_precision.decorate": "paddle.static.amp.decorate, in Paddle 3 with "
    "the network under auto_cast and a GradScaler that minimizes; defaults differ: first scale "
    "2**16 and 2000 clean steps instead of 2**15 and 1000, back-off 0.5 instead of 0.8 after 1 "
    "instead of 2 overflows",
    "paddle.fluid.dygraph.AmpScaler": "paddle.amp.GradScaler; its defaults differ: first scale "
    "2**16 instead of 2**15, 2000 clean steps instead of 1000",
    "paddle.fluid.dygraph.amp_guard": "paddle.amp.auto_cast",
}


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls in paddle.fluid, with one finding per module, preferably at loss scaling."""
    by_module: dict[str, Finding] = {}
    for module, name, places in used(subject, lambda name: name.startswith("paddle.fluid.")):
        if subject.program and older(subject.program, "paddlepaddle", "2.6"):
            return
        file = module.source.name
        if file in by_module and name not in _SUCCESSORS:
            continue
        successor = _SUCCESSORS.get(name)
        by_module[file] = Finding(
            span=module.span(places[0]),
            message=f"{name} was removed: Paddle 2.6 and later have no paddle.fluid",
            hint=f"use {successor}" if successor else "use paddle.static, or dynamic graphs",
            related=spans(module, places),
        )
    yield from by_module.values()


RULE = Rule("CL906", check, hints=("fluid",))
