"""What crosses frameworks of a static Paddle 1 classifier, and what is left to the user."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import static_classifier
from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "from-lark.md"
LEFT = {
    *("data.source", "data.train", "data.eval", "data.shuffle", "precision.tf32"),
    *("schedule.total_steps", "batch.micro_batch_size", "accumulation.tail"),
    "optimizer.eps_placement",
}


def moved(changes: dict[str, tuple[str, str]] | None = None, **more: object) -> CrossMigration:
    texts = dict(static_classifier.FILES)
    for name, (old, new) in (changes or {}).items():
        assert old in texts[name]
        texts[name] = texts[name].replace(old, new)
    given = [Source(name, text) for name, text in texts.items()]
    return migrate_across(given, ["torch"], **more)  # type: ignore[arg-type]


def test_only_what_no_file_says_is_left_to_the_user() -> None:
    across = moved()
    recipe = across.recipe
    assert set(across.fill_in) == LEFT
    assert recipe.model.model_dump()["layer_norm_eps"] == 1e-5
    assert recipe.model.model_dump()["labels"] == 3
    assert recipe.loss.kind == "cross_entropy"
    assert recipe.schedule.model_dump()["decay_from"] == "start"
    assert recipe.schedule.model_dump()["tick"] == "attempt"
    assert recipe.schedule.model_dump()["end_lr"] == 0.0
    assert recipe.batch.micro_batch_size == 8
    assert across.fields["batch.micro_batch_size"].note.startswith("128 tokens: 8 rows of 16")
    assert across.fields["schedule.total_steps"].note.startswith("3 epochs: 3 * rows")


def test_the_page_lists_what_is_left() -> None:
    rows = re.findall(r"^\| `([\w., `]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = {name.strip("` ") for row in rows for name in row.split(",")}
    assert told >= LEFT


def test_the_release_decides_where_epsilon_is_added() -> None:
    across = moved(versions={"paddle": "1.8.5"})
    assert set(across.fill_in) == LEFT - {"optimizer.eps_placement"}
    assert across.recipe.optimizer.model_dump()["eps_placement"] == "before_correction"
    assert across.recipe.clipping.model_dump()["eps"] == 0.0


@pytest.mark.parametrize(("keep", "limit"), [(False, 1.0), (True, 8.0)])
def test_a_limit_that_is_multiplied_by_the_loss_scale(keep: bool, limit: float) -> None:
    across = moved(keep_bugs=keep)
    assert across.recipe.clipping.model_dump()["max_norm"] == limit
    (fate,) = [fate for fate in across.fates if fate.rule == "CL305"]
    assert fate.became == ("kept" if keep else "changed on purpose")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("network.py", "loss *= args.loss_scaling", "loss *= args.weight_decay"),
        ("masters.py", "wide = wide / float(loss_scaling)", "wide = wide * 1.0"),
    ],
)
def test_a_loss_that_is_multiplied_by_a_weight_is_the_programs_own(
    file: str, old: str, new: str
) -> None:
    across = moved({file: (old, new)})
    assert across.fields["loss.kind"].how == "assumed"


@pytest.mark.parametrize(
    ("tail", "steps"), [("carry", 31), ("drop", 30), ("flush_renormalized", 33)]
)
def test_epochs_are_updates_if_the_file_of_the_rows_is_there(
    tail: str, steps: int, tmp_path: Path
) -> None:
    np.savez(tmp_path / "train.npz", labels=np.zeros(84, np.int64))
    settings = {
        **{"data.train": str(tmp_path / "train.npz"), "data.eval": "eval.npz"},
        **{"batch.micro_batch_size": 8, "accumulation.tail": tail},
    }
    across = moved(settings=settings)
    assert across.recipe.schedule.total_steps == steps
    assert "schedule.total_steps" not in across.fill_in
    settings["data.train"] = str(tmp_path / "none.npz")
    assert "schedule.total_steps" in moved(settings=settings).fill_in


def test_without_a_warm_up_the_rate_is_constant() -> None:
    across = moved({"run.sh": ("--warmup_proportion 0.1", "--warmup_proportion 0.0")})
    assert across.recipe.schedule.name == "constant"
    assert "schedule.name" not in across.fill_in


def test_norms_that_differ_leave_the_epsilon_open() -> None:
    other = "x = layers.layer_norm(x, epsilon=1e-12)"
    across = moved({"network.py": ('x = norm(x, "first")', other)})
    assert "model.layer_norm_eps" in across.fill_in


def test_a_launch_script_names_the_sizes_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in static_classifier.FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    args = ["migrate", "train.py", "run.sh", "--to", "torch", "-o", "out"]
    done = CliRunner().invoke(app, args)
    assert "9 fields to fill in" in done.stdout, done.stdout
    model = tmp_path / "out" / "recipe.yaml"
    assert "hidden_size: 16" in model.read_text(encoding="utf-8")


def test_in_place_names_the_modules_that_were_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in static_classifier.FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    alone = CliRunner().invoke(
        app, ["migrate", "train.py", "--to", "paddle3", "--check", "--experimental"]
    )
    wanted = "masters.py, network.py, rates.py: imported, with the old API, and not named"
    assert wanted in alone.stderr
    whole = CliRunner().invoke(
        app, ["migrate", ".", "--to", "paddle3", "--check", "--experimental"]
    )
    assert "not named" not in whole.stderr
