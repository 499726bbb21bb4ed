"""The scaling law of the user's model: what is derived, written and refused; no framework runs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError, failure
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.inside import dropout
from crosscast_parity.scaling_law import own_model
from crosscast_parity.scaling_law.own_model import OwnModel, refuse_meeting_rows, repeated
from crosscast_parity.weights.model import Model, model_of
from crosscast_parity.weights.workers import Halves
from custom_fakes import own_recipe
from scaling_bench import subject_of

KERNEL, MASK = np.ones((3, 2), np.float32), np.array([0.0, -np.inf], np.float32)
INITIAL: dict[str, np.ndarray] = {
    "dense.weight": KERNEL,
    "mask": MASK,
    "steps": np.array(5, np.int64),
}


def tensor(name: str, array: np.ndarray, **fields: Any) -> dict[str, Any]:
    part = dict.fromkeys(("axes", "part", "gates", "term")) | {
        "role": "",
        "suffix": "",
        "shape": list(array.shape),
        "known": False,
    }
    known = {
        "name": name,
        "also": [],
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "trainable": False,
        "buffer": True,
        "layer": "",
        "kind": "Net",
        "base": "Module",
        "parts": [part],
        "counts": False,
        "drawn": [0.0, 1.0, 3.0],
    }
    return {**known, **fields}


MODEL: Model = model_of(
    "torch",
    {
        "tensors": [
            tensor("dense.weight", KERNEL, also=["head.weight"], trainable=True, buffer=False),
            tensor("mask", MASK),
            tensor("steps", INITIAL["steps"]),
        ],
        "order": [""],
        "outputs": [[4, 3]],
    },
)


class FakeProcesses:
    """The process of a model that exists in words only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> FakeProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def describe(self) -> list[Model]:
        return [MODEL]

    def initial(self, framework: str) -> dict[str, np.ndarray]:
        return INITIAL

    def halves(self) -> dict[str, Halves]:
        rows = np.arange(8.0).reshape(4, 2)
        return {"torch": Halves((rows,), (rows[:2],), (rows[2:],), ())}


# the recipe


def test_the_model_and_the_rows_stay_those_of_the_recipe() -> None:
    recipe = own_recipe()
    subject = subject_of(recipe)
    assert subject.problem == OwnModel(Path())
    assert subject.recipe.model == recipe.model
    assert subject.recipe.data == recipe.data
    assert subject.recipe.batch.global_batch_size == 16
    assert subject.recipe.optimizer.learning_rate == pytest.approx(0.1 * 16 / 64)
    assert subject.recipe.schedule.total_steps == 8
    assert [change.partition(":")[0] for change in subject.changes] == [
        "distributed",
        "dropout",
        "optimizer.learning_rate",
        "batch",
        "data",
    ]
    text = " | ".join(subject.changes)
    assert "0.025 instead of 0.1, for windows of 16 rows" in text
    assert "57 of your rows, windows of 16 and a short one of 9" in text


def test_rates_of_windows_that_are_not_smaller_stay() -> None:
    subject = subject_of(own_recipe(batch={"micro_batch_size": 4, "global_batch_size": 4}))
    assert subject.shapes[0].rows == 8
    assert subject.recipe.optimizer.learning_rate == 0.1


def test_rates_are_for_the_rows_of_all_processes() -> None:
    recipe = own_recipe(
        batch={"micro_batch_size": 8, "global_batch_size": 64},
        distributed={"strategy": "data_parallel", "processes_per_node": 2},
    )
    assert subject_of(recipe).recipe.optimizer.learning_rate == pytest.approx(0.1 * 16 / 64)


# rows and weights


def rows(count: int) -> dict[str, np.ndarray]:
    return {"x": np.arange(2.0 * count).reshape(count, 2), "y": np.arange(float(count))}


@pytest.mark.parametrize("held", [200, 5])
def test_rows_are_spread_over_those_of_the_user_or_repeated(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_model, "Processes", FakeProcesses)
    save_npz(tmp_path / "rows.npz", rows(held))
    inputs = OwnModel(tmp_path).write(own_recipe(), 57, tmp_path / "in", "torch", "python")
    with np.load(inputs.train) as train, np.load(inputs.few) as few:
        assert (len(train["x"]), len(few["x"])) == (57, 8)
        assert set(train["y"]) <= set(range(held))
        assert len(set(train["y"])) == min(held, 57)
        assert train["y"].max() == held - 1
    assert inputs.count == KERNEL.size


