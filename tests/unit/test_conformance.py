"""The conformance table: what becomes of observations, and the page in the docs."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.adapters import columns, conformance, rows, table
from crosscast_parity.adapters.cases import CASES, START, Seen
from crosscast_parity.adapters.columns import BY_NAME, COLUMNS, observe
from crosscast_parity.adapters.questions import QUESTIONS

DOCS = Path(__file__).parents[2] / "docs" / "reference"
STORED: dict[str, Any] = json.loads((DOCS / "conformance.json").read_text(encoding="utf-8"))
Cases = dict[str, dict[str, Any]]


def seen(*weights: float, scales: list[float] | None = None) -> dict[str, Any]:
    record = Seen.nothing()
    for index, weight in enumerate(weights):
        record.add(weight, scales[index] if scales else None)
    return record.to_json()


def falling(*updates: float) -> dict[str, Any]:
    """Weights that fall by these amounts, one a micro-batch."""
    weights, weight = [], START
    for update in updates:
        weight -= update
        weights.append(weight)
    return seen(*weights)


def test_page_is_what_the_stored_measurements_say() -> None:
    rebuilt = table.build(STORED["observations"])
    assert rebuilt == STORED, "docs/reference/conformance.json: run the command that its page names"
    assert (DOCS / "conformance.json").read_text(encoding="utf-8") == table.to_text(STORED)
    assert (DOCS / "conformance.md").read_text(encoding="utf-8") == table.markdown(STORED)


def test_stored_table_is_whole() -> None:
    assert [column["name"] for column in STORED["columns"]] == [c.name for c in COLUMNS]
    assert [row["key"] for row in STORED["rows"]] == [*(q.key for q in QUESTIONS), "half"]
    for row in STORED["rows"]:
        assert set(row["cells"]) == set(BY_NAME)
        assert all(row["cells"].values())


def test_emitted_scripts_agree_with_each_other() -> None:
    for row in STORED["rows"]:
        answers = {
            text
            for name, text in row["cells"].items()
            if name.startswith("emitted") and name not in row["silent"]
        }
        assert len(answers) <= 1, row["key"]
        assert not any(table.differs(row, name) for name in row["cells"] if "emitted" in name)


@pytest.mark.parametrize(
    ("updates", "words"),
    [
        ((0, 1, 1, 1, 1, 1, 1), "stepped, divided by what it holds"),
        ((1, 1, 0.5, 1, 1, 0.5), "stepped, divided by a full window"),
        ((1, 1, 1, 1, 1), "carried into the next epoch"),
        ((1, 1, 1, 1), "dropped"),
        ((1, 1, 2, 1, 1, 2), "updates 1, 1, 2, 1, 1, 2"),
        ((), "updates "),
    ],
)
def test_tail(updates: tuple[float, ...], words: str) -> None:
    assert rows.tail({"tail": falling(*updates)}) == words


@pytest.mark.parametrize(
    ("function", "case", "updates", "words"),
    [
        (rows.uneven, "uneven", (2,), "mean of the rows"),
        (rows.uneven, "uneven", (3,), "mean of the micro-batches"),
        (rows.uneven, "uneven", (6,), "sum"),
        (rows.uneven, "uneven", (5,), "update 5"),
        (rows.clip_window, "clip_window", (1,), "the gradient of the window"),
        (rows.clip_window, "clip_window", (0.5,), "every micro-batch's"),
        (rows.clip_scaled, "clip_scaled", (2,), "after unscaling"),
        (rows.clip_scaled, "clip_scaled", (2 / 1024,), "before unscaling"),
        (rows.rate_skip, "rate_skip", (1, 0, 0.75), "waits"),
        (rows.rate_skip, "rate_skip", (1, 0, 0.5), "ticks"),
        (rows.rate_skip, "rate_skip", (1, 0, 1), "updates 1, 1"),
        (rows.rate_micro, "rate_micro", (1, 0.875, 0.75, 0.625), "updates"),
        (rows.rate_micro, "rate_micro", (0.875, 0.625, 0.375, 0.125), "micro-batches"),
    ],
)
def test_answers_by_updates(function: Any, case: str, updates: Any, words: str) -> None:
    assert function({case: falling(*updates)}) == words


def test_overflow_inside_a_window() -> None:
    skipped = falling(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1)
    slides = falling(0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0)
    leaked = falling(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1)
    assert rows.inside({"inside": skipped}) == "the whole window is skipped"
    assert rows.inside({"inside": slides}).startswith("this micro-batch is left out")
    assert rows.inside({"inside": leaked}) == "moves after micro-batches 4, 8, 12"


def test_skip_names_what_moved() -> None:
    clean = {"weights": [63, 63, 62], "scales": [1024, 512, 512], "counter": 2}
    clean["slots"] = [[1, 0.1, 0.2], [1, 0.1, 0.2], [2, 0.3, 0.4]]
    assert rows.skip({"skip": clean}) == "nothing moved, scale halves"
    assert rows.counters({"skip": clean}) == "optimizer: 2; trainer: 2"
    moved = clean | {"weights": [63, 62, 61], "scales": [1024, 1024, 1024], "counter": None}
    moved["slots"] = [[1, 0.1, 0.2], [2, 0.1, 0.3], [3, 0.3, 0.4]]
    assert rows.skip({"skip": moved}) == "weights and moments moved, scale stays"
    assert rows.counters({"skip": moved}) == "optimizer: 3"


def test_overflow_without_scale() -> None:
    assert rows.unscaled({"unscaled_overflow": seen(63.0, float("-inf"))}) == "the run stops"
    trained = seen(63.0, float("-inf"), float("nan"))
    assert "inf or nan" in rows.unscaled({"unscaled_overflow": trained})
    assert rows.unscaled({"unscaled_overflow": seen(63.0, 63.0, 62.0)}) == "skipped"


def test_half() -> None:
    silent = {"computed": "float32", "scaler": False, "warned": False}
    assert rows.half(silent) == "float32, no loss scaling, no warning"
    assert rows.half(silent | {"computed": "bfloat16", "warned": True}).endswith("a warning")
    assert rows.half({"refused": "no"}) == "refused: no"


def test_a_change_of_a_trainer_shows() -> None:
    observations = copy.deepcopy(STORED["observations"])
    observations["accelerate"]["cases"]["tail"] = observations["emitted_torch"]["cases"]["tail"]
    changed = table.build(observations)
    assert changed["rows"][0]["cells"]["accelerate"] == "stepped, divided by what it holds"
    assert table.differs(STORED["rows"][0], "accelerate")
    assert not table.differs(changed["rows"][0], "accelerate")
    assert table.markdown(changed) != table.markdown(STORED)


def test_reason_instead_of_an_observation() -> None:
    observations = {"emitted_torch": copy.deepcopy(STORED["observations"]["emitted_torch"])}
    other = copy.deepcopy(STORED["observations"]["accelerate"])
    other["cases"]["tail"], other["cases"]["inside"] = "no such setting", "refused"
    lines = {r["key"]: r for r in table.build(observations | {"accelerate": other})["rows"]}
    assert lines["tail"]["cells"]["accelerate"] == "no such setting"
    assert not table.differs(lines["tail"], "accelerate")
    assert table.differs(lines["inside"], "accelerate")


def test_terminal_groups_equal_answers() -> None:
    text = "\n".join(table.text_lines(STORED))
    assert "carried into the next epoch: Keras fit" in text
    assert text.count("Short last window") == 1


def fake(tmp_path: Path, program: str) -> str:
    """An interpreter that runs this instead of the probe."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n{program}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        ("import a_trainer_that_is_not_there", "CC736", "needs 'a_trainer_that_is_not_there'"),
        ("raise ValueError('changed')", "CC739", "ValueError: changed"),
        ("print('no JSON')", "CC739", "no JSON"),
        ("print('[1]')", "CC739", "unexpected output"),
        ("", "CC739", "no JSON"),
    ],
)
def test_column_that_cannot_be_asked(tmp_path: Path, program: str, code: str, words: str) -> None:
    with pytest.raises(DiagnosticError, match=code) as caught:
        observe(COLUMNS[3], fake(tmp_path, program))
    assert words in caught.value.diagnostics[0].message


def test_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="CC739"):
        observe(COLUMNS[3], str(tmp_path / "nothing"))


def test_command_leaves_out_whom_it_cannot_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(column: columns.Column, python: str) -> dict[str, Any]:
        if column.name == "keras":
            return observe(column, fake(tmp_path, "import a_trainer_that_is_not_there"))
        found: dict[str, Any] = STORED["observations"][column.name]
        return found

    monkeypatch.setattr(conformance, "observe", ask)
    assert conformance.main(["--only", "emitted_torch", "--write", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "conformance.json").read_text())
    assert [column["name"] for column in written["columns"]] == ["emitted_torch"]
    capsys.readouterr()
    (tmp_path / "conformance.json").unlink()
    assert conformance.main(["--only", "keras", "--write", str(tmp_path)]) == 3
    assert "CC736" in capsys.readouterr().out
    assert not (tmp_path / "conformance.json").exists()


def test_cases_are_plain_data() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    json.dumps([case.to_json() for case in CASES], allow_nan=False)
    assert START == 64.0
