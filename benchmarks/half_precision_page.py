"""Generate docs/measurements/half-precision-gpu.md, with or without measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "measurements" / "half-precision-gpu.md"
DATA = DOCS / "measurements" / "half-precision-gpu.json"
HEAD = """\
# Half precision on a GPU

Written by `benchmarks/half_precision_gpu.py --docs`; do not edit.

Time and memory of a training step in float16, bfloat16 and TF32 compared with float32, for the
script that crosscast emits for PyTorch: BERT-small, BERT-base and BERT-large, AdamW, clipping by
norm, two micro-batches per window.
"""
COMMAND = """\
```
pip install --constraint constraints.txt --editable '.[data,torch]'
python benchmarks/half_precision_gpu.py --docs
```
"""
NONE = f"""
## Not measured

No GPU was available, so there are no figures. On a machine with a GPU,

{COMMAND}
measures and replaces this page; without a GPU it exits with code 3. The page then shows, for each
size and precision: milliseconds per window (median, fastest and slowest round) and the peak memory
of tensors, both also relative to float32, the observed dtypes of the dense layers, and the
deviation of the first losses from those of float32; and the GPU, the versions of PyTorch and CUDA,
and the batch sizes.

The benchmark is tested on a CPU with BERT-tiny (`--device cpu --sizes tiny`). Its figures say
nothing about GPUs and are not published here. For the cost of emitted loops on a CPU compared with
hand-written ones see [performance](../explanation/performance.md).
"""
READING = """
On this machine PyTorch needs {us:.1f} microseconds to start an operation on a few numbers. Where a
time hardly depends on the precision, starting the operations takes it, and half precision, which
adds casts, makes the step slower: small models and small micro-batches. `tf32` (`precision.tf32`)
adds none, and with `compile: true` (the rows `-compiled`) fewer operations are started. Rows
that one size has and another lacks were not measured.
"""
COLUMNS = (
    *("precision", "ms per window (fastest to slowest)", "relative", "memory, MiB", "relative"),
    *("dense layers compute in", "largest loss difference"),
)


def page(results: dict[str, Any] | None) -> str:
    """Return the page; without results it says that there are none."""
    if results is None:
        return HEAD + NONE
    machine, settings = results["machine"], results["settings"]
    memory = f"{machine['memory'] / 2**30:.0f} GiB"
    parts = [
        HEAD,
        f"\nMeasured on one {machine['device']} ({memory}) with PyTorch {machine['torch']}, "
        f"CUDA {machine['cuda']}:\nmicro-batches of {settings['rows']} rows of "
        f"{settings['tokens']} tokens, the precisions of a size in turn,\n"
        "each in a separate process. Command:\n\n",
        COMMAND,
        READING.format(us=machine["operation_us"]),
    ]
    for size, found in results["sizes"].items():
        rounds, windows = results["rounds"][size]
        parts.append(
            f"\n## BERT-{size}\n\n{rounds} rounds of {windows} windows.\n\n{table(found)}\n"
        )
    return "".join(parts)


def table(found: dict[str, Any]) -> str:
    """Return the table of one size."""
    base = found.get("float32", {})
    lines = [" | ".join(COLUMNS), "|".join(["---"] * len(COLUMNS))]
    lines += [" | ".join(_cells(name, result, base)) for name, result in found.items()]
    return "\n".join(f"| {line} |" for line in lines)


def _cells(name: str, result: dict[str, Any], base: dict[str, Any]) -> list[str]:
    if result.get("failed"):
        return [name, result["failed"], *["-"] * (len(COLUMNS) - 2)]
    ms = [result[key] * 1e3 for key in ("seconds", "fastest", "slowest")]
    time = f"{ms[0]:.1f} ({ms[1]:.1f} to {ms[2]:.1f})"
    memory = (
        "not measured" if result["peak_memory"] is None else f"{result['peak_memory'] / 2**20:.0f}"
    )
    apart = result["loss_difference"]
    types = ", ".join(result["computes_in"]) or "not looked at"
    ratios = [_ratio(result, base, key) for key in ("seconds", "peak_memory")]
    return [
        name,
        time,
        ratios[0],
        memory,
        ratios[1],
        types,
        "-" if apart is None else f"{apart:.1e}",
    ]


def _ratio(result: dict[str, Any], base: dict[str, Any], key: str) -> str:
    return f"{result[key] / base[key]:.2f}" if result.get(key) and base.get(key) else "-"
