"""What a migration says first: what was done, what to decide, and what is at risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crosscast.messages.diagnostics import Diagnostic, Severity, printable
from crosscast_migrate.before_after import Comparison
from crosscast_migrate.in_place import InPlaceMigration
from crosscast_migrate.left_open import TO_DECIDE
from crosscast_reading.lint.result import Result

Mode = Literal["diff", "check", "write", "interactive"]
State = Literal["unchanged", "converted", "verified", "open"]
STATES: tuple[State, ...] = get_args(State)
NOTHING = "nothing"
NOTHING_CHANGED = "nothing was changed"
NO_RISK = "none: no file changes"
_LISTED = 3
_HOW = {
    "diff": "shown as a diff; --write makes {them}",
    "check": "listed below; --write makes {them}",
    "write": "written",
    "interactive": "written",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One sentence for each question."""

    done: str
    decide: str
    risk: str
    state: State
    """verified: run, with the same updates; converted: nothing is left, and it was not run; open:
    places or fields are left, or a difference; unchanged: there was nothing to convert."""

    @property
    def lines(self) -> tuple[str, str, str]:
        """The three lines."""
        # Names may be those of untrusted files.
        parts = (self.done, self.decide, self.risk)
        done, decide, risk = (printable(part) for part in parts)
        return f"Done: {done}", f"Decide: {decide}", f"Risk: {risk}"

    def to_json(self) -> dict[str, str]:
        """Return it for JSON."""
        three = {"done": self.done, "decide": self.decide, "risk": self.risk}
        return {**three, "state": self.state}


def in_place_summary(
    migrated: InPlaceMigration,
    *,
    problems: Sequence[Diagnostic],
    unread: Sequence[str],
    mode: Mode,
    written: bool,
    compared: Sequence[Comparison],
    proof: str,
    is_same: bool = False,
    bound: str = "",
    experimental: Sequence[str] = (),
    not_looked_at: Sequence[str] = (),
) -> Summary:
    """Return the summary of a migration in place that found something.

    Args:
        migrated: the migration.
        problems: failures of reading, of the migration and of writing.
        unread: files that could not be read as programs.
        mode: what the user asked for.
        written: whether the changes were written, if they were to be.
        compared: the comparison of both sides, if there is one.
        proof: how the changes were verified, in words.
        is_same: whether both sides were run and made the same updates.
        bound: how much of the program as it is then was bound to the release.
        experimental: sentences about experimental migrations that made changes.
        not_looked_at: what the migrations do not look at in any program.
    """
    changes, files = len(migrated.changes), len(migrated.texts)
    left = [*_decisions(migrated.refusals, problems, unread), *_differences(compared)]
    state: State = "open" if left else "verified" if is_same else "converted"
    if not changes:
        done = NOTHING_CHANGED
    elif mode in ("write", "interactive") and not written:
        done = f"nothing was written; {_count(changes, 'change')} in {_count(files, 'file')} found"
    else:
        how = _HOW[mode].format(them="it" if changes == 1 else "them")
        done = f"{_count(changes, 'change')} in {_count(files, 'file')}, {how}"
    return Summary(
        done="; ".join(filter(None, [f"{state}: {done}", bound])),
        decide="; ".join([*left, *_not_looked_at(not_looked_at)]) or NOTHING,
        risk="; ".join([*experimental, *_risks(migrated, proof)]) or NO_RISK,
        state=state,
    )


def decisions(
    refused: Sequence[Result],
    problems: Sequence[Diagnostic],
    unread: Sequence[str],
    not_looked_at: Sequence[str] = (),
) -> str:
    """Say what is left to a person.

    Args:
        refused: places that were left as they are.
        problems: failures of reading, of the migration and of writing.
        unread: files that could not be read as programs.
        not_looked_at: what the migrations do not look at in any program.
    """
    parts = [*_decisions(refused, problems, unread), *_not_looked_at(not_looked_at)]
    return "; ".join(parts) or NOTHING


def _not_looked_at(parts: Sequence[str]) -> list[str]:
    return [f"not looked at: {what}" for what in parts]


