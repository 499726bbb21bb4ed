"""What a condition without a known value decides is left open, not read from one branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.recipe_draft import Filled
from reading_cases.files import cases_of

CASES = {
    case.title: case.sources
    for case in cases_of(Path(__file__).parents[1] / "readings" / "values_by_conditions.md")
}
OPEN = {
    "Betas of one of two runs": {"optimizer.betas": "0.98 if cfg.big or 0.999 if not cfg.big"},
    "Accelerators that differ in the precision and in the micro-batches": {
        "accumulation.steps": "4 if cfg.big or 8 if not cfg.big",
        "precision.mode": "",
    },
    "A trainer's precision of one of two runs": {
        "accumulation.steps": "4 if cfg.big or 8 if not cfg.big",
        "precision.mode": "",
    },
    "An Accelerator of two that is given a precision": {"precision.mode": ""},
    "One beta of a configuration, in a pair with a name": {"optimizer.betas": "cfg.first"},
    "Clipping in the else branch of a setting": {"clipping.kind": "only if not (cfg.plain)"},
    "Clipping in one of two runs": {"clipping.kind": 'only if mode == "a"'},
}
KNOWN: dict[str, dict[str, object]] = {
    "Accelerators that differ only in what they log": {
        "accumulation.steps": 4,
        "precision.compute_dtype": "float16",
    },
    "Clipping in both branches of a setting": {"clipping.kind": "global_norm"},
    "Clipping that the defaults of the flags switch on": {"clipping.kind": "global_norm"},
    "Clipping that the defaults of the flags switch off": {"clipping.kind": "none"},
}


def fields_of(sources: tuple[Source, ...]) -> dict[str, Filled]:
    return dict(lift(analyse(sources)).fields)


@pytest.mark.parametrize("title", OPEN)
def test_what_is_not_decided_is_left_open_and_says_why(title: str) -> None:
    fields = fields_of(CASES[title])
    for path, why in OPEN[title].items():
        assert fields[path].how == "assumed", path
        assert why in fields[path].note


@pytest.mark.parametrize("title", KNOWN)
def test_what_both_branches_or_the_defaults_of_flags_say_is_read(title: str) -> None:
    fields = fields_of(CASES[title])
    for path, value in KNOWN[title].items():
        assert (fields[path].value, fields[path].how) == (value, "read"), path
