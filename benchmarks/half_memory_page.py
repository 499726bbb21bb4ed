"""Generate docs/measurements/half-memory.md from the figures beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kept_bytes import EMITTED, FRAMEWORKS, STORED_HALF, Counts, contestants

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "measurements" / "half-memory.md"
DATA = DOCS / "measurements" / "half-memory.json"
NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "paddle": "Paddle"}
PACKAGES = {
    "torch": "PyTorch",
    "transformers": "transformers",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "paddlepaddle": "Paddle",
}
NOTHING = "NOT MEASURED"
HEAD = """\
# What half precision keeps for the backward pass

Written by `benchmarks/half_memory.py --docs`; do not edit.

The forward pass of a training step keeps values for the backward pass, which may need more memory
than weights, gradients and optimizer together. This page counts them for one micro-batch of
BERT-base (12 layers of 768, 12 heads, 30522 words, AdamW) in float32 and in half precision: for
the models that crosscast emits, and for models that are written for half precision. Nothing is
trained, and no GPU is needed: counted are the types and operators that the frameworks choose on a
GPU.
"""
COMMAND = """
```
pip install --constraint constraints.txt --editable '.[bench]'
python benchmarks/half_memory.py --docs
```

Two runs give the same figures. `--page` writes this page again without counting.

## What is counted

- **kept**: bytes of the values that the backward pass reads, without weights, copies of weights
  and the rows themselves. A buffer counts once, however many views of it are kept.
- **copies of weights**: bytes of weights in half precision that the backward pass reads, or that
  live through the window.
- **peak**: the most bytes of tensors at once, in the second micro-batch of a window: with weights,
  gradients and two moments in float32 ({standing} MiB), and with copies of weights. It does not
  include workspaces of kernels and what the allocator rounds up.
- **operators**: those that start a kernel, without views and allocations, in the second micro-batch
  of a window. Those of the backward pass include adding every gradient to that of the first
  micro-batch. **casts** are the operators among them, forward and backward, that only change the
  type.
- **window's casts**: casts that a window has in addition to those of its micro-batches, however
  many it has. An operator over a list of tensors counts once; a GPU starts a few kernels for the
  198 weights that have copies.
- **relative**: to float32 of the same model and version; of `ops` all `compute`, to float32 of
  version 1.

