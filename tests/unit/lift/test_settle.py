from __future__ import annotations

import pytest

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.lift.precedence import Settled, settle
from reading_helpers.lift_facts import fact, open_fact


def settled(*facts: Fact, field: str = "clipping.kind", subject: str = "") -> Settled:
    return settle(profile_of(facts))[field, subject]


def test_the_outermost_layer_counts_and_the_others_are_kept() -> None:
    inner = fact("clipping.value", 1.0, 3)
    outer = fact("clipping.value", 5.0, 1, layer=Layer.LAUNCHER, file="run.sh")
    found = settled(inner, outer, field="clipping.value")
    assert found.fact.value == 5.0
    assert found.others == (inner,)


@pytest.mark.parametrize("first", [True, False])
def test_a_word_for_something_beats_a_word_for_nothing_of_the_same_layer(first: bool) -> None:
    facts = [fact("clipping.kind", "none", 1), fact("clipping.kind", "global_norm", 2)]
    assert settled(*(facts if first else facts[::-1])).fact.value == "global_norm"


def test_nothing_said_outside_beats_something_inside() -> None:
    facts = [
        fact("precision.enabled", "flag", 1),
        fact("precision.enabled", "never", 2, layer=Layer.LAUNCHER),
    ]
    assert settled(*facts, field="precision.enabled").fact.value == "never"


def test_known_beats_unknown_and_certain_beats_likely() -> None:
    facts = [
        open_fact("accumulation.steps", "n"),
        fact("accumulation.steps", 2, 2, confidence="likely"),
        fact("accumulation.steps", 4, 3),
    ]
    assert settled(*facts, field="accumulation.steps").fact.value == 4


def test_a_certain_no_beats_a_likely_yes_where_it_is_no_absence() -> None:
    facts = [
        fact("accumulation.loss_divided", "yes", 2, confidence="likely"),
        fact("accumulation.loss_divided", "no", 3),
    ]
    assert settled(*facts, field="accumulation.loss_divided").fact.value == "no"


def test_places_of_facts_that_agree_come_together_without_repeats() -> None:
    facts = [
        fact("clipping.value", 1.0, 3),
        fact("clipping.value", 1.0, 9),
        fact("clipping.value", 2.0, 5),
    ]
    found = settled(*facts, field="clipping.value")
    assert [place.line for place in found.places] == [3, 9]
    assert [other.value for other in found.others] == [2.0]


def test_words_under_different_conditions_are_selectable() -> None:
    facts = [
        fact("clipping.kind", "global_norm", 1, under=("args.norm",)),
        fact("clipping.kind", "value", 2, under=("not args.norm",)),
    ]
    found = settled(*facts)
    assert found.fact.value == "selectable"
    assert [place.line for place in found.places] == [1, 2]


def test_words_under_the_same_condition_are_not_selectable() -> None:
    facts = [fact("clipping.kind", "global_norm", 1), fact("clipping.kind", "value", 2)]
    assert settled(*facts).fact.value == "global_norm"


def test_fields_that_may_have_several_words_have_all_of_them() -> None:
    facts = [
        fact("precision.dtypes", ("float16",), 1),
        fact("precision.dtypes", "bfloat16", 2),
        fact("precision.dtypes", "float32", 3),
    ]
    assert settled(*facts, field="precision.dtypes").fact.value == ("float16", "bfloat16")


def test_nothing_alone_stays_nothing() -> None:
    assert settled(fact("parallel.kind", ("none",)), field="parallel.kind").fact.value == ("none",)


def test_optimizers_are_kept_apart_and_other_fields_are_not() -> None:
    facts = [
        fact("optimizer.learning_rate", 1.0, subject="a"),
        fact("optimizer.learning_rate", 2.0, subject="b"),
        fact("clipping.kind", "value", subject="a"),
    ]
    found = settle(profile_of(facts))
    assert set(found) == {
        ("optimizer.learning_rate", "a"),
        ("optimizer.learning_rate", "b"),
        ("clipping.kind", ""),
    }


def test_fields_that_nobody_knows_are_left_out() -> None:
    assert not settle(profile_of([fact("no.such", 1)]))
