"""Targets by name: backends, versions and dialects."""

from __future__ import annotations

import pytest

from crosscast.drift.changes import observed, release_of
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import (
    Dialect,
    backend_names,
    find_target,
    installed_backends,
    load_backend,
    rows_of,
    window,
)
from crosscast.targets.capability import Row
from crosscast.targets.target_names import OTHER_NAMES, backend_meant
from source_trees import ROOT

NEW = Dialect(name="new", since="2.4")
OLD = Dialect(name="old", since="1.6", until="2.4")
BY_NAME = Dialect(name="flags")


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        ("2.4", NEW),
        ("2.4.0", NEW),
        ("2.13.1", NEW),
        ("10", NEW),
        ("2.3.9", OLD),
        ("1.6", OLD),
        ("1.6.0.0", OLD),
        ("2", OLD),
    ],
)
def test_a_version_is_covered_by_one_dialect(version: str, dialect: Dialect) -> None:
    assert [d for d in (NEW, OLD, BY_NAME) if d.covers(version)] == [dialect]


@pytest.mark.parametrize("version", ["1.5.9", "0", "1"])
def test_older_versions_are_covered_by_none(version: str) -> None:
    assert not any(d.covers(version) for d in (NEW, OLD, BY_NAME))


@pytest.mark.parametrize("name", backend_names())
def test_the_bare_name_means_the_first_dialect(name: str) -> None:
    target = find_target(name)
    assert (target.name, target.folder, target.backend.name) == (name, name, name)
    assert target.dialect is load_backend(name).dialects[0]


@pytest.mark.parametrize("name", backend_names())
def test_dialects_are_found_by_name_and_by_their_first_version(name: str) -> None:
    for dialect in load_backend(name).dialects:
        assert find_target(f"{name}@{dialect.name}").dialect is dialect
        if dialect.since:
            target = find_target(f"{name}@{dialect.since}")
            assert target.dialect is dialect
            assert target.folder == f"{name}-{dialect.since}"


@pytest.mark.parametrize("name", backend_names())
def test_dialects_do_not_overlap_and_rows_name_existing_ones(name: str) -> None:
    backend = load_backend(name)
    names = [dialect.name for dialect in backend.dialects]
    assert len(set(names)) == len(names)
    for dialect in backend.dialects:
        if dialect.since:
            assert [d.name for d in backend.dialects if d.covers(dialect.since)] == [dialect.name]
    assert {dialect for row in backend.rows for dialect in row.dialects} <= set(names)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("torhc", "CC106"),
        ("torch@0.4", "CC108"),
        ("torch@", "CC108"),
        ("torch@2.4rc1", "CC108"),
        ("torch@torch.am", "CC108"),
        ("torch@2.4@2.4", "CC108"),
        ("torch@\n", "CC108"),
        ("torch@٢", "CC108"),
        ("", "CC106"),
        ("@2.4", "CC106"),
    ],
)
def test_what_is_not_a_target(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_target(text)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_target("torch@torch.am")
    assert caught.value.diagnostics[0].hint == "did you mean torch@torch.amp?"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "torch@9.9",
            "'torch@9.9': the newest known release of torch is 2.13",
            "write torch@torch.amp for 2.4 or newer, or a release from 1.6 to 2.13",
        ),
        (
            "tensorflow@3",
            "'tensorflow@3': the newest known release of tensorflow is 2.21",
            "write tensorflow@keras3 for 2.16 or newer, or a release from 2.5 to 2.21",
        ),
        (
            "paddle@3.4.0",
            "'paddle@3.4.0': the newest known release of paddle is 3.3",
            "write paddle@dygraph for 3.0 or newer, or a release from 2.6 to 3.3",
        ),
    ],
)
def test_a_release_that_does_not_exist_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_target(text)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.hint) == ("CC108", message, hint)


@pytest.mark.parametrize(
    "text",
    ["torch@2.13", "torch@2.13.7", "torch@2.4", "paddle@3.3.1", "paddle@3", "tensorflow@2.21"],
)
def test_known_releases_are_targets(text: str) -> None:
    assert find_target(text).name == text


def test_a_generation_without_a_number_is_completed() -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_target("paddle@2")
    assert caught.value.diagnostics[0].hint == "did you mean paddle@2.6?"


def test_the_newest_known_releases_are_those_of_the_environment() -> None:
    pins = (ROOT / "constraints.txt").read_text().split()
    pinned = dict(line.split("==") for line in pins if "==" in line)
    for backend in installed_backends():
        names = [name for name in (*backend.distributions, "tensorflow-cpu") if name in pinned]
        for dialect in backend.dialects:
            if dialect.newest:
                known = pinned[names[0] if backend.name != "tensorflow" else "tensorflow-cpu"]
                assert known.rpartition(".")[0] == dialect.newest
                assert dialect.knows(known)
                assert not dialect.until


def test_the_newest_known_releases_were_observed() -> None:
    for name in ("torch", "tensorflow", "paddle", "jax"):
        newest = [dialect.newest for dialect in load_backend(name).dialects if dialect.newest]
        assert [observed(name).releases[-1].rpartition(".")[0]] == newest


def test_the_oldest_releases_that_scripts_for_jax_ask_for_were_observed() -> None:
    """And they show what the scripts use."""
    (dialect,) = load_backend("jax").dialects
    asked = dict(line.split(">=") for line in dialect.requirements)
    shown = {
        timeline.name: timeline.at(release_of(history, asked[name]), history.releases)
        for name in ("jax", "flax", "optax")
        for history in [observed(name)]
        for timeline in history.timelines
    }
    assert asked["jax"] == dialect.since
    assert {"jax_enable_preemption_service", "jax_enable_recoverability"} <= {*shown["jax/options"]}
    assert {"LayerNorm", "BatchNorm", "Embed"} <= {*shown["flax/promotes"]}
    assert shown["flax/accessors"] == ["get_value", "set_value"]
    for function in ("get", "set", "norm"):
        assert shown[f"optax.tree.{function}"]


def test_other_names_of_targets_lead_to_backends() -> None:
    names = [name for words in OTHER_NAMES.values() for name in words.split()]
    assert len(set(names)) == len(names)
    assert OTHER_NAMES.keys() <= set(backend_names())
    assert not set(names) & set(backend_names())
    for backend, words in OTHER_NAMES.items():
        assert {backend_meant(word, backend_names()) for word in words.split()} == {backend}
        assert {backend_meant(word, ()) for word in words.split()} == {""}


def test_rows_of_other_dialects_do_not_hold() -> None:
    class Backend:
        rows = (Row(path="a", how=""), Row(path="a", how="", dialects=frozenset({"old"})))

    assert len(rows_of(Backend(), OLD)) == 2  # type: ignore[arg-type]
    assert rows_of(Backend(), NEW) == Backend.rows[:1]  # type: ignore[arg-type]


def test_windows_are_named_for_people() -> None:
    assert [window(d) for d in (NEW, OLD, BY_NAME)] == ["from 2.4", "1.6 up to 2.4", "by name"]
