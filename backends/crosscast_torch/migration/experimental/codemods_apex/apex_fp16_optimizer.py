"""CM106: FP16_Optimizer of apex to torch.amp."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Codemod, Outcome
from crosscast_torch.migration.experimental.apex.examples_wrapped import WRAPPED
from crosscast_torch.migration.experimental.apex.wrapped_loop import outcomes

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterable[Outcome]:
    """Migrate all uses of FP16_Optimizer in a program, or report why that is not possible."""
    return outcomes(subject)


CODEMOD = Codemod(
    code="CM106",
    name="apex-fp16-optimizer",
    api="torch.amp",
    title="half weights with FP16_Optimizer of apex become autocast and a GradScaler",
    hints=("FP16_Optimizer",),
    examples=WRAPPED,
    run=run,
)
