"""Names that a star import gives anew: what a file binds holds, and what a missing one may."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.batch import lift_sources
from crosscast_reading.lint.engine import lint_sources

LOOP = """
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.{made}
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.{clear}()
"""
PADDLE = LOOP.format(
    made="AdamW(learning_rate=1e-3, parameters=model.parameters())", clear="clear_grad"
).replace("torch.optim", "torch.optimizer")
MIXED = LOOP.format(
    made="AdamW(learning_rate=1e-3, parameters=model.parameters())", clear="clear_grad"
)
TORCH = LOOP.format(made="AdamW(model.parameters(), lr=1e-3)", clear="zero_grad")
STAR = "import torch\nfrom paddle_compat import *\n"


def codes(text: str, **others: str) -> list[str]:
    files = [Source("train.py", text), *(Source(f"{n}.py", t) for n, t in others.items())]
    return sorted({result.code for result in lint_sources(files)})


def framework(text: str, **others: str) -> object:
    files = [Source("train.py", text), *(Source(f"{n}.py", t) for n, t in others.items())]
    said = lift_sources(files, {}).data["profile"].get("framework", {})
    return said.get("value")


def optimizers(text: str) -> set[object]:
    """Return the names of optimizers that are read from the library."""
    found = lift_sources([Source("train.py", text)], {}).data["profile"].get("optimizers", ())
    return {entry["name"]["value"] for entry in found if "name" in entry}


@pytest.mark.parametrize(
    "compat",
    [
        "import paddle as torch\n",
        "import paddle\n\ntorch = paddle\n",
        "__all__ = ['torch']\nimport paddle as torch\n",
        "from inner import *\n",
    ],
)
def test_a_file_that_is_given_says_what_a_name_is(compat: str) -> None:
    inner = {"paddle_compat": compat, "inner": "import paddle as torch\n"}
    assert "CL513" not in codes(STAR + PADDLE, **inner)
    assert framework(STAR + PADDLE, **inner) == "paddle"


@pytest.mark.parametrize("name", ["paddle_compat", "compat.paddle", "utils", ".helpers"])
def test_a_missing_file_may_have_rebound_the_name(name: str) -> None:
    """Arguments of another library then speak for the other library, not for a mistake."""
    assert "CL513" not in codes(f"import torch\nfrom {name} import *\n" + MIXED)
    inside = "def main():\n" + "".join(f"    {line}\n" for line in MIXED.splitlines())
    assert "CL513" not in codes(f"import torch\nfrom {name} import *\n{inside}main()\n")


def test_a_missing_file_named_after_another_framework_leaves_the_name_unknown() -> None:
    assert optimizers(STAR + TORCH) == set()
    assert optimizers("from paddle_compat import *\n" + TORCH) == set()
    assert optimizers("import torch\nfrom utils import *\n" + TORCH) == {"AdamW"}
    assert optimizers("from torch_utils import *\n" + TORCH) == {"AdamW"}


@pytest.mark.parametrize(
    "head",
    [
        "import torch\n",
        "from paddle_compat import *\nimport torch\n",
        "import torch\nfrom torch.nn import *\n",
        "import torch\nfrom math import *\n",
    ],
)
def test_look_alikes_that_do_not_rebind(head: str) -> None:
    assert "CL513" in codes(head + MIXED)


@pytest.mark.parametrize(
    "compat",
    [
        "import torch\n",
        "import paddle\n",
        "__all__ = ['other']\nimport paddle as torch\nother = 1\n",
        "def helper():\n    import paddle as torch\n",
    ],
)
def test_a_file_that_is_given_and_does_not_rebind(compat: str) -> None:
    assert "CL513" in codes(STAR + MIXED, paddle_compat=compat)


def test_a_branch_may_rebind() -> None:
    head = "import torch\ntry:\n    from paddle_compat import *\nexcept ImportError:\n    pass\n"
    assert "CL513" not in codes(head + MIXED, paddle_compat="import paddle as torch\n")


def test_values_of_a_star_import() -> None:
    """The last line that binds a name decides, wherever it stands."""
    text = "import torch\nRATE = 0.1\nfrom settings import *\n" + TORCH.replace("1e-3", "RATE")
    rows = lift_sources([Source("train.py", text), Source("settings.py", "RATE = 0.3\n")], {}).rows
    assert {row[0]: row[1] for row in rows}["optimizer.learning_rate"] == "0.3"
    late = text.replace("from settings import *\n", "").replace(
        "RATE =", "from settings import *\nRATE ="
    )
    rows = lift_sources([Source("train.py", late), Source("settings.py", "RATE = 0.3\n")], {}).rows
    assert {row[0]: row[1] for row in rows}["optimizer.learning_rate"] == "0.1"
