"""CM102: apex.amp to torch.amp."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Codemod, Outcome
from crosscast_torch.migration.experimental.apex.amp_loop import outcomes
from crosscast_torch.migration.experimental.apex.examples import AMP
from crosscast_torch.migration.experimental.unknown_origin import unknown_apex

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterable[Outcome]:
    """Migrate all uses of apex.amp in a program, or report why that is not possible."""
    return [*outcomes(subject), *unknown_apex(subject)]


CODEMOD = Codemod(
    code="CM102",
    name="apex-amp",
    api="torch.amp",
    title="apex.amp becomes torch.amp: autocast around forward pass and loss, and a GradScaler",
    hints=("apex",),
    examples=AMP,
    run=run,
)
