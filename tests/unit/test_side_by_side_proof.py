"""What a proof makes of runs that stand in for real ones; how recordings and places are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.side_by_side.places import lines_to_watch, places_of, unreached
from crosscast_parity.side_by_side.proof import prove
from crosscast_parity.side_by_side.recording import Recording, TensorSummary, read
from crosscast_parity.side_by_side.running import Limits, Ran, stand_in_for
from proven_runs import NEW, PROGRAM, OnCpu, Runs, proven
from recorded_runs import SKIP, attempt, off, recording, times


def test_equal_runs_are_the_same_and_need_no_more() -> None:
    found, order = proven(old=[times(3), times(3)], new=[times(3)])
    assert (found.outcome, found.updates, found.exact) == ("same", 3, True)
    assert found.wording == "3 updates on both sides, no difference"
    assert order == ["old", "old", "new"]


def test_changes_that_no_run_reached_are_said_with_the_outcome() -> None:
    old = replace(PROGRAM, texts={**PROGRAM.texts, "other.py": b"b = 1\n"})
    new = replace(NEW, texts={**NEW.texts, "other.py": b"b = 2\n"})
    runs = OnCpu(old=[times(3), times(3)], new=[times(3)])
    runs.original = old
    found = prove(old, new, Limits(), run=runs)
    assert found.outcome == "same"
    assert found.wording.endswith(", no difference; 1 change was not executed")
    assert "changed lines that were not executed: other.py:1" in found.notes


def test_a_difference_is_only_believed_when_both_sides_repeat_theirs() -> None:
    other = times(3, backwards=1)
    found, order = proven(old=[times(3), times(3)], new=[other, other], old_moved=[times(3)])
    assert found.outcome == "different"
    assert found.wording == "update 1: after 1 backward passes instead of 2"
    assert found.differs == "accumulation.steps"
    assert order == ["old", "old", "new", "old_moved", "new"]
    found, _ = proven(old=[times(3), times(3)], new=[other, times(3)], old_moved=[times(3)])
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("two runs of the migrated script differ: update 1:")


def test_an_original_that_does_not_repeat_itself_proves_nothing() -> None:
    found, order = proven(old=[times(3), times(3, **off(1e-9))])
    assert found.outcome == "cannot be verified here"
    assert found.wording == "two runs of the original differ: in the last bits"
    assert order == ["old", "old"]


def test_an_original_that_fails_proves_nothing() -> None:
    gone = Ran(recording=Recording(), problem="it ended with exit code 1: x", missing="horovod")
    found, order = proven(old=[gone], new=[times(3)])
    assert order == ["old", "new"]
    assert found.outcome == "cannot be verified here"
    assert found.wording == (
        "the original: it ended with exit code 1: x; the migrated script alone makes 3 updates"
    )
    assert found.hint == "--old-python names an interpreter that has horovod"
    once: list[Recording | Ran] = [
        times(3),
        Ran(recording=Recording(), problem="it was stopped after 5 s"),
    ]
    found, _ = proven(old=once)
    assert found.wording == "the original, run again: it was stopped after 5 s"


def test_a_migrated_script_that_fails_is_different() -> None:
    failed = Ran(recording=times(2), problem="it was ended by SIGSEGV")
    found, _ = proven(old=[times(3), times(3)], new=[failed])
    assert found.outcome == "different"
    assert found.wording == (
        "update 3: the migrated script: it was ended by SIGSEGV; the original makes 3 updates"
    )


def test_a_migrated_script_whose_framework_is_missing_proves_nothing() -> None:
    missing = Ran(recording=Recording(), problem="it ended with exit code 1: x", missing="keras")
    found, _ = proven(old=[times(3), times(3)], new=[missing])
    assert found.outcome == "cannot be verified here"
    assert found.hint == "install keras for python"


def test_other_types_are_not_compared() -> None:
    half = times(3, types=("float16",))
    found, _ = proven(old=[half, half], new=[times(3)])
    assert found.outcome == "cannot be verified here"
    assert "the original computes in float16, the migrated script in float32" in found.wording


def test_random_numbers_of_another_version_are_no_accusation() -> None:
    drawn = replace(times(3, draws=True), version="2")
    other = replace(times(3, backwards=1), version="3")
    found, order = proven(old=[drawn, drawn], new=[other], old_moved=[drawn])
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("both sides draw random numbers, which 3 draws otherwise")
    assert order[-1] == "old_moved"
    same = replace(other, version="2")
    found, _ = proven(old=[drawn, drawn], new=[same, same], old_moved=[drawn])
    assert found.outcome == "different"


def test_an_update_that_rounding_decides_proves_nothing() -> None:
    chaos = times(3, changes=(TensorSummary(4, 0.3, 0.1), TensorSummary(2, 0.02, 0.01)))
    found, _ = proven(old=[times(3), times(3)], new=[times(3, **off(1e-3))], old_moved=[chaos])
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("rounding alone changes the first update")


def test_lines_that_nobody_reaches_prove_nothing() -> None:
    runs = Runs(old=[times(3), times(3)], new=[Ran(recording=times(3))])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert found.outcome == "cannot be verified here"
    assert found.wording == "no changed line was executed: train.py:1"


def test_updates_that_are_all_skipped_prove_nothing() -> None:
    skips = recording(SKIP, SKIP)
    found, _ = proven(old=[skips, skips], new=[skips])
    assert found.outcome == "cannot be verified here"
    assert found.wording == "the original skips every update"
    found, _ = proven(old=[SCALED, SCALED], old_moved=[SCALED], new=[skips, skips])
    assert found.outcome == "different"
    assert found.wording.startswith("update 1: the migrated script skips it")


SCALED = times(3, scale=8.0)
SKIPS = recording(attempt(scale=8.0), attempt(scale=8.0), SKIP, attempt(scale=4.0))
NO_SKIP = recording(attempt(scale=8.0), attempt(scale=8.0), attempt(scale=8.0), attempt(scale=4.0))


def test_an_overflow_is_injected_where_both_sides_scale() -> None:
    sides = {"old": [SCALED, SCALED], "new": [SCALED]}
    found, order = proven(**sides, old_poisoned=[SKIPS], new_poisoned=[SKIPS])
    assert found.outcome == "same"
    assert found.wording.endswith("; an injected overflow is skipped by both")
    assert found.shown["loss_scaling.mode"] == "both skip the update with overflowing gradients"
    assert order[3:] == ["old_poisoned", "new_poisoned"]
    sides = {"old": [SCALED, SCALED], "new": [SCALED]}
    found, _ = proven(**sides, old_poisoned=[SKIPS], new_poisoned=[NO_SKIP])
    assert found.outcome == "different"
    assert found.wording == (
        "update 3: with an overflow injected, the original skips it, the migrated script does not"
    )
    assert found.differs == "loss_scaling.mode"


def test_what_keras_2_counts_after_a_skip_is_not_compared() -> None:
    def of(version: str, recording: Recording) -> Recording:
        return replace(recording, framework="tensorflow", version=version)

    later = attempt(scale=4.0, changes=(TensorSummary(4, 0.3, 0.1), TensorSummary(2, 0.02, 0.01)))
    new = recording(*SKIPS.attempts[:3], later)
    for version, outcome in (("3", "same"), ("2", "different")):
        found, _ = proven(
            old=[of("2", SCALED), of("2", SCALED)],
            new=[of(version, SCALED), of(version, SCALED)],
            old_poisoned=[of("2", SKIPS)],
            new_poisoned=[of(version, new)],
        )
        assert found.outcome == outcome
    other = recording(*SKIPS.attempts[:3], attempt(scale=2.0))
    found, _ = proven(
        old=[of("2", SCALED), of("2", SCALED)],
        new=[of("3", SCALED)],
        old_poisoned=[of("2", SKIPS)],
        new_poisoned=[of("3", other)],
    )
    assert found.differs == "loss_scaling.init_scale"


def test_an_original_that_stops_at_an_overflow_leaves_skipping_open() -> None:
    stops = Ran(recording=Recording(), problem="it ended with exit code 1: inf")
    found, order = proven(old=[SCALED, SCALED], new=[SCALED], old_poisoned=[stops])
    assert found.outcome == "same"
    assert "loss_scaling.mode" not in found.shown
    assert "skipping is not verified" in found.notes[-1]
    assert order[-1] == "old_poisoned"


# recordings

UPDATE: dict[str, Any] = {
    "kind": "update",
    "optimizer": 0,
    "class": "SGD",
    "skipped": False,
    "backwards": 1,
    "scale": None,
    "settings": [{"lr": 0.1, "tensors": 1}],
    "clips": [],
    "gradients": [[1, 1.0, float("inf")]],
    "changes": [None],
    "types": [],
}
END: dict[str, Any] = {"kind": "end", "enough": True, "final": [], "error": "", "reached": {}}


def test_a_recording_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "updates.jsonl"
    assert read(path) == Recording()
    path.write_text(json.dumps(UPDATE) + "\n" + json.dumps(END)[:-9])
    found = read(path)
    assert (len(found.attempts), found.whole) == (1, False)
    path.write_text(json.dumps(UPDATE) + "\n" + json.dumps(END) + "\n")
    assert read(path).whole


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "{}",
        '{"kind": "other"}',
        json.dumps({**UPDATE, "gradients": [[1]]}),
        json.dumps({**UPDATE, "gradients": 3}),
        json.dumps({**UPDATE, "settings": [3]}),
        json.dumps({**UPDATE, "scale": "high"}),
        json.dumps({**END, "reached": []}),
        "\0\0",
        "[" * 100_000,
        json.dumps({**UPDATE, "gradients": [[float("inf"), 1, 1]]}),
    ],
)
def test_a_damaged_recording_says_where(tmp_path: Path, line: str) -> None:
    path = tmp_path / "updates.jsonl"
    path.write_text(json.dumps(UPDATE) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=r"^record 2: "):
        read(path)


# places

BEFORE = b"""\
import old
'''text'''
x = call(
    1,
)
if x:
    y = 2
