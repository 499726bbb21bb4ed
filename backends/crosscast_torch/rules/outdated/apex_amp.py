"""CL902: apex.amp, which was removed from apex."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import spans, used
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of apex.amp, with one finding per module."""
    seen: set[str] = set()
    for module, name, places in used(subject, lambda name: name.startswith("apex.amp.")):
        if module.source.name not in seen:
            seen.add(module.source.name)
            yield Finding(
                span=module.span(places[0]),
                message=f"{name} is not available: apex.amp was removed from apex in May 2025",
                hint="use torch.amp: autocast around the forward pass, GradScaler around the step",
                related=spans(module, places),
            )


RULE = Rule("CL902", check, hints=("apex",))
