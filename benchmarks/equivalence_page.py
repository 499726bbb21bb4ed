"""Generate docs/measurements/equivalence.md from what benchmarks/equivalence.py compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "measurements" / "equivalence.md"
DATA = DOCS / "measurements" / "equivalence.json"
REFERENCE = "torch"
OTHERS = {"tensorflow": "TensorFlow", "paddle": "Paddle", "jax": "JAX"}
TYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Problem:
    """A training whose scripts are compared. `recipe`: below examples/; `changes`: text in it."""

    title: str
    recipe: str
    changes: Mapping[str, str] = field(default_factory=dict)


PROBLEMS = {
    "bert-small": Problem(
        "BERT-small, dropout 0.1, rate 3e-5",
        "bert-small/demo.yaml",
        {"dropout: 0.0": "dropout: 0.1", "learning_rate: 3e-4": "learning_rate: 3e-5"},
    ),
    "gpt": Problem("GPT, own model", "gpt/recipe.yaml"),
    "lstm": Problem("LSTM, own model", "lstm-forecast/recipe.yaml"),
    "resnet": Problem(
        "ResNet with three blocks, own model",
        "resnet-cifar/recipe.yaml",
        {"build_model": "build_tiny"},
    ),
}
HEAD = """\
# Four models, three types, four frameworks

Written by `benchmarks/equivalence.py --docs`; do not edit.

Each row is one recipe, compiled into a script for each framework, and one comparison of these
scripts: `crosscast parity --check model`, PyTorch being the reference. `float16` and `bfloat16`
are `precision: {mode: mixed}` with the default of recipe version 2 (`stored_half`), with dynamic
loss scaling in float16; a CPU emulates them. The models are those of
[examples](../../examples/README.md), at full size but for ResNet: a comparison of its 11 million
weights was stopped after 18 minutes, and here it is `build_tiny` of the same module.

```
python benchmarks/equivalence.py --docs
```

In a cell: the verdict, and the largest share of its limit that the loss trajectory (L2) used.
`not tested` counts checks that could not be made, as the report names them.
"""


def page(known: Mapping[str, Any]) -> str:
    """The page, from results by `problem/type`; what was not compared is NOT TESTED."""
    head = ["training", "weights", "type", "updates", *OTHERS.values()]
    rows = [_row(name, dtype, known.get(f"{name}/{dtype}")) for name in PROBLEMS for dtype in TYPES]
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"{HEAD}\n{table}\n{''.join(_failures(known))}"


def _row(name: str, dtype: str, entry: Mapping[str, Any] | None) -> list[str]:
    title = PROBLEMS[name].title
    if entry is None:
        return [title, "", dtype, "", *["NOT TESTED"] * len(OTHERS)]
    cells = [_cell(entry["pairs"].get(other)) for other in OTHERS]
    return [title, f"{entry['weights']:,}", dtype, str(entry["windows"]), *cells]


def _cell(pair: Mapping[str, Any] | None) -> str:
    if pair is None:
        return "NOT TESTED"
    share = "" if pair["share"] is None else f", {pair['share']:.2g}"
    untested = pair["checks"].get("not tested", 0)
    return f"{pair['verdict']}{share}" + (f", {untested} not tested" if untested else "")


def _failures(known: Mapping[str, Any]) -> list[str]:
    """What failed, in the words of the report."""
    return [
        f"\n- {key}, {OTHERS.get(name, name)}: {words}"
        for key, entry in known.items()
        for name, pair in entry["pairs"].items()
        for words in pair["failed"]
    ]
