"""Hold a lifted recipe against a run of the program that it was read from, on request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.missing_packages import package_missing
from crosscast.targets.backend import harness_of
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.annotated_yaml import recipe_yaml, scalar
from crosscast_reading.lift.batch import groups_of, read_sources
from crosscast_reading.lift.drafting import NAMES, Lifted
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.frameworks import backend_for
from crosscast_reading.lift.recipe_draft import KINDS, Filled
from crosscast_reading.lift.run_sections import SCHEDULE_COUNTS
from crosscast_reading.lift.step_sections import looking, word
from crosscast_reading.sources.run_command import parse_command

if TYPE_CHECKING:
    from crosscast_parity.reading.verdict import FieldReading, Reading

OF_RECIPES = "default of recipes"
"""In the note of a field that no source and no library sets."""
Status = Literal["proven", "contradicted", "found", "not exercised"]
STATUSES: tuple[Status, ...] = ("proven", "contradicted", "found", "not exercised")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A request to execute a program. `command`: the script and its arguments, as text."""

    command: str
    python: str = ""
    device: Literal["cpu", "gpu"] = "cpu"
    updates: int = 100
    timeout: float = 600.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProof:
    """What a run says of one field. `value`: as it was read; `run`: as the run shows it."""

    status: Status
    value: Any
    run: Any
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProof:
    """What came of the runs.

    `problem`: why they show nothing; "" if they do. `printed`: the end of what a program that
    failed printed. `unexplained`: checks that fail whatever value is tried.
    """

    command: str
    where: str = ""
    """The interpreter, and the folder of whose copy it was run in."""
    problem: str = ""
    hint: str = ""
    printed: str = ""
    updates: int = 0
    fields: Mapping[str, FieldProof]
    lifted: Lifted
    """As it was read."""
    corrected: Lifted
    """With the values that fit."""
    unexplained: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def count(self, status: Status) -> int:
        """Return how many fields have a status."""
        return sum(reading.status == status for reading in self.fields.values())

    @property
    def sentence(self) -> str:
        """The verdict on the reading, in words."""
        program = self.command.split()[0]
        if self.problem:
            return f"nothing is proven: {self.problem}"
        wrong = self.count("contradicted")
        does = "does not say" if wrong or self.unexplained else "says"
        proven = self.count("proven")
        parts = [f"{proven} field{'s' * (proven != 1)} proven by its run"]
        parts += [f"{wrong} contradicted"] * bool(wrong)
        parts += [f"{self.count('found')} found by it"] * bool(self.count("found"))
        kinds = [
            filled.how
            for path, filled in self.lifted.fields.items()
            if path not in NAMES and self._status(path) == "not exercised"
        ]
        words = {"default": "defaults of libraries"}
        parts += [f"{n} {words.get(how, how)}" for how in KINDS if (n := kinds.count(how))]
        return f"this recipe {does} what {program} does: {', '.join(parts)}"

    def _status(self, path: str) -> Status:
        reading = self.fields.get(path)
        return reading.status if reading else "not exercised"


def prove_by_run(
    lifted: Lifted, demand: Demand, on_run: Callable[[str], None] = lambda name: None
) -> RunProof:
    """Run a program in a copy of its folder, and hold what was read against what it does.

    Raises:
        DiagnosticError: CC919 for an invalid demand, CC001 for a missing script, CC401 if the
            harness is not installed.
    """
    command = parse_command(demand.command, "CC919")
    try:
        from crosscast_parity.planning.options import interpreter
        from crosscast_parity.reading.observed import observe
        from crosscast_parity.reading.verdict import hold
        from crosscast_parity.side_by_side.running import MOST_COPIED, Limits, Program, size_of
    except ModuleNotFoundError as error:
        raise package_missing("running the program needs", error) from None
    nothing = RunProof(command=demand.command, fields={}, lifted=lifted, corrected=lifted)
    if lifted.recipe is None:
        return replace(nothing, problem="there is no recipe to hold against a run")
    if size_of(command.folder, MOST_COPIED) > MOST_COPIED:
        return replace(
            nothing,
            problem=f"{command.folder} has more than {MOST_COPIED >> 30} GiB, too much to copy",
            hint="keep data and checkpoints elsewhere, and use absolute paths for them",
        )
    framework = _framework(lifted, str(command.folder / command.script))
    harness = harness_of(framework)
    if harness is None or harness.updates is None:
        return replace(nothing, problem=f"programs of {framework} cannot be observed yet")
    program = Program(
        framework=framework,
        python=interpreter(demand.python) if demand.python else sys.executable,
        folder=command.folder,
        script=command.script,
        arguments=command.arguments,
        texts={},
        device=demand.device,
    )
    limits = Limits(
        seconds=demand.timeout, memory=int(demand.memory * 2**30), updates=demand.updates
    )
    nothing = replace(nothing, where=f"{program.python}, in a copy of {command.folder}")
    observed = observe(program, limits, on_run=on_run)
    ran, updates = observed.ran, len(observed.evidence.recording.updates)
    if ran.problem and not (ran.stopped and updates):
        hint = f"install {ran.missing} for {program.python}" if ran.missing else ""
        return replace(nothing, problem=ran.problem, hint=hint, printed=ran.printed)
    reading = hold(lifted.recipe, observed.evidence, open_fields(lifted))
    notes = [f"the run is used up to where {ran.problem}"] if ran.problem else []
    return replace(
        nothing,
        updates=updates,
        fields=_fields(lifted, reading),
        corrected=_corrected(lifted, reading),
        unexplained=reading.unexplained,
        notes=(*notes, *observed.notes, *reading.notes),
    )


