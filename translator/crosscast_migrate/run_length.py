"""The length of a run that a source counts in epochs, where the rows are in a file."""

from __future__ import annotations

import ast
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.lift.step_sections import looking, number, word

if TYPE_CHECKING:
    from crosscast_reading.lift.drafting import Lifted

_TOTAL = "schedule.total_steps"
_WINDOW = ("batch.micro_batch_size", "accumulation.steps", "distributed.processes_per_node")
_NEEDED = (*_WINDOW, "accumulation.tail", "data.train")
_MAGIC = b"\x93NUMPY"


def epochs_of(lifted: Lifted) -> object:
    """Return the epochs of a run; None if its schedule is of another length."""
    look = looking(lifted.analysis.settled)
    epochs, total = word(look("run.epochs")), number(look("schedule.total_steps"))
    by_epoch = word(look("schedule.stepped_per")) == "epoch"
    return None if by_epoch and total is not None and total != epochs else epochs


def with_length(fields: Mapping[str, Filled], epochs: object) -> dict[str, Filled]:
    """Return fields with the number of updates of the epochs, if everything else is known.

    Args:
        fields: of the recipe; `data.train` is read if it names a file that is there.
        epochs: what the sources say of them; anything but a number is not known.
    """
    result, total = dict(fields), fields.get(_TOTAL)
    source = fields.get("data.source")
    if total is None or total.how != "assumed" or source is None or source.value != "npz":
        return result
    given = [fields.get(path) for path in _NEEDED]
    if any(filled is None or filled.how == "assumed" for filled in given):
        return result
    path = str(fields["data.train"].value)
    rows = rows_of(Path(path))
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 1 or not rows:
        return result
    nodes = fields.get("distributed.nodes")
    window = int(nodes.value) if nodes is not None else 1
    for name in _WINDOW:
        window *= int(fields[name].value)
    steps = _updates(epochs, rows, window, str(fields["accumulation.tail"].value))
    if steps < 1:
        return result
    note = f"{epochs} epochs of the {rows} rows in {path}"
    result[_TOTAL] = Filled(value=steps, how="derived", places=total.places, note=note)
    return result


def _updates(epochs: int, rows: int, window: int, tail: str) -> int:
    """Return the number of updates, by what happens to a short window at the end of an epoch."""
    if tail == "carry":
        return epochs * rows // window
    short = bool(rows % window) and tail != "drop"
    return epochs * (rows // window + short)


def rows_of(path: Path) -> int | None:
    """Return the number of rows of an npz file; None if it is not there or is none."""
    try:
        if not path.is_file():
            return None
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            if member.read(len(_MAGIC)) != _MAGIC:
                return None
            major = member.read(2)[0]
            form, size = ("<H", 2) if major == 1 else ("<I", 4)
            (length,) = struct.unpack(form, member.read(size))
            shape = ast.literal_eval(member.read(min(length, 1 << 16)).decode("latin-1"))["shape"]
    except (OSError, IndexError, KeyError, SyntaxError, ValueError, struct.error):
        return None
    except zipfile.BadZipFile:
        return None
    return int(shape[0]) if shape else None
