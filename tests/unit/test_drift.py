"""What changed between releases: how observations are kept, compared and told."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from typer.testing import CliRunner, Result

import crosscast as cc
from crosscast.cli import app
from crosscast.drift.changes import changes, observed, parameters_changed, release_of
from crosscast.drift.observations import Observation, by_release, decoded, encoded, packages
from crosscast.drift.words import counts, lines_of, value_text
from crosscast.messages.diagnostics import DiagnosticError
from crosscast_reading.pysource.libraries.signatures import release
from drift import run
from drift.observe_names import signature

EACH = {
    "1.0": Observation(signatures={"p.f": "a, b=1", "p.old": "x"}, facts={"g/n": ("asked", [1])}),
    "1.1": Observation(
        signatures={"p.f": "a, b=1, *, c=(0, 1)", "p.old": "x"}, facts={"g/n": ("asked", [1])}
    ),
    "2.0": Observation(
        signatures={"p.f": "a, b=2, *, c=(0, 1)", "p.new": ""},
        facts={"g/n": ("asked", None), "g/late": ("asked later", 1)},
    ),
    "2.1": Observation(
        signatures={"p.f": "a, b=2, *, c=(0, 1)", "p.new": "", "p.old": "y"},
        facts={"g/n": ("asked", None), "g/late": ("asked later", 2)},
    ),
}
FOUND = decoded("p", json.loads(json.dumps(encoded(EACH))))


def crosscast(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["drift", *arguments])


def test_what_is_kept_is_what_was_observed() -> None:
    assert by_release(FOUND) == EACH
    assert json.loads(run.text_of(encoded(EACH))) == json.loads(json.dumps(encoded(EACH)))


def test_changes_have_every_step() -> None:
    found = {change.name: change for change in changes(FOUND, "1.0", "2.1")}
    assert set(found) == {"g/n", "p.f", "p.old", "p.new"}  # g/late was not asked in 1.0
    assert found["g/n"].steps == (("1.0", [1]), ("2.0", None))
    assert [at for at, _ in found["p.f"].steps] == ["1.0", "1.1", "2.0"]
    assert [value for _, value in found["p.old"].steps] == ["x", None, "y"]
    assert found["p.new"].added
    assert not found["p.new"].removed
    assert not found["p.old"].added
    assert not found["p.old"].removed
    assert counts([*found.values()]) == "1 of behavior, 2 of parameters, 1 new names, 0 gone"


@pytest.mark.parametrize(
    ("since", "until", "names"),
    [
        ("1.0", "1.0", []),
        ("1.0", "1.1", ["p.f"]),
        ("1.1", "2.0", ["g/n", "p.f", "p.new", "p.old"]),
        ("2.0", "2.1", ["g/late", "p.old"]),
    ],
)
def test_only_what_is_between(since: str, until: str, names: list[str]) -> None:
    assert sorted(change.name for change in changes(FOUND, since, until)) == names


def test_names_are_chosen_by_word_or_pattern() -> None:
    assert [c.name for c in changes(FOUND, "1.0", "2.1", "OLD")] == ["p.old"]
    assert [c.name for c in changes(FOUND, "1.0", "2.1", "p.[fo]*")] == ["p.f", "p.old"]


def test_changes_in_words() -> None:
    found = {change.name: change for change in changes(FOUND, "1.0", "2.1")}
    assert [*lines_of(found["p.f"])] == ["p.f", "  1.1  +* +c=(0, 1)", "  2.0  -b=1 +b=2"]
    assert [*lines_of(found["p.old"])] == ["p.old", "  2.0  gone", "  2.1  new"]
    assert [*lines_of(found["g/n"])] == ["g/n: asked", "  1.0  [1]", "  2.0  null"]
    assert value_text([1.5] * 40) == "[1.5, 1.5, 1.5, ..., 1.5] (40)"
    three = ["a" * 30, "b" * 30, "c" * 30]
    assert value_text(three) == json.dumps(three)  # nothing is left out


def test_parameters_are_split_outside_of_brackets_and_strings() -> None:
    before, after = "a=(1, 2), b=', ', c=f", "a=(1, 3), b=', ', c=f, d=[1, 2]"
    assert sorted(parameters_changed(before, after)) == ["+a=(1, 3)", "+d=[1, 2]", "-a=(1, 2)"]
    assert [*parameters_changed("a, b", "a, b")] == []


def test_signatures_are_read_as_written() -> None:
    class Optimizer:
        def __init__(self, params: object, lr: float = 1e-3, *, fused: bool | None = None) -> None:
            pass

    def function(a: object, *rest: object, kind: type = int, b: str = "x", **more: object) -> None:
        pass

    assert signature(Optimizer) == "params, lr=0.001, *, fused=None"
    assert signature(function) == "a, *rest, kind=int, b='x', **more"
    assert signature(type("Plain", (), {})) == ""


def test_a_release_that_shows_something_else_is_told() -> None:
    other = Observation(signatures={"p.f": "a"}, facts={"g/n": ("asked", [2])})
    found = run.differences("p", {"1.0": EACH["1.0"]}, {"1.0": other})
    assert [line.split(": ")[1] for line in found] == ["g/n", "p.f", "p.old"]
    assert run.differences("p", EACH, {"1.1": EACH["1.1"]}) == []


def test_a_newer_release_is_compared_with_the_one_before() -> None:
    newer = Observation(signatures=EACH["2.1"].signatures | {"p.f": "b"}, facts=EACH["2.1"].facts)
    assert run.differences("p", EACH, {"2.2": newer}) == [
        "p 2.2: not observed before",
        "p 2.2: p.f is not as in 2.1",
    ]


@pytest.mark.parametrize("package", packages())
def test_releases_are_in_order_and_enough(package: str) -> None:
    found = observed(package)
    assert len(found.releases) >= 4
    assert [*found.releases] == sorted(found.releases, key=release)
    assert all(len(timeline.values) >= 1 for timeline in found.timelines)
    assert json.loads((run.DATA / f"{package}.json").read_text()) == json.loads(
        json.dumps(encoded(by_release(found)))
    )


def test_a_version_stands_for_the_release_that_it_begins() -> None:
    keras = observed("keras")
    assert release_of(keras, "3.4") == "3.4.1"
    assert release_of(keras, "3.4.1") == "3.4.1"
    with pytest.raises(DiagnosticError, match=r"3\.40 was not observed"):
        release_of(keras, "3.40")


def test_which_release_of_keras_counts_steps_otherwise() -> None:
    result = crosscast("keras", "3.4", "3.15", "--name", "iterations")
    assert result.exit_code == 0
    assert result.stdout.startswith("Looked at: keras 3.4.1 to 3.15.1, ")
    assert result.stdout.splitlines()[1].startswith("Verdict:   1 of behavior")
    assert [line.split() for line in result.stdout.splitlines()[-2:]] == [
        ["3.4.1", "8"],
        ["3.6.0", "2"],
    ]
    asked = crosscast("keras", "3.1", "3.15", "--name", "counted")
    assert asked.stdout.splitlines()[1].startswith("Verdict:   0 of behavior")


def test_which_release_of_jax_draws_other_numbers() -> None:
    result = crosscast("jax", "0.4", "0.10", "--name", "draws")
    assert result.stdout.splitlines()[1].startswith("Verdict:   1 of behavior")
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["0.4.35", "0.6.2"]
    asked = crosscast("jax", "0.6", "0.10", "--name", "draws")
    assert asked.stdout.splitlines()[1].startswith("Verdict:   0 of behavior")


def test_which_release_of_flax_lets_types_of_normalizations_be_set() -> None:
    steps = {
        change.name: dict(change.steps) for change in cc.drift("flax", "0.10.2", "0.12").behavior
    }
    promotes = steps["flax/promotes"]
    assert [*promotes] == ["0.10.2", "0.10.7", "0.12.1"]
    assert ["LayerNorm" in layers for layers in promotes.values()] == [False, False, True]
    assert ["Embed" in layers for layers in promotes.values()] == [False, True, True]


def test_the_command_as_json() -> None:
    result = crosscast("paddle", "3.1", "3.2", "--name", "embedding", "--json")
    data = json.loads(result.stdout)
    assert (data["package"], data["since"], data["until"]) == ("paddle", "3.1.1", "3.2.2")
    assert [change["name"] for change in data["changes"]] == ["paddle.nn.Embedding"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mxnet",), "no releases of 'mxnet' were observed"),
        (("keras", "2.4"), "keras 2.4 was not observed"),
        (("paddle", "3.3", "3.1"), "paddle 3.3.1 is newer than 3.1.1"),
    ],
)
def test_what_was_not_observed(arguments: tuple[str, ...], message: str) -> None:
    result = crosscast(*arguments)
    assert (result.exit_code, "CC980" in result.stderr, message in result.stderr) == (2, True, True)


def test_new_names_are_listed_when_asked_for() -> None:
    short, long = crosscast("paddle"), crosscast("paddle", "--names")
    assert "--names lists them" in short.stdout
    assert "\nNames\n" not in short.stdout
    assert "\nNames\n" in long.stdout
    assert "--names lists them" not in long.stdout


def test_the_function_returns_what_the_command_prints() -> None:
    found = cc.drift("keras", "3.4", "3.6")
    printed = json.loads(crosscast("keras", "3.4", "3.6", "--json").output)
    assert (found.package, found.since, found.until) == ("keras", "3.4.1", "3.6.0")
    assert (
        json.loads(json.dumps([asdict(change) for change in found.changes])) == printed["changes"]
    )
    assert found.summary.startswith("keras 3.4.1 to 3.6.0: ")
    assert "<table" in found._repr_html_()


def test_the_function_refuses_releases_in_the_wrong_order() -> None:
    with pytest.raises(DiagnosticError, match="CC980"):
        cc.drift("keras", "3.6", "3.4")
