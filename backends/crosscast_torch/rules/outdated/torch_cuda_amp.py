"""CL901: torch.cuda.amp and torch.cpu.amp, deprecated in favor of torch.amp."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import older, spans
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_torch.answers.amp_repairs import repairs_of
from crosscast_torch.answers.amp_uses import CLASSES, PLACES, Use


def check(subject: Subject) -> Iterator[Finding]:
    """Find the uses of the old names, with one finding per module and name."""
    if older(subject.program, "torch", "2.4"):
        return
    for repair in repairs_of(subject.program):
        if any(use.substitute for use in repair.uses):
            continue  # the program works where the old names are missing
        for name in dict.fromkeys(use.name for use in repair.uses):
            uses = [use for use in repair.uses if use.name == name]
            yield Finding(
                span=repair.module.span(uses[0].node),
                message=f"{name} is deprecated since PyTorch 2.4",
                hint=hint_for(uses[0]) + (f"; by hand: {repair.why}" if repair.why else ""),
                related=spans(repair.module, [use.node for use in uses]),
                edits=repair.edits,
            )


def hint_for(use: Use) -> str:
    """Return the hint that says what to write instead of an old name."""
    if use.name in PLACES or not use.is_known:
        return "use torch.amp"
    if use.what in CLASSES:
        new = f'write torch.amp.{use.what}("{use.device}", ...)'
        return new + ", with the other arguments as keywords" * (use.what == "autocast")
    return f'write torch.amp.{use.what}(..., device_type="{use.device}")'


RULE = Rule("CL901", check, hints=("torch.cuda", "torch.cpu", "cuda.amp"))
