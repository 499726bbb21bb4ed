"""Generate docs/measurements/half-precision-gpu.md, with or without measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from half_precision_plan import REFERENCE, V2, VARIANTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "measurements" / "half-precision-gpu.md"
DATA = DOCS / "measurements" / "half-precision-gpu.json"
HEAD = """\
# Half precision on a GPU

Written by `benchmarks/half_precision_gpu.py --docs`; do not edit.

Time and memory of a training step in float16, bfloat16 and TF32 compared with float32, for the
scripts that crosscast emits for PyTorch: AdamW, clipping by norm, two micro-batches per window,
without dropout. Beside them the BERT of transformers with fused attention, trained by a loop of
Accelerate.
"""
COMMAND = """\
```
pip install --constraint constraints.txt --editable '.[data,torch,trainers]'
python benchmarks/half_precision_gpu.py --docs
```
"""
NONE = f"""
## Not measured

No GPU was available, so there are no figures. On a machine with a GPU,

{COMMAND}
measures for less than ten minutes and replaces this page; without a GPU it exits with code 3.
"""
READING = """
- `v1` is the script of a recipe of version 1, in half precision with float32 between the matrix
  products; `v2` that of version 2, with fused attention, values stored in half precision and half
  copies of weights ([what they keep](half-memory.md)). `-compiled` has `compile: true`.
- Times are those of a window (fastest to slowest round), memory is the most that PyTorch's
  allocator gave to tensors. Both are also relative to `v1-float32`.
- Synchronisations are the operations of one window that wait for the GPU.
- The largest loss difference is that of the first windows from those of `v1-float32`. A script
  follows float32 if its first loss, and the gradient norm of the first two windows, which have the
  same weights, are within the [limits of `crosscast parity`](../reference/coverage.md) (L1a or L1c,
  and L0c). Gradients are not compared tensor by tensor.

On this machine PyTorch needs {us:.1f} microseconds to start an operation on a few numbers. Where a
time hardly depends on the precision, starting the operations takes it, and half precision, which
adds casts in version 1, makes the step slower: small models and small micro-batches. `tf32`
(`precision.tf32`) adds none, and with `compile: true` fewer operations are started.
"""
OLD = """
**These figures are of {day}, before there was version 2.** {missing} rows are NOT MEASURED: of
version 2, of Accelerate, of some compiled scripts, and everywhere the synchronisations and whether
half precision follows float32. The command above measures all of them.
"""
NOTHING = "NOT MEASURED"
COLUMNS = (
    *("model", "ms per window (fastest to slowest)", "relative", "memory, MiB", "relative"),
    *("synchronisations", "dense layers compute in", "largest loss difference"),
    "follows float32",
)


def page(results: dict[str, Any] | None) -> str:
    """Return the page; without results it says that there are none."""
    if results is None:
        return HEAD + NONE
    machine, settings = results["machine"], results["settings"]
    memory = f"{machine['memory'] / 2**30:.0f} GiB"
    parts = [
        HEAD,
        f"\nMeasured on {results['measured']} on one {machine['device']} ({memory}) with PyTorch "
        f"{machine['torch']},\nCUDA {machine['cuda']}: micro-batches of {settings['rows']} rows of "
        f"{settings['tokens']} tokens, the models of a size in turn,\n"
        "each in a separate process. Command:\n\n",
        COMMAND,
        READING.format(us=machine["operation_us"]),
    ]
    missing = sum(name not in rows for rows in results["sizes"].values() for name in VARIANTS)
    if not any(name.startswith(V2) for rows in results["sizes"].values() for name in rows):
        parts.append(OLD.format(day=results["measured"], missing=missing))
    for size, rows in results["sizes"].items():
        rounds = max((row.get("rounds", 0) for row in rows.values()), default=0)
        windows = results["windows"][size]
        parts.append(
            f"\n## BERT-{size}\n\nUp to {rounds} rounds of {windows} windows.\n\n{table(rows)}\n"
        )
    return "".join(parts)


def table(rows: dict[str, Any]) -> str:
    """Return the table of one size, with a row for every variant."""
    base = rows.get(REFERENCE, {})
    lines = [" | ".join(COLUMNS), " | ".join(["---"] * len(COLUMNS))]
    lines += [" | ".join(_cells(name, rows.get(name), base)) for name in VARIANTS]
    return "\n".join(f"| {line} |" for line in lines)


def _cells(name: str, result: dict[str, Any] | None, base: dict[str, Any]) -> list[str]:
    if result is None or result.get("failed"):
        why = f"{NOTHING}: {result['failed']}" if result else NOTHING
        return [name, why, *["-"] * (len(COLUMNS) - 2)]
    ms = [result[key] * 1e3 for key in ("seconds", "fastest", "slowest")]
    memory, waits = result["peak_memory"], result.get("synchronisations")
    apart = result["loss_difference"]
    return [
        name,
        f"{ms[0]:.1f} ({ms[1]:.1f} to {ms[2]:.1f})",
        _ratio(result, base, "seconds"),
        NOTHING if memory is None else f"{memory / 2**20:.0f}",
        _ratio(result, base, "peak_memory"),
        NOTHING if waits is None else str(waits),
        ", ".join(result["computes_in"]) or "not looked at",
        "-" if apart is None else f"{apart:.1e}",
        result.get("follows", NOTHING) or "-",
    ]


def _ratio(result: dict[str, Any], base: dict[str, Any], key: str) -> str:
    return f"{result[key] / base[key]:.2f}" if result.get(key) and base.get(key) else "-"
