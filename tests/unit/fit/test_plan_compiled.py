"""`crosscast plan --trace` where nothing is simulated: a compiler plans the memory of a step."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.memory.records import MeasuredModel
from crosscast.recipe.document import Recipe
from crosscast_parity.memory import short_runs
from recipe_texts import text_of

MIB = 2**20
PLANNED = MeasuredModel(
    peaks=((2, 3 * MIB), (4, 5 * MIB), (8, 9 * MIB)),
    parameters=4000,
    trained=1000,
    optimizer=8000,
    ema=0,
    held_row=0,
    widened=False,
    planned=True,
)
Requests = list[tuple[str, str, bool]]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Requests:
    """Target, interpreter and checkpointing of what is compiled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(text_of(batch="{micro_batch_size: 8}"))
    asked: Requests = []

    def plans(
        recipe: Recipe, target: str, python: str, *, folder: Path, timeout: float
    ) -> MeasuredModel:
        asked.append((target, python, recipe.activation_checkpointing))
        return PLANNED

    monkeypatch.setattr(short_runs, "measure_model", plans)
    return asked


def plan(*words: str) -> Result:
    done = CliRunner().invoke(app, ["plan", "recipe.yaml", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_nothing_is_compiled_unasked(requests: Requests) -> None:
    refused = plan("--to", "jax", "--memory", "30MiB")
    assert refused.exit_code == 1
    assert "error CC451: jax: its memory is not modelled" in refused.stderr
    assert "plan --trace" in refused.stderr
    by_default = plan("--memory", "1GiB")
    assert (by_default.exit_code, "note CC451: jax" in by_default.stderr) == (0, True)
    assert requests == []


def test_the_shipped_model_is_found_like_any_other(requests: Requests) -> None:
    done = plan("--to", "jax", "--memory", "30MiB", "--trace", "--answers", "50", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["targets"][0]["now"]["evidence"] == "planned"
    (warning,) = [told for told in document["diagnostics"] if told["code"] == "CC454"]
    assert warning["severity"] == "warning"
    # Once without and once with checkpointing, which a compiler may heed.
    assert sorted(requests) == [("jax", sys.executable, flag) for flag in (False, True)]


def test_what_does_not_fit_on_a_cpu_may_on_a_gpu(requests: Requests) -> None:
    done = plan("--to", "jax", "--memory", "1MiB", "--trace")
    assert (done.exit_code, "error CC460" in done.stderr) == (1, True), done.output
    assert "more may fit than is said here" in " ".join(done.stderr.split())


def test_what_is_simulated_is_not_compiled(requests: Requests) -> None:
    done = plan("--to", "torch,jax", "--memory", "100MiB", "--trace", "--json")
    first, second = json.loads(done.stdout)["targets"]
    assert (first["now"]["evidence"], second["now"]["evidence"]) == ("estimated", "planned")
    assert {target for target, _, _ in requests} == {"jax"}