A row that names two types has the same figures for both. **Version 2** is the script of a recipe
with `version: 2` that says no more about precision than its type: fused attention, and in half
precision the [policy](../reference/recipe.md#precision) `stored_half`. **Version 1** is that of a
recipe with `version: 1`: explicit attention, and half precision in matrix products only; `ops` all
`compute` has `precision.ops` `compute` for every class of operations.
"""
HOW = {
    "torch": """
The emitted micro-batch runs on fake tensors, which have storages and no data. They are on a CPU,
and where a CPU would choose otherwise than CUDA, it is made to choose the same: the operators that
autocast computes in float32, dropout, fused attention
(`benchmarks/kept_bytes/torch_as_on_cuda.py`). The model by hand is the emitted one of version 1
with fused attention, under autocast; residual sums, GELU and what LayerNorm returns are in half
precision. Of version 2, `collect_gradients` of the script is part of the backward pass, and
`copy_masters` of the window's casts.

For comparison, PyTorch's allocator on an H100 had peaks of 4465 MiB in float32 and 4208 MiB in
bfloat16 over two windows of the script of version 1 without dropout, micro-batches of 32 x 128
([half precision on a GPU](half-precision-gpu.md)). Version 2 was not measured on a GPU.
""",
    "tensorflow": """
The emitted micro-batch is traced; counted is what the backward part of the graph reads of its
forward part. Grappler, which may fuse or recompute operators before a graph runs, is not
considered. Peak: NOT MEASURED, because the executor chooses the order. The model by hand consists
of Keras' own layers (`MultiHeadAttention`, `Dense`, `LayerNormalization`, `Dropout`) under the
policy `mixed_bfloat16` or `mixed_float16`, with logits in float32.
""",
    "paddle": """
The micro-batch is built as a program of Paddle's intermediate representation, into which
`auto_cast` puts its casts; counted is what gradient operations read of the forward part, except
values whose buffers they do not need. A CPU lacks bfloat16 kernels that such a program asks for;
stand-ins keep what the operations of a GPU keep (`benchmarks/kept_bytes/paddle_as_on_gpu.py`).
float16: NOT MEASURED, since programs for a CPU refuse it; its lists and sizes are those of
bfloat16. Peak: NOT MEASURED, because the executor chooses the order. The model by hand has layers
of `paddle.nn` and `scaled_dot_product_attention` under `auto_cast` with level O1. Of version 2,
`collect_gradients` of the script is part of the backward pass, and `copy_weights` of the window's
casts.
""",
}
READING = """
## Why

- **Version 2 keeps half of what its float32 keeps.** Every value that is kept is stored once, in
  half precision. Beside it are float32 statistics of LayerNorm and softmax ({statistics} MiB), and
  with dropout masks of one byte for each value, which float32 keeps as well.
- **It casts weights once per window.** Autocast makes a half copy of every weight in each forward
  pass and casts every gradient back: {casts_sdpa} casts per micro-batch of transformers' model.
  Version 2 in PyTorch has {casts}; it adds a half gradient to a float32 sum in one operator. The
  first micro-batch of a window, whose gradients become the sums, casts each of them, and one
  operator rounds all weights: {window_casts} casts per window. The copies, as many bytes as those
  of autocast, stay from window to window. Paddle casts every gradient before it adds it.
- **TensorFlow has no fused attention.** Version 2 keeps what softmax returns, in half precision
  and once. Keras composes LayerNorm and GELU of elementary operations, which keep more values than
  one kernel does, and those of LayerNorm are float32. In half precision the script of version 2
  has both as functions with a gradient of their own, which keep what they get: so it keeps less
  than half of its own float32. The half copies of weights are made in every micro-batch.
- **Version 1 keeps almost what float32 keeps.** Only matrix products are in half precision. What
  softmax returns and what GELU and LayerNorm read is kept in float32, and the products that follow
  keep half copies of what they read. For each attention score, float32 keeps 4 bytes, half
  precision 4 and 2: {default_long} of the kept bytes of float32 at {long} in PyTorch,
  {default_short} at {short}. Each of query, key and value also reads a half copy of its own of the
  same input. With `ops` all `compute` every value exists in one type, but scores are kept.
- **Fused attention keeps no scores**, so that what is kept does not depend on the tokens of a row,
  only on their total. A mask that is a number for each pair of tokens, as transformers passes,
  does.
- **Autocast computes LayerNorm in float32.** It then returns float32, and so does the residual
  sum: the input of every LayerNorm is kept in float32 (transformers, Paddle by hand). A LayerNorm
  that reads and writes half precision and computes in float32 inside needs no such copy (PyTorch
  by hand, version 2).
- **Keras' `MultiHeadAttention`** computes softmax in float32 without dropout and in half precision
  with dropout, under the same policy.
- **Casts start kernels.** Of a small model they make half precision slower than float32
  ([measured](half-precision-gpu.md)).
"""


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    frameworks = results["frameworks"]
    installed = {
        name: version
        for measured in frameworks.values()
        for name, version in measured["versions"].items()
    }
    named = ", ".join(f"{PACKAGES[name]} {version}" for name, version in installed.items())
    counted = {
        (row["contestant"], row["precision"]): counts_of(row)
        for row in frameworks["torch"]["rows"]
        if row["dropout"] == 0.0
    }
    single, half = counted[EMITTED, "float32"], counted[EMITTED, "bfloat16"]
    short, long = single
    ratios = {shape: half[shape].activations / single[shape].activations for shape in single}
    standing = single[short].standing
    assert standing is not None
    stored, sdpa = counted[STORED_HALF, "bfloat16"][short], counted["sdpa", "bfloat16"][short]
    parts = [
        HEAD,
        f"\nCounted with {named}. Command:\n",
        COMMAND.format(standing=mib(standing)),
    ]
    for framework in FRAMEWORKS:
        measured = frameworks[framework]
        parts.append(f"\n## {NAMES[framework]}\n{HOW[framework]}")
        for dropout in sorted({row["dropout"] for row in measured["rows"]}):
            parts.append(f"\nDropout {dropout}:\n\n{table(framework, measured, dropout)}\n")
    parts.append(
        READING.format(
            default_short=f"{ratios[short]:.2f}",
            default_long=f"{ratios[long]:.2f}",
            short=short,
            long=long,
            statistics=f"{stored.dtypes['float32'] / 2**20:.1f}",
            casts=stored.casts,
            window_casts=stored.window_casts,
            casts_sdpa=sdpa.casts,
        )
    )
    return "".join(parts)


def table(framework: str, measured: dict[str, Any], dropout: float) -> str:
    """Return the table of a framework and a dropout."""
    rows = [row for row in measured["rows"] if row["dropout"] == dropout]
    counted = {(row["contestant"], row["precision"]): counts_of(row) for row in rows}
    shapes = list(next(filter(None, counted.values())))
    has_peak = any(
        counts.peak is not None for figures in counted.values() for counts in figures.values()
    )
    head = ["model", "precision"]
    for shape in shapes:
        head += [f"{shape}: kept, MiB", "relative", *(["peak, MiB", "relative"] * has_peak)]
    head += ["copies of weights, MiB", "operators forward + backward", "casts", "window's casts"]
    lines = [head, ["---"] * len(head)]
    for contestant in contestants(framework):
        own = [row for row in rows if row["contestant"] == contestant.name]
        for names, row in _together(own):
            cells = [contestant.title, names]
            if "not_measured" in row:
                cells += [f"{NOTHING}: {row['not_measured']}"] + ["-"] * (len(head) - 3)
            else:
                single = counted[contestant.base or contestant.name, "float32"]
                cells += _cells(counts_of(row), single, has_peak)
            lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counts_of(row: dict[str, Any]) -> dict[str, Counts]:
    """Return what was counted, by shape; empty if nothing was."""
    return {shape: Counts(**counts) for shape, counts in row.get("counts", {}).items()}


def _together(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return rows with their precisions; those of the same figures are one."""
    lines: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        same = lines and _figures(lines[-1][1]) == _figures(row)
        names = f"{lines.pop()[0]}, " if same else ""
        lines.append((names + row["precision"], row))
    return lines


def _figures(row: dict[str, Any]) -> Any:
    """Return what a row shows, which does not name types."""
    figures = [replace(counts, dtypes={}) for counts in counts_of(row).values()]
    return figures or row["not_measured"]


def _cells(counted: dict[str, Counts], single: dict[str, Counts], has_peak: bool) -> list[str]:
    cells: list[str] = []
    for shape, counts in counted.items():
        base = single[shape]
        cells += [mib(counts.activations), f"{counts.activations / base.activations:.2f}"]
        if has_peak:
            assert counts.peak is not None
            assert base.peak is not None
            cells += [mib(counts.peak), f"{counts.peak / base.peak:.2f}"]
    shown = [
        (
            mib(each.weight_copies),
            f"{each.forward} + {each.backward}",
            str(each.casts),
            str(each.window_casts),
        )
        for each in counted.values()
    ]
    return cells + ["; ".join(dict.fromkeys(column)) for column in zip(*shown, strict=True)]


def mib(size: int) -> str:
    """Return bytes in MiB."""
    return f"{size / 2**20:.0f}"
