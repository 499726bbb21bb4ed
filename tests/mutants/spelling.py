"""How a bug of the catalogue is written down for one framework."""

from __future__ import annotations

from collections.abc import Sequence

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


def written(name: str, *forms: Edit | Sequence[Edit]) -> Mutation:
    """Return a bug of the catalogue as one framework spells it.

    Args:
        name: of the bug.
        forms: its spellings, each one edit or several; the first that fits a script is used.
    """
    bug = BUGS[name]
    spelled: tuple[Form, ...] = tuple(
        (form,) if isinstance(form, Edit) else tuple(form) for form in forms
    )
    return Mutation(
        name=name,
        title=bug.title,
        field=bug.field,
        expected=bug.expected,
        forms=spelled,
        needs=SCALED if bug.half else "",
    )
