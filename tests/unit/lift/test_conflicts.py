from __future__ import annotations

from crosscast_reading.facts.fact import Layer
from crosscast_reading.lift.conflicts import conflicts
from reading_helpers.lift_facts import analysis, fact


def test_two_files_that_state_different_values_contradict() -> None:
    script = fact("clipping.value", 1.0, 7, origin="literal")
    config = fact("clipping.value", 5.0, 2, layer=Layer.CONFIG, file="ds.json", origin="config")
    (found,) = conflicts(analysis([script, config]))
    assert found.code == "CC910"
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("ds.json", 2)
    assert "train.py:7" in found.message
    assert "the config wins" in found.hint


def test_a_flag_that_the_launch_sets_is_no_contradiction() -> None:
    script = fact("clipping.value", 1.0, 7, origin="flag", expression="args.clip")
    launch = fact("clipping.value", 5.0, 2, layer=Layer.LAUNCHER, file="run.sh")
    assert not list(conflicts(analysis([script, launch])))


def test_equal_values_and_values_of_one_layer_are_no_contradiction() -> None:
    same = fact("clipping.value", 1.0, 2, layer=Layer.CONFIG, file="ds.json")
    assert not list(conflicts(analysis([fact("clipping.value", 1.0, 7), same])))
    assert not list(
        conflicts(analysis([fact("clipping.value", 1.0, 7), fact("clipping.value", 2.0, 8)]))
    )


def test_a_value_behind_a_condition_is_no_contradiction() -> None:
    script = fact("clipping.value", 1.0, 7, under=("args.small",))
    config = fact("clipping.value", 5.0, 2, layer=Layer.CONFIG, file="ds.json")
    assert not list(conflicts(analysis([script, config])))