z = 3
"""


def test_places_are_statements() -> None:
    after = BEFORE.replace(b"old", b"new").replace(b"text", b"words").replace(b"1,", b"2,")
    after = after.replace(b"    y = 2\n", b"")
    found = places_of({"a.py": BEFORE}, {"a.py": after.replace(b"if x:\n", b"if x: pass\n")})
    assert [(place.line, place.before, place.after) for place in found] == [
        (3, (3,), (3,)),
        (6, (6, 7), (6,)),
    ]
    assert lines_to_watch(found, after=False) == {"a.py": (3, 6, 7)}
    assert lines_to_watch(found, after=True) == {"a.py": (3, 6)}
    assert unreached(found, {}, {"a.py": (3,)}) == [found[1]]


def test_imports_are_places_where_nothing_else_differs() -> None:
    after = BEFORE.replace(b"old", b"new")
    assert [place.line for place in places_of({"a.py": BEFORE}, {"a.py": after})] == [1]
    files = {"a.py": after, "b.py": BEFORE.replace(b"z = 3", b"z = 4")}
    found = places_of(dict.fromkeys(files, BEFORE), files)
    assert [(place.file, place.line) for place in found] == [("b.py", 8)]


def test_a_deleted_line_is_sought_before() -> None:
    found = places_of({"a.py": BEFORE}, {"a.py": BEFORE.replace(b"z = 3\n", b"")})
    assert [(place.line, place.after) for place in found] == [(8, ())]
    assert unreached(found, {"a.py": (8,)}, {}) == []
    assert unreached(found, {}, {"a.py": (8,)}) == found


@pytest.mark.parametrize(
    ("ran", "found"),
    [
        (Ran(recording=Recording(), problem="x", missing="apex.amp"), True),
        (Ran(recording=Recording(), problem="ImportError: Please install apex from y"), True),
        (Ran(recording=Recording(), problem="ValueError: apex"), False),
        (Ran(recording=Recording(), problem="ImportError: install horovod"), False),
        (Ran(recording=Recording(), problem="x", missing="horovod"), False),
    ],
)
def test_a_stand_in_is_found_by_the_module_or_by_what_the_program_says(
    ran: Ran, found: bool
) -> None:
    folder = stand_in_for("torch", ran)
    assert (folder is not None and folder.name == "apex") == found
