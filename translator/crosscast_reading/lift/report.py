"""What `crosscast lift` says of a group of sources: plain data, rows of a table, a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, Span
from crosscast.messages.screens import Table
from crosscast.messages.source import Source
from crosscast.recipe.versions import as_written
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import VOCABULARY, printed_name, printed_value
from crosscast_reading.lift.annotated_yaml import comment, scalar
from crosscast_reading.lift.drafting import Lifted
from crosscast_reading.lift.precedence import Settled, Settlement, settle
from crosscast_reading.lift.recipe_draft import KINDS, Filled, How

SCHEMA = 1
COLUMNS = ("field", "value", "from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One group, ready to be shown; holds nothing that a process could not send to another."""

    name: str
    sources: tuple[str, ...]
    text: str
    """The recipe as YAML with comments; empty if the sources do not train."""
    rows: tuple[tuple[str, str, str], ...]
    data: dict[str, Any]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def summary(self) -> str:
        """How many values are of each kind, in words; empty if there are none."""
        return in_words([self.data["counts"]])


_IN_WORDS: Mapping[How, str] = {
    "read": "read",
    "derived": "derived",
    "default": "defaults of libraries",
    "assumed": "assumed (FILL IN)",
}


def in_words(counts: Sequence[Mapping[How, int]]) -> str:
    """Return how many values of recipes are of each kind; empty if there are none."""
    sums = {kind: sum(each[kind] for each in counts) for kind in KINDS}
    kinds = ", ".join(f"{sums[kind]} {_IN_WORDS[kind]}" for kind in KINDS)
    total = sum(sums.values())
    return f"{total} values: {kinds}." if total else ""


def runs_table(runs: Sequence[tuple[str, Mapping[How, int]]]) -> Table:
    """Return a table with the number of values of each kind, for every run."""
    rows = [[*(str(counts[kind]) for kind in KINDS), name] for name, counts in runs]
    return Table((*KINDS, "run"), rows, title="--all shows the values of every run.")


def is_certain(row: Sequence[str]) -> bool:
    """Whether a row of the table needs no look: it is neither assumed nor only likely."""
    return not row[2].startswith("FILL IN") and not row[2].endswith(" likely")


def what_next(counts: Sequence[Mapping[How, int]]) -> str:
    """Say what to do with recipes, of which each has so many values of each kind."""
    if not counts:
        return "name the script, and with it the command and the configuration that start it"
    left = sum(each["assumed"] for each in counts)
    where = "recipe that -o FILE writes" if len(counts) == 1 else "recipes that -o FOLDER/ writes"
    return f"fill in what is marked FILL IN ({left}) in the {where}" if left else f"use the {where}"


def report(lifted: Lifted) -> Report:
    """Return all that is shown of a group."""
    return Report(
        name=lifted.analysis.name,
        sources=tuple(source.name for source in lifted.analysis.subject.sources),
        text=lifted.text,
        rows=tuple(rows(lifted)),
        data=as_json(lifted),
        diagnostics=lifted.diagnostics,
    )


def lost(sources: Sequence[Source], reason: Diagnostic) -> Report:
    """Return the report of a group that could not be read at all."""
    names = [source.name for source in sources]
    nothing: dict[str, Any] = {
        "profile": {},
        "by_file": {},
        "fields": {},
        "counts": dict.fromkeys(KINDS, 0),
        "recipe": None,
        "not_said": [],
    }
    data = {"name": names[0], "sources": names, **nothing, "not_understood": []}
    return Report(
        name=names[0],
        sources=tuple(names),
        text="",
        rows=(),
        data={**data, "diagnostics": [reason.to_json()]},
        diagnostics=(reason,),
    )


def rows(lifted: Lifted) -> Iterator[tuple[str, str, str]]:
    """Yield field, value and origin of every field of the recipe."""
    if not lifted.fields and lifted.recipe is not None:
        yield ("version", "1", "a recipe already")
    for path, filled in lifted.fields.items():
        if path == "version":
            continue
        yield (path, scalar(filled.value), comment(filled))


def as_json(lifted: Lifted) -> dict[str, Any]:
    """Return a group as `schema/lift-v1.json` describes it."""
    subject, recipe = lifted.analysis.subject, lifted.recipe
    return {
        "name": lifted.analysis.name,
        "sources": [source.name for source in subject.sources],
        "profile": profile(lifted.analysis.settled),
        "by_file": by_file(lifted),
        "fields": {path: _field(filled) for path, filled in lifted.fields.items()},
        "counts": lifted.counts,
        "recipe": as_written(recipe.model_dump(mode="json")) if recipe is not None else None,
        "not_said": list(lifted.unsaid),
        "not_understood": [
            {"field": printed_name(fact.field), **_fact(fact)}
            for fact in subject.profile
            if not fact.known
        ],
        "diagnostics": [diagnostic.to_json() for diagnostic in lifted.diagnostics],
    }


def by_file(lifted: Lifted) -> dict[str, Any]:
    """Return the facts by file; each file has only the facts that it contains."""
    subject = lifted.analysis.subject
    by_source = {
        source.name: settle(subject.profile.of_file(source.name)) for source in subject.sources
    }
    return {name: profile(settled) for name, settled in by_source.items() if settled}


def profile(settlement: Settlement) -> dict[str, Any]:
    """Return the settled value of every field, nested by the names of the vocabulary."""
    nested: dict[str, Any] = {}
    subjects: dict[str, dict[str, Any]] = {}
    for (name, who), settled in settlement.items():
        section, _, rest = printed_name(name).partition(".")
        if VOCABULARY[name].of_subject:
            subjects.setdefault(who, {"subject": who})[rest] = _leaf(settled)
        elif rest:
            nested.setdefault(section, {})[rest] = _leaf(settled)
        else:
            nested[section] = _leaf(settled)
    if subjects:
        nested["optimizers"] = list(subjects.values())
    return nested


def _leaf(settled: Settled) -> dict[str, Any]:
    leaf = _fact(settled.fact)
    if settled.others:
        leaf["others"] = [_fact(other) for other in settled.others]
    return leaf


def _fact(fact: Fact) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if fact.known:
        value = printed_value(fact.field, fact.value)
        content["value"] = list(value) if isinstance(value, tuple) else value
    if fact.expression:
        content["expression"] = fact.expression
    if fact.reason:
        content["reason"] = fact.reason
    return {
        **content,
        "files": list(fact.files),
        "places": [place(span) for span in fact.places],
        "layer": str(fact.layer),
        "confidence": fact.confidence,
        "origin": fact.origin,
        "under": list(fact.under),
        "reader": fact.reader,
    }


def place(span: Span) -> dict[str, Any]:
    """Return a place as JSON has it."""
    return {"file": span.file, "line": span.line, "column": span.column}


def _field(filled: Filled) -> dict[str, Any]:
    return {
        "value": filled.value,
        "how": filled.how,
        "confidence": filled.confidence,
        "note": filled.note,
        "places": [place(span) for span in filled.places],
    }
