"""Labeled sentence pairs and the checks shared by all readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscast.data.lines import Lines
from crosscast.data.row_problems import Problems
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

NLI_LABELS: Mapping[str, int] = {
    "entailment": 0,
    "neutral": 1,
    "contradiction": 2,
    "contradictory": 2,
}
UNLABELLED = ("", "-")
"""Label in NLI files if the annotators did not agree."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair of sentences and its line number."""

    first: str
    second: str
    label: int
    line: int


@dataclass(frozen=True, slots=True)
class PairFile:
    """Contents of a file: pairs in file order, number of skipped unlabelled rows, notes."""

    pairs: tuple[Pair, ...]
    unlabelled: int
    notes: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the two sentences and the label: names, or numbers for files without a header.

    Numbers count from 0.
    """

    first: str | int = "sentence1"
    second: str | int = "sentence2"
    label: str | int = "label"


@dataclass(frozen=True, slots=True)
class Labels:
    """Label words and their class numbers, and whether rows without a label are skipped."""

    classes: Mapping[str, int]
    skip_unlabelled: bool = False

    @classmethod
    def of(cls, words: Iterable[str], *, skip_unlabelled: bool = False) -> Labels:
        """Number the words in the given order.

        Raises:
            DiagnosticError: CC623 for fewer than two words, or an empty or repeated one.
        """
        names = list(words)
        if len(names) < 2 or len(set(names)) < len(names) or "" in names:
            message = f"label words must be two or more different ones, got {names}"
            raise DiagnosticError(Diagnostic(code="CC623", message=message))
        return cls({name: number for number, name in enumerate(names)}, skip_unlabelled)


NLI = Labels(NLI_LABELS)


@dataclass(frozen=True, slots=True)
class LabeledPair:
    """The three unchecked values of a row as text, and their location."""

    line: int
    text: str
    first: str
    second: str
    label: str
    label_column: int = 1


def read_pairs(
    path: Path,
    labels: Labels,
    rows: Callable[[Lines], Iterator[LabeledPair]],
    wanted: str = "rows to use",
) -> PairFile:
    """Check every row that `rows` returns for the lines of a file.

    Raises:
        DiagnosticError: CC626 if there are no `wanted`, otherwise all problems, by line.
    """
    problems = Problems(str(path))
    lines = Lines(path, problems)
    pairs: list[Pair] = []
    unlabelled = 0
    for row in rows(lines):
        if labels.skip_unlabelled and row.label in UNLABELLED:
            unlabelled += 1
        elif pair := _pair(row, labels, problems):
            pairs.append(pair)
    problems.raise_any()
    if not pairs:
        raise DiagnosticError(Diagnostic(code="CC626", message=f"{path} contains no {wanted}"))
    return PairFile(tuple(pairs), unlabelled, tuple(lines.notes))


def _pair(row: LabeledPair, labels: Labels, problems: Problems) -> Pair | None:
    fine = True
    for name, value in (("first", row.first), ("second", row.second)):
        if not value.strip():
            problems.add("CC624", f"the {name} sentence is empty", row.line, text=row.text)
            fine = False
    if row.label not in labels.classes:
        _refuse_label(row, labels, problems)
        fine = False
    if not fine:
        return None
    return Pair(row.first, row.second, labels.classes[row.label], row.line)


def _refuse_label(row: LabeledPair, labels: Labels, problems: Problems) -> None:
    hint = f"labels are {', '.join(labels.classes)}"
    if row.label in UNLABELLED:
        hint = "use --skip-unlabelled to skip such rows"
    problems.add(
        "CC623",
        f"unknown label {row.label[:40]!r}" if row.label else "the label is missing",
        row.line,
        text=row.text,
        columns=(row.label_column, row.label_column + len(row.label)),
        hint=hint,
    )
