"""The tensors that differ most, and the one closest to the loss."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from crosscast_parity.judge.records import Pair
from crosscast_parity.report.page.blocks import Cell, Table, value_text

WORST_TENSORS = 5
BY_TENSOR = "first gradients by tensor"
"""How the checks are called that judge the tensors one by one."""
_PARTS = ("embeddings", "attention.self", "attention.output", "intermediate", "output")
_LEAVES = (
    "word_embeddings",
    "position_embeddings",
    "token_type_embeddings",
    "query",
    "key",
    "value",
    "dense",
    "LayerNorm",
)
_ENDS = ("pooler", "classifier")


def model_order(names: Iterable[str]) -> list[str]:
    """Return the parameters of a BERT from the embeddings to the classifier.

    Names of another form stay in their order, between the embeddings and the ends.
    """
    return sorted(names, key=_place)


def _place(name: str) -> tuple[int, ...]:
    layer = re.search(r"\.layer\.(\d{1,6})\.", name)
    end = next((n for n, end in enumerate(_ENDS, start=2) if f".{end}." in f".{name}"), 0)
    if not layer and ".embeddings." not in name:
        return (end, 0, 0, 0, int(name.endswith(".bias"))) if end else (1,)
    rest = name[layer.end() :] if layer else "embeddings."
    return (
        1 if layer else 0,
        int(layer.group(1)) if layer else 0,
        next((n for n, part in enumerate(_PARTS) if rest.startswith(f"{part}.")), len(_PARTS)),
        next((n for n, leaf in enumerate(_LEAVES) if f".{leaf}." in name), len(_LEAVES)),
        int(name.endswith(".bias")),
    )


def tensor_limits(pair: Pair) -> dict[str, float | None]:
    """Return the limit of a single tensor, by `stage/run`, from the checks that judged them."""
    limits: dict[str, float | None] = dict.fromkeys(pair.tensor_errors)
    for check in pair.checks:
        key = f"{check.stage}/{check.run}"
        if key in limits and check.name.startswith(BY_TENSOR):
            limits[key] = check.limit
    return limits


def tensor_table(pair: Pair) -> Table | None:
    """Return the tensors whose first gradient differs most, of every recorded run."""
    limits = tensor_limits(pair)
    rows: list[tuple[Cell, ...]] = []
    for run, errors in pair.tensor_errors.items():
        limit = limits[run]
        worst = sorted(errors.items(), key=lambda item: (not math.isnan(item[1]), -item[1]))
        for name, size in worst[:WORST_TENSORS]:
            over = limit is not None and not size <= limit
            rows.append(
                (
                    Cell(run),
                    Cell(name, code=True),
                    Cell(value_text(size), "bad" if over else ""),
                    Cell(value_text(limit)),
                )
            )
    if not rows:
        return None
    return Table(
        title=f"Worst tensors of {pair.contestant}",
        note="Norm of the difference of the first window's gradients, relative to the norm of the"
        " reference's gradient (or to a thousandth of the norm of all, if that is larger).",
        head=("in", "tensor", "error", "limit"),
        rows=rows,
        folded=pair.verdict == "EQUIVALENT",
    )


def first_differing_tensor(pair: Pair) -> str:
    """Name the tensor nearest to the loss whose gradient is over the limit; empty if none is."""
    limits = tensor_limits(pair)
    for run, errors in pair.tensor_errors.items():
        limit = limits[run]
        if limit is None:
            continue
        over = [name for name in model_order(errors) if not errors[name] <= limit]
        if over:
            return (
                f"First differing tensor, starting from the loss, in {run}: {over[-1]} "
                f"(error {value_text(errors[over[-1]])}, limit {limit:g}; {len(over)} of "
                f"{len(errors)} tensors exceed the limit)."
            )
    return ""
