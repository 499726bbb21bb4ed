"""CM103: fused optimizers and layers of apex to those of torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Codemod, Outcome
from crosscast_reading.edits.layout import Draft
from crosscast_torch.migration.experimental.apex.examples_fused import FUSED
from crosscast_torch.migration.experimental.apex.fused_names import NOTE, move, new_name
from crosscast_torch.migration.experimental.apex.moved_names import names_of
from crosscast_torch.migration.experimental.apex.whole_loops import moved, state_of, with_its_loop
from crosscast_torch.migration.experimental.apex.wrapped import WRAPPER

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Migrate names with an exact equivalent in torch; refuse the others."""
    state = state_of(subject)
    for module in subject.program.modules:
        draft, done = Draft(module), []
        for family in ("optimizers", "normalization"):
            for name in names_of(module, family):
                if name.what == WRAPPER:
                    continue  # see CM106
                if state == "stays" and family == "optimizers":
                    yield with_its_loop(name.what, module, name.uses[0])
                    continue
                refusal = move(name, draft, subject.allowed)
                if refusal is None:
                    done.append(name)
                else:
                    yield refusal
        if done and state != "moves":
            summary = [f"{name.what} becomes {new_name(name)}" for name in done]
            notes = [NOTE] if any(name.family == "optimizers" for name in done) else []
            yield moved(draft, done, list(dict.fromkeys(summary)), notes)


CODEMOD = Codemod(
    code="CM103",
    name="apex-optimizers",
    api="torch.amp",
    title="FusedAdam, FusedSGD and FusedLayerNorm of apex are replaced by those of torch",
    hints=("apex",),
    examples=FUSED,
    run=run,
)
