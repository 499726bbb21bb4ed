"""CL902: apex.amp, which was removed from apex."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
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


RULE = Rule(
    code="CL902",
    name="apex-amp",
    topic="outdated",
    severity=Severity.NOTE,
    title="apex.amp was removed from apex",
    why="Current versions of apex have no `apex.amp` (removed on 2025-05-08), so the script runs "
    "only with an old build. `torch.amp` is equivalent to level O1; level O2 (half-precision "
    "weights with float32 copies) has no direct replacement.",
    wrong="""\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
""",
    right="""\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
""",
    check=check,
    hints=("apex",),
    sources=("NVIDIA/apex cb65b8ed", "NVIDIA/apex#1896"),
)
