"""Models are carried into a plug-in's framework and out of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from frameworks.subprocesses import require, warm
from package.plugin_lab import Lab
from tiers import Lazy, cases

MODEL_OF_TORCH = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 3)
        nn.init.zeros_(self.last.bias)

    def forward(self, x):
        x = torch.tanh(self.norm(self.first(x)))
        return self.last(x) - 1.0


model = Net(8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
"""
MODEL_OF_TOYGRAD = """\
import toygrad
from toygrad import LayerNorm, Linear, Module


class Net(Module):
    def __init__(self, width):
        self.first = Linear(4, width)
        self.norm = LayerNorm(width, 1e-6)
        self.last = Linear(width, 3)

    def __call__(self, x):
        x = toygrad.gelu(self.norm(self.first(x))) * 0.5
        return self.last(x.reshape(-1, 8))


model = Net(8)
weights = list(model.parameters().values())
optimizer = toygrad.AdamW([(weights, 0.1)], (0.9, 0.999), 1e-7)
for x, labels in loader:
    loss = toygrad.cross_entropy(model(x), labels, "mean")
    loss.backward()
    optimizer.step()
"""
OUTPUTS = """
import json
import numpy as np

{model}

rows = np.random.default_rng(9).normal(size=(5, 4)).astype(np.float32)
for number, (_, weight) in enumerate(sorted(dict({named}).items())):
    weight.data[:] = {filled}(np.random.default_rng(number).normal(size=weight.data.shape))
outputs = model(x={given}(rows))
print(json.dumps(np.asarray(outputs.{array}).tolist()))
"""
PARTS = {
    "torch": {
        "named": "model.named_parameters()",
        "filled": "__import__('torch').as_tensor",
        "given": "__import__('torch').as_tensor",
        "array": "detach()",
    },
    "toy": {
        "named": "model.parameters()",
        "filled": "np.asarray",
        "given": "__import__('toygrad').tensor_of",
        "array": "data",
    },
}


def carried(lab: Lab, program: str, output: str) -> dict[str, Path]:
    """Migrate a program to both frameworks and return the folders of the models."""
    (lab.folder / "source.py").write_text(program)
    given = ("--set", "clipping.kind=global_norm", "--set", "clipping.max_norm=0.5")
    lab("migrate", "source.py", "--to", "torch,toy", *given, "-o", output)
    return {target: lab.folder / output / target for target in ("torch", "toy")}


PROGRAMS = {"torch": MODEL_OF_TORCH, "toy": MODEL_OF_TOYGRAD}


@pytest.fixture(scope="module")
def models(lab: Lab) -> Mapping[str, dict[str, Path]]:
    """By the framework of the program, the folders of its models in both."""
    return Lazy(lambda name: carried(lab, PROGRAMS[name], f"of_{name}"))


def test_models_are_carried_into_it_and_out_of_it(models: Mapping[str, dict[str, Path]]) -> None:
    into = models["torch"]["toy"] / "own_model.py"
    assert "self.norm = toygrad.LayerNorm(8, 1e-05)" in into.read_text()
    assert "np.random.uniform(" in into.read_text()  # Linear of PyTorch does not start from zeros
    assert "return x * 1.0 + -1.0" in into.read_text()
    out = models["toy"]["torch"] / "own_model.py"
    assert "self.norm = nn.LayerNorm(8, eps=1e-06)" in out.read_text()
    assert "nn.init.constant_(self.first.weight, 0.0)" in out.read_text()
    assert 'F.gelu(x, approximate="none")' in out.read_text()


REFUSED = [
    ("nn.Linear(4, width, bias=False)", "toygrad has no layer without a bias"),
    ("nn.LayerNorm((2, 4))", "toygrad normalizes the last axis only"),
    ("nn.LayerNorm(width, bias=False)", "toygrad has no normalization without a bias"),
    ("nn.ReLU()", "relu has no counterpart"),
]


@pytest.mark.parametrize(
    ("line", "reason"),
    cases(REFUSED, quick=[REFUSED[0], REFUSED[3]], reason="more models that the plug-in refuses"),
)
def test_a_model_that_it_has_no_rows_for_is_refused(
    lab: Lab, line: str, reason: str, tmp_path: Path
) -> None:
    text = MODEL_OF_TORCH.replace("nn.LayerNorm(width)", line)
    own = carried(lab, text, str(tmp_path / "refused"))["toy"] / "own_model.py"
    assert reason in own.read_text()


@pytest.mark.torch
@pytest.mark.parametrize("framework", PROGRAMS)
def test_carried_models_compute_the_same(
    lab: Lab, models: Mapping[str, dict[str, Path]], framework: str
) -> None:
    require("torch")
    found = []
    made = [(framework, PROGRAMS[framework].partition("optimizer =")[0])]
    for target, folder in models[framework].items():
        own = f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
        made.append((target, f"{own}from own_model import build_model\nmodel = build_model()"))
    for target, model in made:
        program = lab.folder / "outputs.py"
        program.write_text(OUTPUTS.format(model=model, **PARTS[target]))
        executable = warm("torch", harness=False) if target == "torch" else sys.executable
        done = lab.python(str(program), executable=executable)
        assert done.returncode == 0, done.stderr
        found.append(np.asarray(json.loads(done.stdout)))
    assert found[0].shape == (5, 3)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-5)
