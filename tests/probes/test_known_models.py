"""Models of paddle.vision have the weights of their namesakes in torchvision."""

from __future__ import annotations

import json
from pathlib import Path

from crosscast_paddle.models.library import LIBRARY as PADDLE
from crosscast_torch.models.library import LIBRARY as TORCH
from frameworks.subprocesses import run_python
from tiers import exhaustive

PROGRAM = """
import json, sys
from paddle.vision import models
counts = {}
for name in json.loads(sys.argv[1]):
    weights = getattr(models, name)().parameters()
    counts[name] = sum(int(w.size) for w in weights if not w.stop_gradient)
print(json.dumps(counts))
"""


@exhaustive("models of paddle.vision by the number of their weights")
def test_models_of_a_name_have_as_many_weights(tmp_path: Path) -> None:
    path = tmp_path / "count.py"
    path.write_text(PROGRAM)
    assert PADDLE.models.keys() == TORCH.models.keys()
    counted = {row.name: row.parameters for row in TORCH.models.values()}
    assert all(counted.values())
    small = {name: number for name, number in counted.items() if number < 3e7}
    assert run_python(path, "paddle", json.dumps(list(small))) == small
