"""Planted differences between models are caught and named; other implementations are not."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from changed_programs import Edit
from crosscast.recipe.load import load
from crosscast.weights.document import NAME
from crosscast.weights.writer import text_of as weights_text
from crosscast_parity.modules.command import Result, compare_with
from crosscast_parity.modules.report import as_json, summary, text_of
from crosscast_parity.weights.command import Request, processes_of
from crosscast_parity.weights.search import search
from crosscast_parity.weights.workers import Processes, workers_of
from frameworks.module_programs import ALL, LAYER_REWRITES, PLANTS, RIGHT, G, Plant, Program, R, Z
from frameworks.subprocesses import pythons, require
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

EXAMPLES = Path(__file__).parents[2] / "examples"
ZOO = Path(__file__).parent / "layer_zoo"
ROWS = 8
QUICK = ("torch momentum", "paddle mask", "keras gates", "torch floor", "keras no padding")
QUICK_LAYERS = ("as they are, torch and paddle",)
QUICK_RIGHT = ("fused attention, torch and tensorflow",)
UNSEEN = ("keras initial",)
"""Plants whose first module has too few weights to tell: a later one is named."""
OWN_ROWS = '{source: custom, train: "data:train_rows", eval: "data:eval_rows"}'
FEW_ROWS = "{source: npz, train: rows.npz, eval: rows.npz}"


class Lab:
    """One process for each framework, in which the models of all tests are built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._workers = workers_of(ALL, pythons(*ALL))
        self._maps: dict[str, str] = {}

    def compare(
        self,
        name: str,
        example: str,
        against: Sequence[str],
        edits: Sequence[Edit],
        weights: str | None,
    ) -> Result:
        """Compare the models of an example after some edits, with a map of weights."""
        request = self._request(name, example, against, edits)
        path = None
        if weights is not None:
            path = request.folder / NAME
            path.write_text(weights)
        with self._running(request) as processes:
            return compare_with(processes, path, request)

    def stop(self) -> None:
        """End the processes."""
        for worker in self._workers.values():
            worker.stop()

    def map(self, example: str) -> str:
        """Return the map of the models as they are."""
        if example not in self._maps:
            with self._running(self._request("clean", example, ALL, ())) as processes:
                found = search(processes.describe(), processes)
            self._maps[example] = weights_text(found.known)
        return self._maps[example]

    def _running(self, request: Request) -> Processes:
        return processes_of(request, {name: self._workers[name] for name in request.targets})

    def _request(
        self, name: str, example: str, against: Sequence[str], edits: Sequence[Edit]
    ) -> Request:
        # Every program needs modules of its own: processes import a name once.
        tag = re.sub(r"\W", "_", f"{name}_{example}")
        folder = self.folder / tag
        folder.mkdir()
        source = source_of(example)
        text = (source / "recipe.yaml").read_text().replace("build_model", "build_tiny")
        for framework in ALL:
            model = (source / f"model_{framework}.py").read_text()
            for of, old, new in edits:
                if of == framework:
                    assert old in model, old
                    model = model.replace(old, new)
            (folder / f"{tag}_{framework}.py").write_text(model)
            text = text.replace(f"model_{framework}:", f"{tag}_{framework}:")
        assert OWN_ROWS in text
        (folder / "recipe.yaml").write_text(text.replace(OWN_ROWS, FEW_ROWS))
        np.savez(folder / "rows.npz", **rows_of(example))
        recipe = load(str(folder / "recipe.yaml"))
        return Request(recipe=recipe, folder=folder, targets=against)


def source_of(example: str) -> Path:
    """Return the folder of an example, or of the network with layers of many kinds."""
    return ZOO if example == Z else EXAMPLES / example


