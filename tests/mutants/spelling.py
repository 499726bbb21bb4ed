"""How a bug of the catalogue is written down for one framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from crosscast.targets.harness import Edit
from crosscast_parity.self_test.mutation import Form, Mutation
from mutants.catalogue import BUGS

SCALED = "INIT_SCALE = "
"""Stands only in scripts that scale the loss: bugs of half precision are written into no others."""


def train(old: str, new: str, times: int = 1) -> Edit:
    """Return an edit of train.py."""
    return Edit(old, new, "train.py", times)


def model(old: str, new: str, times: int = 1) -> Edit:
    """Return an edit of model.py."""
    return Edit(old, new, "model.py", times)


def runtime(part: str, old: str, new: str, times: int = 1) -> Edit:
    """Return an edit of a module of `runtime/`."""
    return Edit(old, new, f"runtime/{part}.py", times)


BEGIN = '    rows = sum(len(batch["labels"]) for batch in micro_batches)\n'
END = "    state.windows += 1\n"


def around(before: str, after: str) -> tuple[Edit, Edit]:
    """Return edits that put statements before and after all that a window does."""
    return train(BEGIN, before + BEGIN), train(END, after + END)


def spellings(*forms: Edit | Sequence[Edit]) -> tuple[Form, ...]:
    """Return the spellings of a bug, each one edit or several; the first that fits is used."""
    return tuple((form,) if isinstance(form, Edit) else tuple(form) for form in forms)


Spelling = Edit | Sequence[Edit] | Sequence[Form]
Spellings = dict[str, Spelling]
"""Bugs by name as one framework spells them: an edit, several, or what `spellings` returns."""


def forms_of(spelling: Spelling) -> tuple[Form, ...]:
    if isinstance(spelling, Edit) or all(isinstance(part, Edit) for part in spelling):
        return spellings(cast("Edit | Sequence[Edit]", spelling))
    return tuple(cast("Sequence[Form]", spelling))


def written(*tables: Spellings) -> tuple[Mutation, ...]:
    """Return the bugs of the catalogue that are spelled in tables."""
    return tuple(
        Mutation(
            name=name,
            title=BUGS[name].title,
            field=BUGS[name].field,
            expected=BUGS[name].expected,
            forms=forms_of(spelling),
            needs=SCALED if BUGS[name].half else "",
        )
        for table in tables
        for name, spelling in table.items()
    )
