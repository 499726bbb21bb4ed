"""lift(compile(recipe)) == recipe for the Paddle dialects that are flags for a script of yours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from classic_recipes import classic_recipes
from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import Verdict
from crosscast_paddle.target.classic_scripts import SCRIPTS, TASKS
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.recipe_diff import Side, differences, side_of
from crosscast_reading.readers.shell.emitted_launch import CLASSICS, COMMON, LABELS
from launch_scripts import HALF, fitting
from property_settings import examples

KEPT = (Verdict.EXACT, Verdict.ADAPTED)
QUICK = settings(max_examples=examples(20), phases=[Phase.generate, Phase.shrink])
every_script = pytest.mark.parametrize("script", sorted(SCRIPTS))


def compiled(recipe: Recipe, script: str) -> Compiled:
    (compiled,) = compile_recipe(recipe, [f"paddle@{script}"])
    return compiled


def sources_of(compiled: Compiled) -> list[Source]:
    return [Source(f"out/{path}", file.text) for path, file in compiled.files.items()]


def lifted(sources: list[Source]) -> Lifted:
    found = lift(analyse(sources))
    assert found.recipe is not None, found.diagnostics
    return found


def side(recipe: Recipe) -> Side:
    return Side(path="", values=flat(recipe), places={}, unknown=frozenset())


def kept(built: Compiled) -> set[str]:
    """Return the fields that the target expresses."""
    exact = {judgement.path for judgement in built.judgements if judgement.row.verdict in KEPT}
    assert exact
    return exact


@every_script
@QUICK
@given(data=st.data())
def test_every_field_that_is_expressed_comes_back(script: str, data: st.DataObject) -> None:
    recipe = data.draw(classic_recipes(script))
    emitted = compiled(recipe, script)
    found = lifted(sources_of(emitted)).recipe
    assert found is not None
    exact = kept(emitted)
    assert [d for d in differences(side(recipe), side(found)) if d.path in exact] == []
    assert found.name == recipe.name
    assert found.schedule.total_steps == recipe.schedule.total_steps


@every_script
def test_nothing_differs_between_recipe_and_folder(script: str, tmp_path: Path) -> None:
    from crosscast.messages.output import write_files
    from crosscast.recipe.yaml_text import recipe_text

    tail = "flush_renormalized" if script == "ernie" else "carry"
    changes = {} if script == "lark" else HALF
    recipe = fitting(**changes, accumulation=f"{{steps: 1, tail: {tail}}}")
    built = compiled(recipe, script)
    write_files(tmp_path / "out", built.files, manifest=False, force=True)
    (tmp_path / "recipe.yaml").write_text(recipe_text(recipe))
    written = side_of(str(tmp_path / "recipe.yaml"), {})
    for path in ("out", "out/run.sh"):
        found = list(differences(written, side_of(str(tmp_path / path), {})))
        near = {j.path for j in built.judgements} - kept(built)
        assert {d.path for d in found if d.state == "different"} <= near
        unknown = {d.path for d in found if d.state == "unknown"}
        assert unknown == {"data.source", "data.train", "data.eval"}


@every_script
def test_the_reader_knows_the_flags_that_are_always_given(script: str) -> None:
    table = SCRIPTS[script]
    required = {variable.name for variable in table.variables if not variable.default}
    always = {
        flag.name
        for flag in table.flags
        if flag.variable not in required - {"TASK_NAME", "CHECKPOINTS"}
    }
    assert COMMON | CLASSICS[script].own == always


def test_the_reader_knows_the_tasks() -> None:
    assert {name.lower(): count for count, tasks in TASKS for name in tasks} == LABELS


@every_script
def test_edits_are_read(script: str) -> None:
    sources = sources_of(compiled(fitting(), script))
    edited = [
        Source(
            source.name,
            source.text.replace("--batch_size 32", "--batch_size 5").replace(
                "windows=1000", "windows=500"
            ),
        )
        for source in sources
    ]
    recipe = lifted(edited).recipe
    assert recipe is not None
    assert recipe.batch.micro_batch_size == 5
    assert (recipe.schedule.total_steps, recipe.schedule.warmup_steps) == (500, 50)


def test_without_its_configuration_the_model_is_yours_to_name() -> None:
    (launch,) = [
        source for source in sources_of(compiled(fitting(), "ernie")) if source.name[-1] == "h"
    ]
    found = lifted([launch])
    assert found.recipe is not None
    assert found.recipe.model.kind == "custom"
    assert "model.kind" in found.unsaid


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  --tokenizer FullTokenizer\n", ""),
        ("--in_tokens false", "--in_tokens true"),
        ("--do_train true", "--do_train false"),
    ],
)
def test_other_launches_are_not_taken_for_emitted_ones(old: str, new: str) -> None:
    (launch,) = [
        source for source in sources_of(compiled(fitting(), "ernie")) if source.name[-1] == "h"
    ]
    assert old in launch.text
    profile = analyse([Source("run.sh", launch.text.replace(old, new))]).subject.profile
    assert [fact.field for fact in profile if fact.field.startswith("recipe.")] == []
