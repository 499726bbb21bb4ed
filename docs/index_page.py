"""The start page of the documentation: one recipe beside the scripts that it becomes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "bert-small"
TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "paddle": "Paddle"}
_WINDOW = re.compile(r"^def train_window\(.*?(?=^    return )", re.MULTILINE | re.DOTALL)
_TEXT = """\
# crosscast

<!-- Generated from the examples; do not edit. -->

A **recipe** says how a model is trained: precision, loss scaling, gradient accumulation, clipping,
optimizer, schedule. crosscast compiles one recipe to a PyTorch, a TensorFlow/Keras and a Paddle
script, says field by field where a framework means something else, and **runs the scripts to show
that they train the same**.

## One recipe

```yaml
{recipe}
```

```bash
crosscast compile recipe.yaml --to torch,tensorflow,paddle -o out
```

## Three scripts

Each script is plain code of its framework: read it, edit it, keep it. It does not import crosscast.
Below is the function that makes one optimizer step, as compiled from the recipe above.

<!-- tabs -->
{scripts}
<!-- /tabs -->

They look different because the frameworks differ. Paddle's `clip_grad_norm_` loses digits in large
gradients, so its script sums the squares itself. Keras' AdamW adds epsilon before the bias
correction, so its script has the optimizer of the recipe. `crosscast compile` reports every such
adaptation, and the [support matrix](reference/support-matrix.md) lists them all.

## One training

`crosscast parity recipe.yaml --to torch,tensorflow,paddle` runs the three scripts on the same
weights and batches and compares gradients, weights, losses and data types with the recipe and with
each other. The answer is EQUIVALENT, DIFFERENT, INCONCLUSIVE, NOT TESTED or ERROR, with
[a reason](explanation/how-a-comparison-decides.md).

## Where to go

| you want to | read |
|---|---|
| learn it in ten minutes | [Tutorial](tutorial/ten-minutes.md) |
| train your own model on another framework | [Train your own model](how-to/own-model.md) |
| find out what is wrong with a script | [Fix a script](how-to/fix-a-script.md) |
| replace apex | [Leave apex](how-to/leave-apex.md) |
| move a program to another framework | [Move to Paddle or TensorFlow](how-to/change-framework.md) |
| use several machines | [Train on several machines](how-to/several-machines.md) |
| check scripts in CI or before a commit | [In CI](how-to/in-ci.md) |
| know whether it fits into memory | [Make it fit](how-to/make-it-fit.md) |
| look something up | [Reference](reference/index.md) |
| see everything on one page | [README](../README.md) |
| know why the answer can be trusted | [What a recipe means](explanation/meaning.md), \
[Limits](explanation/limits.md) |
"""


def index_page() -> str:
    """Return the page docs/index.md."""
    recipe = (EXAMPLE / "recipe.yaml").read_text(encoding="utf-8").splitlines()
    shown = "\n".join(line for line in recipe if not line.startswith("#"))
    scripts = "\n".join(f"**{title}**\n\n{_window(name)}" for name, title in TITLES.items())
    return _TEXT.format(recipe=shown, scripts=scripts.rstrip("\n"))


def _window(target: str) -> str:
    script = (EXAMPLE / "after" / target / "train.py").read_text(encoding="utf-8")
    found = _WINDOW.search(script)
    assert found, f"{target}: the script has no train_window that returns"
    return f"```python\n{found[0].rstrip()}\n    ...\n```\n"
