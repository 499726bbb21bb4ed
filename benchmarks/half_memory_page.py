"""Generate docs/measurements/half-memory.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kept_bytes import EMITTED, FRAMEWORKS, contestants

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "measurements" / "half-memory.md"
DATA = DOCS / "measurements" / "half-memory.json"
NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "paddle": "Paddle"}
PACKAGES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "keras": "Keras"}
NOTHING = "NOT MEASURED"


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    return HEAD


def table(framework: str, measured: dict[str, Any], dropout: float) -> str:
    """Return the table of a framework and a dropout."""
    rows = [row for row in measured["rows"] if row["dropout"] == dropout]
    shapes = list(next(row["counts"] for row in rows if "counts" in row))
    has_peak = any(
        counts["peak"] is not None for row in rows for counts in row.get("counts", {}).values()
    )
    head = ["model", "precision"]
    for shape in shapes:
        head += [f"{shape}: kept, MiB", "relative", *(["peak, MiB", "relative"] * has_peak)]
    head += ["copies of weights, MiB", "operators forward + backward", "casts"]
    lines = [head, ["---"] * len(head)]
    for contestant in contestants(framework):
        own = [row for row in rows if row["contestant"] == contestant.name]
        base = contestant.base or contestant.name
        (single,) = (
            row for row in rows if (row["contestant"], row["precision"]) == (base, "float32")
        )
        for names, row in _together(own):
            cells = [contestant.title, names]
            if "counts" in row:
                cells += _cells(row["counts"], single["counts"], has_peak)
            else:
                cells += [f"{NOTHING}: {row['not_measured']}"] + ["-"] * (len(head) - 3)
            lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _together(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return rows with their precisions; those of the same figures are one."""
    lines: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        same = lines and _figures(lines[-1][1]) == _figures(row)
        names = f"{lines.pop()[0]}, " if same else ""
        lines.append((names + row["precision"], row))
    return lines


def _figures(row: dict[str, Any]) -> Any:
    return [
        {key: value for key, value in counts.items() if key != "dtypes"}
        for counts in row.get("counts", {}).values()
    ] or row["not_measured"]


def _cells(counts: dict[str, Any], single: dict[str, Any], has_peak: bool) -> list[str]:
    cells: list[str] = []
    for shape, counted in counts.items():
        for key in ("activations", *(["peak"] * has_peak)):
            cells += [mib(counted[key]), f"{counted[key] / single[shape][key]:.2f}"]
    each = list(counts.values())
    copies = {mib(counted["weight_copies"]) for counted in each}
    operators = {f"{counted['forward']} + {counted['backward']}" for counted in each}
    casts = {str(counted["casts"]) for counted in each}
    return cells + ["; ".join(sorted(values)) for values in (copies, operators, casts)]


def mib(size: int) -> str:
    """Return bytes in MiB."""
    return f"{size / 2**20:.0f}"


HEAD = ""
