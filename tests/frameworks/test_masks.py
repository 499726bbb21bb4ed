"""Dropout on: three frameworks train with the same masks, and what is wrong with dropout shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.masks import compare_masks
from crosscast_parity.levels.model import compare_models
from crosscast_parity.recordings.observations import read_observation
from frameworks.emitted_script import TINY, emit, tiny_recipe, write_rows
from frameworks.masked_runs import asked, given, masked
from frameworks.script_runs import Run
from tiers import Lazy, cases, selected

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
OTHERS = FRAMEWORKS[1:]
ROWS, WINDOWS = 42, 4
"""Windows of 16, 16 and 10 rows; the last micro-batch of the third has 2."""
TORCH_LAST = "        x = F.dropout(x, DROPOUT, self.training)\n        return self.classifier"
PADDLE_CALL = "F.dropout(x, DROPOUT, training=self.training)\n        return self.LayerNorm"
Edits = list[tuple[str, str]]
PLANTED: dict[tuple[str, str], tuple[Edits, str]] = {
    ("torch", "before tanh instead of after it"): (
        [
            ("torch.tanh(self.pooler", "torch.tanh(F.dropout(self.pooler"),
            ("(x[:, 0]).float())", "(x[:, 0]).float(), DROPOUT, self.training))"),
            (TORCH_LAST, "        return self.classifier"),
        ],
        "first loss",
    ),
    ("torch", "other masks when a layer is computed again"): (
        [("reentrant=False", "reentrant=False, preserve_rng_state=False")],
        "first gradients",
    ),
    ("tensorflow", "what is kept is not scaled"): ([("x / (1.0 - DROPOUT)", "x")], "first loss"),
    ("tensorflow", "one mask twice"): (
        [("seed, self.first_mask + 1)", "seed, self.first_mask + 2)")],
        "dropout",
    ),
    ("paddle", "another rate"): ([("DROPOUT = 0.1", "DROPOUT = 0.2")], "dropout"),
    ("paddle", "scaled in the evaluation instead"): (
        [("training=self.training)", 'training=self.training, mode="downscale_in_infer")')],
        "first loss",
    ),
    ("paddle", "after the residual sum instead of before it"): (
        [
            (PADDLE_CALL, PADDLE_CALL.replace("dropout(x", "dropout(residual + x")),
            ("LayerNorm(residual + x)", "LayerNorm(x)"),
        ],
        "first loss",
    ),
    ("paddle", "none in attention"): (
        [("        weights = F.dropout(weights, DROPOUT, training=self.training)\n", "")],
        "dropout",
    ),
    ("jax", "another rate"): ([("DROPOUT = 0.1", "DROPOUT = 0.2")], "dropout"),
    ("jax", "none in attention"): ([("self.dropout(weights)", "weights")], "dropout"),
    ("jax", "after the residual sum instead of before it"): (
        [
            (
                "        x = self.dropout(x)\n        return self.LayerNorm(residual + x)",
                "        return self.LayerNorm(self.dropout(residual + x))",
            )
        ],
        "first loss",
    ),
}
"""Edits of the emitted model by what is wrong with it, and the first check that shows it."""


QUICK = [
    ("torch", "other masks when a layer is computed again"),
    ("paddle", "scaled in the evaluation instead"),
]


class Lab:
    """One model with dropout and recomputed layers, trained by three frameworks."""

    def __init__(self, folder: Path, planted: Collection[str], resumed: Collection[str]) -> None:
        self.folder, self.planted, self.resumed = folder, planted, resumed
        model = TINY["model"] | {"layers": 1, "dropout": 0.1}
        self.recipe = tiny_recipe(model=model, activation_checkpointing=True)
        assert isinstance(self.recipe.model, BertModel)
        rng = np.random.default_rng(0)
        weights = {
            name: (0.1 * rng.normal(size=shape)).astype(np.float32) + ("LayerNorm.weight" in name)
            for name, shape in bert_shapes(self.recipe.model).items()
        }
        save_file(weights, folder / "weights.safetensors")
        self.data = {
            "--train": write_rows(folder / "train.npz", ROWS),
            "--eval": write_rows(folder / "eval.npz", 16),
            "--weights": folder / "weights.safetensors",
        }
        self.runs = Lazy(self._trained)

    def _trained(self, framework: str) -> dict[str, Run]:
        emitted = self._script(framework, "plain", [])
        flags = [part for pair in (self.data | {"--windows": WINDOWS}).items() for part in pair]
        outputs = self.folder / framework
        record = {"record": list(range(WINDOWS))}
        runs = [asked(emitted, outputs / "plain", flags, **record)]
        if framework in self.resumed:
            runs.append(asked(emitted, outputs / "resumed", flags, resume=2))
        for (of, wrong), (edits, _) in PLANTED.items():
            if of == framework and wrong in self.planted:
                script = self._script(framework, wrong, edits)
                runs.append(asked(script, outputs / wrong, flags, **record))
        return masked(framework, outputs, runs)

    def _script(self, framework: str, name: str, edits: Edits) -> Path:
        script = emit(self.recipe, framework, self.folder / f"{framework} {name}") / "train.py"
        model = script.with_name("model.py")
        text = model.read_text()
        for old, new in edits:
            assert old in text, (name, old)
            text = text.replace(old, new)
        model.write_text(text)
        return script

    def checks(self, framework: str, name: str = "plain") -> tuple[Check, ...]:
        """Compare a run with that of PyTorch."""
        ours, theirs = self.runs[framework][name], self.runs["torch"]["plain"]
        observed = (read_observation(run.output / "observed") for run in (ours, theirs))
        models = compare_models(*observed, dtype="float32", init="initial")[0]
        return (compare_masks(given(ours), given(theirs)), *models)


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    wrong, resumed = (selected(request, name) for name in ("wrong", "resumed"))
    return Lab(tmp_path_factory.mktemp("masks"), wrong, resumed)


def failing(checks: Iterable[Check]) -> list[str]:
    return [check.name for check in checks if check.result != "pass"]


@pytest.mark.parametrize("framework", OTHERS)
def test_losses_and_gradients_agree_with_dropout_on(lab: Lab, framework: str) -> None:
    assert failing(lab.checks(framework)) == []
    plain, torch = lab.runs[framework]["plain"], lab.runs["torch"]["plain"]
    assert [row["rows"] for row in plain.trace] == [16, 16, 10, 16]
    for ours, theirs in zip(plain.trace, torch.trace, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=5e-6)
        assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=2e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_call_has_a_mask_and_the_same_one_when_it_is_repeated(
    lab: Lab, framework: str
) -> None:
    run = lab.runs[framework]["plain"]
    calls = given(run).calls
    assert [call.shape for call in calls] == [
        (4, 8, 32),
        (4, 2, 8, 8),
        (4, 8, 32),
        (4, 8, 32),
        (4, 32),
    ]
    text = (run.output / "masks.json").read_text()
    micro_batches = 4 + 4 + 3 + 4
    assert f'"masks": {len(calls) * micro_batches}, ' in text
    # In the backward pass the layer's three calls come again; JAX trains a watched window twice.
    times = 2 if framework == "jax" else 1
    assert f'"drawn": {times * (len(calls) + 3) * micro_batches}}}' in text


@pytest.mark.parametrize("framework", OTHERS)
def test_the_evaluation_has_no_dropout(lab: Lab, framework: str) -> None:
    ours, theirs = (lab.runs[name]["plain"].status["eval"] for name in (framework, "torch"))
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)


@pytest.mark.parametrize(
    "resumed",
    cases(FRAMEWORKS, quick=["torch", "paddle"], reason="resumed runs of TensorFlow, traced twice"),
)
def test_a_resumed_run_gets_the_masks_of_its_windows(lab: Lab, resumed: str) -> None:
    whole, parts = (lab.runs[resumed][name] for name in ("plain", "resumed"))
    allowed = 1e-6 if resumed == "tensorflow" else 0.0
    for name, array in whole.weights.items():
        assert np.abs(array - parts.weights[name]).max() <= allowed, name
    for ours, theirs in zip(parts.trace, whole.trace, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-6)


@pytest.mark.parametrize(
    ("framework", "wrong"), cases(PLANTED, quick=QUICK, reason="more mistakes with dropout")
)
def test_wrong_dropout_is_found(lab: Lab, framework: str, wrong: str) -> None:
    found = failing(lab.checks(framework, wrong))
    assert found, wrong
    assert found[0].startswith(PLANTED[framework, wrong][1]), found