def rows_of(example: str) -> dict[str, Any]:
    """Return rows of an example."""
    spec = importlib.util.spec_from_file_location("data", source_of(example) / "data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows: dict[str, Any] = module.train_rows().rows(range(ROWS))
    return rows


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    for framework in ALL:
        require(framework)
    found = Lab(tmp_path_factory.mktemp("modules"))
    yield found
    found.stop()


def named_modules(result: Result) -> set[str]:
    """Return the module that is named first, and the one around the code that differs."""
    (judgement,) = result.judgements
    certain = [difference for difference in judgement.differences if difference.certain]
    place = judgement.output
    found = {certain[0].module} if certain else set()
    if place is not None:
        found |= {place.at.pair.a.text} | ({place.within.text} if place.within else set())
    return found


@exhaustive("another metric")
def test_another_metric_is_a_difference(lab: Lab) -> None:
    edit: Edit = ("paddle", ".abs().mean(-1)", ".square().mean(-1)")
    known = lab.map("lstm-forecast")
    result = lab.compare("metric", "lstm-forecast", ("torch", "paddle"), [edit], known)
    (judgement,) = result.judgements
    assert [difference.kind for difference in judgement.differences] == ["metric mae"]
    assert not result.same
    assert result.metrics


@pytest.mark.parametrize(
    "plant",
    cases(
        [pytest.param(plant, id=plant.name) for plant in PLANTS],
        [plant for plant in PLANTS if plant.name in QUICK],
        "the other planted differences of modules",
    ),
)
def test_a_planted_difference_is_caught_and_named(lab: Lab, plant: Plant) -> None:
    known = None if plant.other_tensors else lab.map(plant.example)
    result = lab.compare(plant.name, plant.example, plant.against, plant.edits, known)
    (judgement,) = result.judgements
    assert not judgement.same
    shown = "\n".join(summary(judgement))
    assert next(d.kind for d in judgement.differences if d.certain) == plant.kind, shown
    if plant.name not in UNSEEN:
        assert plant.module in named_modules(result), shown


@pytest.mark.parametrize(
    "program",
    cases(
        [pytest.param(program, id=program.name) for program in RIGHT],
        [program for program in RIGHT if program.name in QUICK_RIGHT],
        "the other right programs",
    ),
)
def test_another_implementation_is_not_accused(lab: Lab, program: Program) -> None:
    known = None if program.other_tensors else lab.map(program.example)
    result = lab.compare(program.name, program.example, program.against, program.edits, known)
    assert result.same, "\n".join(text_of(result))


@pytest.mark.parametrize(
    "program",
    cases(
        [pytest.param(program, id=program.name) for program in LAYER_REWRITES],
        [program for program in LAYER_REWRITES if program.name in QUICK_LAYERS],
        "the other right programs of many layers",
    ),
)
def test_what_does_not_change_training_is_named_and_nothing_else_is(
    lab: Lab, program: Program
) -> None:
    result = lab.compare(
        program.name, program.example, program.against, program.edits, lab.map(program.example)
    )
    shown = "\n".join(text_of(result))
    assert result.trains_alike, shown
    assert set(result.beside_training) <= {"initialisation", "running variance"}, shown
    assert "initialisation" in result.beside_training, shown
    assert "training is compared" in shown
    assert f"modules SAME but for {', '.join(result.beside_training)}" in shown
    assert "NOT TESTED: levels" not in shown


def test_a_stopped_gradient_is_found_in_the_backward_pass(lab: Lab) -> None:
    edit = ("torch", "+ self.shortcut(x)).relu()", "+ self.shortcut(x.detach())).relu()")
    result = lab.compare("detached", R, ("torch", "tensorflow"), [edit], lab.map(R))
    (judgement,) = result.judgements
    assert judgement.output is None
    assert judgement.gradient is not None
    # What the shortcut of the last stage gets is the sum of two norms; this one is called last.
    assert judgement.gradient.pair.a.text == "stages.1.0.shortcut.1"


def test_a_weight_that_a_file_leaves_out_is_a_difference_too(lab: Lab) -> None:
    edit = ("torch", "self.norm = ", "self.spare = nn.Linear(3, 5)\n        self.norm = ")
    against = ("torch", "tensorflow")
    searched = lab.compare("spare", G, against, [edit], None)
    written = lab.compare("spare again", G, against, [edit], weights_text(searched.known))
    for result in (searched, written):
        assert result.left == {"torch": ["spare.weight [5, 3]", "spare.bias [5]"]}
        assert not result.same


def test_the_report_names_draws_and_says_what_is_not_tested(lab: Lab) -> None:
    edit = ("torch", 'approximate="tanh"', 'approximate="none"')
    result = lab.compare("report", G, ALL, [edit], None)
    assert result.matched
    text = "\n".join(text_of(result))
    assert "torch and tensorflow: modules DIFFERENT" in text
    assert "first output: blocks.0.down (Linear; gpt/block_0/down)" in text
    assert "the cause is in the code of blocks.0 before it" in text
    assert "torch: GELU by erf; paddle: GELU by tanh" in text
    assert "<- first output" in text
    assert "NOT TESTED: levels: everything that trains" in text
    told = as_json(result)
    assert [pair["same"] for pair in told["pairs"]] == [False, False]
    assert told["pairs"][0]["first_output"]["within"] == "blocks.0"
