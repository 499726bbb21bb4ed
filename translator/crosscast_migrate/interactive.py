"""Changes one by one: the answers of a person decide which of them are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.fix import diff_of, edited
from crosscast_reading.lint.result import Result

Answer = Literal["yes", "no", "all", "quit"]
Key = tuple[tuple[str, str, str, str], ...]
DECLINED = "declined: "
"""How the message of a declined change begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Changes to decide together: they share edits, in one or more files."""

    results: tuple[Result, ...]
    diff: str


Ask = Callable[[Question], Answer]


@dataclass(slots=True)
class Review:
    """Asks about every change once, and declines what a person declines.

    Codemods run again after every round of changes: a declined change is found again, and is
    recognized by its code, its message and its line.
    """

    ask: Ask
    declined: Counter[Key] = field(default_factory=Counter)
    rest: Answer | None = None
    """The answer for all that follow, once it was given."""

    def decide(self, results: Sequence[Result], sources: Sequence[Source]) -> list[Result]:
        """Return the results, those that are declined as refusals.

        Args:
            results: of one round of codemods.
            sources: the texts that the results are about.
        """
        texts = {source.name: source for source in sources}
        together = groups_of(results)
        new = Counter(map(key_of, together)) - self.declined
        refused: list[Result] = []
        for members in together:
            key = key_of(members)
            if new[key] > 0:  # one more than those that were declined before
                new[key] -= 1
                if self._accepts(members, texts):
                    continue
                self.declined[key] += 1
            refused += members
        return [_declined(result) if result in refused else result for result in results]

    def _accepts(self, members: tuple[Result, ...], texts: Mapping[str, Source]) -> bool:
        if self.rest is None:
            diff = diff_of_changes(members, texts)
            answer = self.ask(Question(results=members, diff=diff))
            if answer in ("yes", "no"):
                return answer == "yes"
            self.rest = answer
        return self.rest == "all"


def groups_of(results: Sequence[Result]) -> list[tuple[Result, ...]]:
    """Return the results with edits; those that share an edit are one group, directly or not."""
    groups: list[tuple[list[Result], set[Edit]]] = []
    for result in results:
        if not result.edits:
            continue
        members, edits = [result], set(result.edits)
        for group in [group for group in groups if group[1] & edits]:
            groups.remove(group)
            members, edits = [*group[0], *members], group[1] | edits
        groups.append((members, edits))
    return [tuple(members) for members, _ in groups]


def _declined(result: Result) -> Result:
    message = f"{DECLINED}{result.message}"
    return replace(result, severity=Severity.WARNING, message=message, hint="", edits=())


def key_of(members: Sequence[Result]) -> Key:
    """Return the key by which changes are recognized after other lines have moved."""
    return tuple(
        (result.code, result.file, result.message, result.span.text.strip() if result.span else "")
        for result in members
    )


def diff_of_changes(members: Sequence[Result], texts: Mapping[str, Source]) -> str:
    """Return the unified diff of changes, over all files that they change."""
    by_file: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(edit for result in members for edit in result.edits):
        by_file.setdefault(edit.file, []).append(edit)
    diffs = []
    for name, edits in by_file.items():
        text = edited(texts[name], edits)
        diffs.append("" if text is None else diff_of(texts[name], text))
    return "".join(diffs)
