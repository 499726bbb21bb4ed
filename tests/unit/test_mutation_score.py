"""The pages of the mutation score and of the false alarms, and the journal behind them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from mutants import journal
from mutants.alarms_page import page as alarms_page
from mutants.causes import Blamed, Explained
from mutants.causes import page as causes_page
from mutants.clean import Comparison
from mutants.journal import Journal
from mutants.score import page, survivors, to_json, unexpected
from mutants.settings import count, groups
from mutants.trials import CLEAN, Trial, trial_of
from parity_reports import check, seeded


def trial(name: str, *levels: Any, verdict: str = "DIFFERENT", **more: Any) -> Trial:
    more = {"practice": ("accuracy-1",), **more}
    return Trial(name=name, levels=levels, verdict=verdict, first="", **more)


FOUND = {
    "torch": [
        trial(CLEAN, verdict="EQUIVALENT", practice=()),
        trial("gelu_tanh", "L1a"),
        trial("wd_on_all", "L0c", "L1b", practice=()),
        trial("amsgrad", verdict="EQUIVALENT"),
        trial("interval_off_by_one", "L0a"),
    ]
}
SAME = Comparison(
    group="float32, seed 7",
    setting="two threads",
    framework="torch",
    verdict="EQUIVALENT",
    wording="equivalent",
    used={"L2 trajectory": 0.25},
)


def test_the_clean_script_is_no_bug() -> None:
    assert [survivor.name for survivor in survivors(FOUND["torch"])] == ["amsgrad"]
    plain = to_json(FOUND)["torch"]
    assert [bug["name"] for bug in plain["bugs"] if not bug["caught"]] == ["amsgrad"]
    assert [entry["name"] for entry in plain["clean"]] == [CLEAN]


def test_what_only_paired_seeds_see_is_not_counted_as_the_quick_check() -> None:
    report = seeded()
    name = next(pair.contestant for pair in report.pairs if pair.contestant == "paddle")
    assert trial_of(report, name).levels == ()
    late = check("L0a", "end", 1.0, 0.0, "main", stage="seed-3", result="fail")
    early = check("L0c", "gradient norm", 1.0, 0.0, "main", result="fail")
    for failing, levels in (((late,), ()), ((late, early), ("L0c",))):
        pairs = tuple(replace(pair, checks=(*pair.checks, *failing)) for pair in report.pairs)
        assert trial_of(replace(report, pairs=pairs), name).levels == levels


def test_levels_that_were_expected_and_blind_are_told() -> None:
    assert [trial.name for trial in unexpected(FOUND["torch"])] == ["interval_off_by_one"]


def test_the_page_counts_and_explains() -> None:
    text = page(FOUND, {"torch": 5})
    assert "| torch | 5 | 4 | 3 | 75.0% | EQUIVALENT |" in text
    assert "| one level only | 2 |" in text
    assert "| common practice: final accuracy within 1 point | 3 |" in text
    assert "`wd_on_all` | biases and LayerNorm decay | `optimizer.no_decay` | L0c, L1b |" in text
    assert "**survives** (EQUIVALENT)" in text
    assert "- `amsgrad`: the largest" in text


def test_the_alarms_page_counts_what_was_accused() -> None:
    accused = {
        **asdict(SAME),
        "framework": "paddle",
        "verdict": "DIFFERENT",
        "alarms": ("L0c x",),
        "used": {"L2 trajectory": 0.5},
    }
    text = alarms_page([asdict(SAME), accused])
    assert "2 comparisons" in text
    assert "**1 alarms**" in text
    assert "| torch, two threads | 1 | 1 | 0 | 0 |" in text
    assert "| paddle, two threads | 1 | 0 | 0 | 1 |" in text
    assert "| L2 trajectory | 0.5 | paddle, float32, seed 7, two threads |" in text
    assert "- float32, seed 7, two threads, paddle: DIFFERENT: L0c x" in text


def test_the_matrix_is_large_and_its_groups_differ() -> None:
    assert count() >= 100
    names = [group.name for group in groups()]
    assert len(set(names)) == len(names)
    assert len({repr(group.recipe) for group in groups()}) == len(names)


def test_the_journal_forgets_when_the_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept() -> Journal:
        return Journal(tmp_path / "trials.json", ["jax"])

    kept().add({"bug": "a"}, {"levels": ["L2"]})
    assert kept().find({"bug": "a"}) == {"levels": ["L2"]}
    assert kept().find({"bug": "b"}) is None
    monkeypatch.setattr(journal, "code", lambda frameworks: "other")
    assert kept().find({"bug": "a"}) is None
    kept().add({"bug": "b"}, {"levels": []})
    monkeypatch.undo()
    assert kept().find({"bug": "a"}) is None


def test_what_decides_about_a_result_is_of_the_core_the_harness_and_its_frameworks() -> None:
    files = {str(path.relative_to(journal.ROOT)) for path in journal.deciding(["torch", "jax"])}
    assert "backends/crosscast_jax/inside/twin.py" in files
    assert "templates/jax/train.py.j2" in files
    assert "templates/_shared/launch_setup.sh.j2" in files
    assert "parity/crosscast_parity/checks/check.py" in files
    assert "translator/crosscast/recipe/load.py" in files
    others = ("_paddle/", "templates/paddle", "/rules/", "crosscast_reading", "crosscast_migrate")
    assert not [name for name in files if any(part in name for part in others)]


def test_the_page_of_causes_counts_only_exact_names_as_right() -> None:
    def blamed(name: str, fields: tuple[str, ...], *, late: bool) -> Blamed:
        return Blamed(name=name, field="optimizer.eps", blamed=fields, late=late, wording="")

    found = [
        blamed("a", ("optimizer.eps",), late=True),
        blamed("b", ("optimizer.eps", "clipping.max_norm"), late=True),
        blamed("c", (), late=False),
        blamed("d", ("optimizer.eps[1]",), late=False),
    ]
    explained = [
        Explained(name="late_frozen", check="L1b", cause="fits kernel at rest, from window 11 on"),
        Explained(name="late_decay", check="L1b", cause="no known mistake fits, from window 2 on"),
    ]
    text = causes_page("torch", found, explained)
    assert "L2): 2 bugs, the planted field named for **1**." in text
    assert "All: 4 bugs, the planted field named for 2." in text
    assert "| `b` | `optimizer.eps` | `optimizer.eps`, `clipping.max_norm` | yes |" in text
    assert "| `c` | `optimizer.eps` | nothing | no |" in text
    assert "As expected: **1** of 2." in text
    row = "| `late_frozen` | one tensor rests from window 11 on | L1b | fits kernel at rest, from"
    assert row in text