def _decisions(
    refused: Sequence[Result], problems: Sequence[Diagnostic], unread: Sequence[str]
) -> Iterator[str]:
    if refused:
        first = f"{refused[0].span}: {refused[0].message}"
        more = ", the first " if len(refused) > 1 else ": "
        yield f"{_count(len(refused), 'place')} left as {_were(len(refused))}{more}{first}"
    if unread:
        yield f"{_count(len(unread), 'file')} not read: {_listed(unread)}"
    failed = [problem.message for problem in problems if problem.severity is not Severity.NOTE]
    if failed:
        more = f", and {_count(len(failed) - 1, 'more problem')}" if len(failed) > 1 else ""
        yield f"{failed[0]}{more}"


def _were(count: int) -> str:
    return "it is" if count == 1 else "they are"


def _risks(migrated: InPlaceMigration, proof: str) -> Iterator[str]:
    if not migrated.changes:
        return
    notes = len({change.hint for change in migrated.changes if change.hint})
    if notes:
        yield f"the new API behaves differently: see the {'note' if notes == 1 else 'notes'} below"
    yield proof


def _differences(compared: Sequence[Comparison]) -> Iterator[str]:
    different = [each for each in compared if each.verdict == "different"]
    if different:
        yield f"different: {_listed([f'{each.field} ({each.why})' for each in different])}"


def across_summary(data: Mapping[str, Any]) -> Summary:
    """Return the summary of a migration to another framework.

    Args:
        data: result of `crosscast_migrate.report.report`.
    """
    state = _state_across(data)
    return Summary(
        done=f"{state}: {'; '.join(_made(data))}",
        decide="; ".join(_to_decide(data)) or NOTHING,
        risk="; ".join(_at_risk(data)),
        state=state,
    )


def _state_across(data: Mapping[str, Any]) -> State:
    verified = data["verification"]
    outcomes = {entry["outcome"] for entry in verified["targets"]} if verified else set()
    if any(_to_decide(data)):
        return "open"
    return "verified" if outcomes == {"same"} else "converted"


def _made(data: Mapping[str, Any]) -> Iterator[str]:
    for entry in data["targets"]:
        counts = dict.fromkeys(("exact", "adapted", "approximate"), 0)
        for field in entry["fields"]:
            counts[field["verdict"]] += 1
        exact, adapted, approximate = counts.values()
        words = f"{exact} fields exact, {adapted} adapted, {approximate} approximate"
        yield f"written for {entry['target']}: {words}"
    bugs = [entry for entry in data["bugs"] if entry["became"] != "of no recipe"]
    for became in dict.fromkeys(bug["became"] for bug in bugs):
        count = sum(bug["became"] == became for bug in bugs)
        yield f"{_count(count, 'mistake')} of the source {became}"


def _to_decide(data: Mapping[str, Any]) -> Iterator[str]:
    fields = [entry["field"] for entry in data["fill_in"]]
    if fields:
        yield f"{_count(len(fields), 'field')} to fill in: {_listed(fields)}"
    told = [entry for entry in data["diagnostics"] if entry["code"] in TO_DECIDE]
    if told:
        many = _count(len(told), "thing") + " that the new script does otherwise"
        yield f"{many}{', the first' if len(told) > 1 else ''}: {told[0]['message']}"
    for entry in data["verification"]["targets"] if data["verification"] else ():
        if entry["outcome"] == "different":
            yield f"{entry['target']} differs from the recipe: {entry['wording']}"


def _at_risk(data: Mapping[str, Any]) -> Iterator[str]:
    left = [entry["what"] for entry in data["not_carried"]]
    if left:
        yield f"{_count(len(left), 'setting')} not carried over: {_listed(left)}"
    for entry in data["targets"]:
        about = [f["field"] for f in entry["fields"] if f["verdict"] == "approximate"]
        if about:
            yield f"{entry['target']}: approximate: {_listed(about)}"
    verified = data["verification"]
    if verified is None:
        yield "nothing was run: --verify runs the new script"
        return
    for entry in verified["targets"]:
        yield f"{entry['target']}: {entry['proof']['words']}"
    if verified["reading"] is None:
        yield READ_ONLY
    else:
        yield verified["reading"]["sentence"]


READ_ONLY = "that the recipe says what the source does was only read: --run SCRIPT proves it"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
