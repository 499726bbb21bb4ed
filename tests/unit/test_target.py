"""Targets by name: backends, versions and dialects."""

from __future__ import annotations

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import (
    Dialect,
    backend_names,
    find_target,
    load_backend,
    rows_of,
    window,
)
from crosscast.targets.capability import Row

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


def test_rows_of_other_dialects_do_not_hold() -> None:
    class Backend:
        rows = (Row(path="a", how=""), Row(path="a", how="", dialects=frozenset({"old"})))

    assert len(rows_of(Backend(), OLD)) == 2  # type: ignore[arg-type]
    assert rows_of(Backend(), NEW) == Backend.rows[:1]  # type: ignore[arg-type]


def test_windows_are_named_for_people() -> None:
    assert [window(d) for d in (NEW, OLD, BY_NAME)] == ["from 2.4", "1.6 up to 2.4", "by name"]
