"""CL990: an unused ignore comment, reported by the engine itself."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield nothing: the uses of a comment are known only after all rules."""
    return ()


_LOOP = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="CL990",
    name="unused-ignore",
    topic="outdated",
    severity=Severity.WARNING,
    title="Unused ignore comment",
    why="An unused ignore comment hides the next mistake of this kind in its line. Names that do "
    "not match any rule are reported as well.",
    wrong=_LOOP.replace("    optimizer.step()", "    optimizer.step()  # crosscast: ignore[CL901]"),
    right=_LOOP,
    check=check,
    fixable=True,
)