def test_weights_are_the_factorys_and_only_what_is_trained_is_perturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_model, "Processes", FakeProcesses)
    save_npz(tmp_path / "rows.npz", rows(20))
    inputs = OwnModel(tmp_path).write(own_recipe(), 9, tmp_path / "in", "torch", "python")
    first, *twins = (load_file(path) for path in (inputs.weights, *inputs.twins))
    assert len(twins) == 3
    for arrays in (first, *twins):
        assert set(arrays) == {"dense.weight", "head.weight", "mask", "steps"}
        assert arrays["steps"].dtype == np.int64
        np.testing.assert_array_equal(arrays["mask"], MASK)
        np.testing.assert_array_equal(arrays["head.weight"], arrays["dense.weight"])
    np.testing.assert_array_equal(first["dense.weight"], KERNEL)
    assert all((arrays["dense.weight"] != KERNEL).any() for arrays in twins)
    assert len({arrays["dense.weight"].tobytes() for arrays in twins}) == 3


def test_data_without_rows_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="CC602"):
        repeated({"x": np.zeros((0, 3))}, 4)
    with pytest.raises(DiagnosticError, match="CC602"):
        repeated({}, 4)


# models for which the law does not hold


def halves(whole: Any, a: Any, b: Any, *moved: str) -> Halves:
    first, second, third = (np.array(value, np.float32) for value in (whole, a, b))
    return Halves((first,), (second,), (third,), moved)


OWN_LOSS = {"kind": "custom", "function": {"torch": "own:losses"}}
MEANS = own_recipe(loss=OWN_LOSS, accumulation={"normalize_by": "microbatch"})


@pytest.mark.parametrize(
    ("recipe", "found"),
    [
        (own_recipe(), halves([1, 2, 3, 4], [1, 2], [3, 4.00001])),
        (own_recipe(), halves([[1, 2, 3, 4]], [[1, 2]], [[3, 4]])),  # rows are not the first axis
        (own_recipe(), halves(10, 3, 7)),
        (MEANS, halves(2.5, 1.5, 3.5)),
        (MEANS, halves([1, 2, 3, 4], [1, 2], [3, 4])),
    ],
)
def test_rows_that_do_not_meet(recipe: Recipe, found: Halves) -> None:
    refuse_meeting_rows(found, recipe)


@pytest.mark.parametrize(
    ("recipe", "found"),
    [
        (own_recipe(), halves([1, 2, 3, 4], [1, 2], [3, 4.1])),
        (own_recipe(), halves([1, 2, 3, 4], [2, 1], [4, 3])),
        (own_recipe(), halves(2.5, 1.5, 3.5)),  # a mean
        (own_recipe(), halves(np.nan, 1.5, 3.5)),
        (MEANS, halves([1, 2, 3, 4, 5, 6], [1, 2, 3, 4], [5, 6])),  # unequal numbers of losses
    ],
)
def test_rows_that_meet_are_told(recipe: Recipe, found: Halves) -> None:
    with pytest.raises(DiagnosticError, match=r"CC749.*depends on the other rows"):
        refuse_meeting_rows(found, recipe)


def test_layers_with_statistics_are_named() -> None:
    found = halves([1.0], [1.0], [1.0], *(f"norm{n} (BatchNorm2d)" for n in range(5)))
    with pytest.raises(DiagnosticError) as caught:
        refuse_meeting_rows(found, own_recipe())
    message = caught.value.diagnostics[0].message
    named = ", ".join(f"norm{n} (BatchNorm2d)" for n in range(3))
    assert message.endswith(f"in {named} and 2 more")


# the command


def command(folder: Path, *options: str) -> int:
    (folder / "recipe.yaml").write_text(recipe_text(own_recipe()))
    arguments = ["check-scaling", str(folder / "recipe.yaml"), "--to", "torch", *options]
    return int(app(arguments, standalone_mode=False) or 0)


@pytest.mark.parametrize("option", ["--stress", "--keep-model"])
def test_options_for_the_shipped_bert_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, option) == 2
    said = capsys.readouterr().err
    assert "CC748" in said
    assert f"{option} is for the shipped BERT" in said


def failing(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*args: Any) -> None:
        raise failure(code, "so it is")

    monkeypatch.setattr(OwnModel, "write", write)


@pytest.mark.parametrize(
    ("code", "words"), [("CC749", "not the same by design"), ("CC401", "cannot run here")]
)
def test_what_was_not_compared_is_not_equal(
    code: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing(code, monkeypatch)
    assert command(tmp_path, "--json") == 3
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert (target["verdict"], target["code"], target["runs"]) == ("NOT TESTED", code, [])
    assert target["wording"] == f"{words}: so it is ({code})"


@pytest.mark.parametrize("code", ["CC602", "CC761", "CC762"])
def test_a_model_that_fails_is_a_diagnostic(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(code, monkeypatch)
    assert command(tmp_path) == 1
    assert f"error {code}: so it is" in capsys.readouterr().err


# in the process of a run


def test_the_model_of_a_script_loses_its_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    dry: list[str] = []
    framework = SimpleNamespace(switch_off=dry.append)
    monkeypatch.setattr(dropout, "module_of", lambda inside, name: framework)
    made = SimpleNamespace(model="model", working="half copy")
    script = SimpleNamespace(make_state=lambda run: made)
    dropout.install("some.inside", script)
    assert script.make_state("run") is made
    assert dry == ["model", "half copy"]
