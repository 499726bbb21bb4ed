"""CM104: apex.parallel to torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Codemod, Outcome
from crosscast_reading.edits.layout import Draft
from crosscast_torch.migration.experimental.apex.examples_fused import PARALLEL
from crosscast_torch.migration.experimental.apex.moved_names import names_of
from crosscast_torch.migration.experimental.apex.parallel_names import NOTES, move, new_name, wrong
from crosscast_torch.migration.experimental.apex.whole_loops import moved, state_of, with_its_loop
from crosscast_torch.migration.experimental.codemods_apex.apex_optimizers import run as optimizers

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Migrate data parallelism and synchronized batch norm of apex."""
    state = state_of(subject)
    waiting = {  # both may remove imports from one `try`, which must not become empty
        edit.file
        for outcome in optimizers(subject)
        if isinstance(outcome, Change)
        for edit in outcome.edits
    }
    for module in subject.program.modules:
        draft, done = Draft(module), []
        for name in names_of(module, "parallel"):
            refusal = wrong(name)
            if refusal is None and state == "stays":
                refusal = with_its_loop(name.what, module, name.uses[0])
            refusal = refusal or move(name, draft)
            if refusal is None:
                done.append(name)
            else:
                yield refusal
        if done and state == "none" and module.source.name not in waiting:
            summary = [f"apex.parallel.{name.what} becomes {new_name(name)}" for name in done]
            notes = [NOTES[name.what] for name in done if name.what in NOTES]
            yield moved(draft, done, summary, notes)


CODEMOD = Codemod(
    code="CM104",
    name="apex-ddp",
    api="torch.amp",
    title="data parallelism and synchronized batch norm of apex become torch's",
    hints=("apex",),
    examples=PARALLEL,
    run=run,
)