def _framework(lifted: Lifted, script: str) -> str:
    """Return the backend whose framework a program is of."""
    name = word(looking(lifted.analysis.settled)("framework"))
    if name is None:  # a recipe says nothing of the program
        sources, _ = read_sources([script])
        for members in groups_of(sources, [script]):
            name = name or word(looking(analyse(members).settled)("framework"))
    return backend_for(str(name))


def open_fields(lifted: Lifted) -> frozenset[str]:
    """Return the fields of a recipe that no source says: placeholders, and defaults of recipes."""
    marks = {mark.dotted for mark in lifted.analysis.marks}
    unsaid = {*lifted.unsaid, *marks}
    if lifted.fields and lifted.recipe is not None:
        unsaid |= {path for path in flat(lifted.recipe) if path not in lifted.fields}
        unsaid |= {path for path, filled in lifted.fields.items() if OF_RECIPES in filled.note}
    return frozenset(unsaid)


def _fields(lifted: Lifted, reading: Reading) -> dict[str, FieldProof]:
    free = open_fields(lifted)
    return {
        field.path: FieldProof(
            status=_status(field, free),
            value=field.value,
            run=field.run_value if field.status == "contradicted" else None,
            why=field.why,
        )
        for field in reading.fields
        if not lifted.fields or field.path in lifted.fields or field.status == "contradicted"
    }


def _status(field: FieldReading, free: frozenset[str]) -> Status:
    if field.status == "contradicted" and (field.path in free or field.value is None):
        return "found"
    return field.status


def _corrected(lifted: Lifted, reading: Reading) -> Lifted:
    """Return the lifted recipe with the values that fit, without marks of found fields."""
    if not lifted.fields:
        from crosscast.recipe.yaml_text import recipe_text

        changed = {field.path for field in reading.of("contradicted")}
        marks = [mark for mark in lifted.analysis.marks if mark.dotted not in changed]
        text = recipe_text(reading.corrected, marks)
        return replace(lifted, recipe=reading.corrected, text=text)
    values = flat(reading.corrected)
    fields = {
        path: filled
        for path, filled in lifted.fields.items()
        if path in values or not _is_below(path, reading.of("contradicted"))
    }
    for field in reading.of("contradicted"):
        for path, value in _leaves(field.path, values):
            old = lifted.fields.get(path)
            was = f", the source says {scalar(old.value)}" if old and old.how != "assumed" else ""
            fields[path] = Filled(
                value=value,
                how="derived",
                places=old.places if old and old.how != "assumed" else (),
                note=f"shown by a run{was}",
            )
    names = [source.name for source in lifted.analysis.subject.sources]
    text = recipe_yaml(fields, names)
    return replace(lifted, fields=fields, recipe=reading.corrected, text=text)


def _is_below(path: str, changed: Sequence[FieldReading]) -> bool:
    """Whether a field is of a section, or of a list, of which another value fits."""
    tops = {field.path.split(".")[0] for field in changed}
    return path.split(".")[0] in tops


def _leaves(path: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name == path or name.startswith(f"{path}."):
            yield name, value


def run_diagnostics(proof: RunProof, *, corrected: bool) -> list[Diagnostic]:
    """Return the diagnostics about the runs: contradictions are errors unless corrected."""
    if proof.problem:
        message = f"{proof.command}: {proof.problem}"
        return [
            Diagnostic(code="CC979", severity=Severity.WARNING, message=message, hint=proof.hint)
        ]
    severity = Severity.NOTE if corrected else Severity.ERROR
    diagnostics = [
        Diagnostic(
            code="CC978",
            severity=severity,
            path=path,
            span=_place(proof.lifted, path),
            message=_contradiction(field, corrected=corrected),
        )
        for path, field in proof.fields.items()
        if field.status == "contradicted"
    ]
    diagnostics += [
        Diagnostic(code="CC978", message=f"the run is not explained by any value: {words}")
        for words in proof.unexplained
    ]
    return diagnostics


def unless_refuted(diagnostics: Iterable[Diagnostic], proof: RunProof) -> list[Diagnostic]:
    """Return the diagnostics of the source, without a unit of its schedule that a run refutes.

    A schedule counts updates where the rates of the updates show its length.
    """
    length = proof.fields.get("schedule.total_steps")
    shown = length is not None and length.status != "not exercised"
    return [
        each for each in diagnostics if not shown or not each.message.startswith(SCHEDULE_COUNTS)
    ]


def _contradiction(field: FieldProof, *, corrected: bool) -> str:
    was, fits = scalar(_listed(field.value)), scalar(_listed(field.run))
    words = f"read {was}, but the run shows {fits}"
    return f"{words}: {field.why}{' (corrected)' if corrected else ''}"


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_listed(item)}" for key, item in value.items())
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    return value


def _place(lifted: Lifted, path: str) -> Span | None:
    filled = lifted.fields.get(path)
    return filled.places[0] if filled and filled.places else None


def run_json(proof: RunProof) -> dict[str, Any]:
    """Return the runs as `schema/lift-v1.json` describes them."""
    return {
        "command": proof.command,
        "where": proof.where,
        "problem": proof.problem,
        "updates": proof.updates,
        "sentence": proof.sentence,
        "fields": {
            path: {
                "status": field.status,
                "value": _listed(field.value),
                "run": _listed(field.run),
                "why": field.why,
            }
            for path, field in proof.fields.items()
        },
        "counts": {status: proof.count(status) for status in STATUSES},
        "unexplained": list(proof.unexplained),
        "notes": list(proof.notes),
    }


def run_cells(proof: RunProof) -> Iterator[tuple[str, str, str, str]]:
    """Yield field, value, status and evidence of every field, as a table shows them."""
    for path, field in proof.fields.items():
        status: str = field.status
        if status in ("contradicted", "found"):
            status = f"{status}: {scalar(_listed(field.run))}"
        yield path, scalar(_listed(field.value)), status, field.why
