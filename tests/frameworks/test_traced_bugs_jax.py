"""Planted bugs and right rewrites in JAX are traced: one that stops its script is another bug."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from crosscast_parity.planning.runs import recipe_variants
from crosscast_parity.self_test.mutation import Mutation
from frameworks.subprocesses import run_python
from mutants.bugs import bugs_of
from mutants.emitted import Texts, texts_for, variants
from mutants.jax_window import WINDOW
from mutants.rewrites import REWRITES
from mutants.spelling import runtime, train, written
from mutants.storage import bugs_of as stored_bugs
from mutants.storage import recipe_in, stages_of
from tiers import exhaustive

pytestmark = pytest.mark.jax
RUN = Path(__file__).with_name("run_traced_jax.py")
TRACED = {"train.py", "model.py", "runtime/state.py"}
Told = Mapping[str, Mapping[str, str]]
Tell = Callable[[Sequence[Mutation], Texts], Told]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """What is told of the clean script and of those with a change."""

    def told(changes: Sequence[Mutation], texts: Texts) -> Told:
        scripts = {change.name: texts | change.mutate(texts) for change in changes}
        path = tmp_path / "texts.json"
        path.write_text(json.dumps({"clean": texts, **scripts}))
        outcome: Told = run_python(RUN, "jax", path, timeout=3600)
        return outcome

    return told


def stored() -> Texts:
    recipe = recipe_in("float16")
    (stage,) = stages_of(recipe, "gate")
    return texts_for(recipe_variants(stage.derive(recipe), stage)["main"], "jax")


def test_a_bug_is_another_program_and_one_that_stops_is_told(tell: Tell) -> None:
    stops = train("loss = loss_fn(model, batch)", "loss = loss_fn(model)")
    late = runtime("rows", "itertools.count(start)", "range(9)")
    other = {"sum_loss": stops, "no_shuffle": late, "loss_half": WINDOW["loss_half"]}
    told = tell(written(other), variants("jax")["main"])
    assert told["sum_loss"]["stopped"].startswith("TypeError")
    assert told["no_shuffle"] == told["clean"]
    assert told["loss_half"]["programs"] not in ("", told["clean"]["programs"])


@exhaustive("traces the scripts of JAX with every bug and every rewrite")
def test_every_bug_and_every_rewrite_is_traced(tell: Tell) -> None:
    texts = variants("jax")["main"]
    changes = [
        bug for bug in (*bugs_of("jax"), *REWRITES["jax"]) if TRACED & bug.mutate(texts).keys()
    ]
    told = tell(changes, texts)
    assert {name: of["stopped"] for name, of in told.items() if of["stopped"]} == {}


@exhaustive("traces the scripts of JAX with every bug of storage")
def test_every_bug_of_storage_is_traced_and_another_program(tell: Tell) -> None:
    bugs = stored_bugs("jax")
    told = tell(bugs, stored())
    assert {name: of["stopped"] for name, of in told.items() if of["stopped"]} == {}
    clean = told["clean"]["programs"]
    assert [bug.name for bug in bugs if told[bug.name]["programs"] == clean] == []
