"""Turn facts into a recipe: fill every field, validate it, report what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.recipe.document import Recipe
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift import run_sections, step_sections
from crosscast_reading.lift.analysis import Analysis
from crosscast_reading.lift.annotated_yaml import recipe_yaml
from crosscast_reading.lift.completion import completed
from crosscast_reading.lift.conflicts import conflicts
from crosscast_reading.lift.implied_defaults import apis_of, imply
from crosscast_reading.lift.library_defaults import trainer_of
from crosscast_reading.lift.loop_coverage import Coverage
from crosscast_reading.lift.loss_section import loss
from crosscast_reading.lift.optimizers import groups, optimizer
from crosscast_reading.lift.recipe_draft import KINDS, Draft, Filled, How, of_fact
from crosscast_reading.lift.resolved_values import unknown_fields
from crosscast_reading.lift.step_sections import Look, number, word
from crosscast_reading.sources.subject import Subject

_FALLING = ("linear", "cosine", "polynomial")

_NAMED = re.compile(
    r"pretrain|^init(ial)?_(checkpoint|ckpt|weights|model|params)|^warm_?start_from"
)
_ABOUT = re.compile(r"config|vocab|tokenizer|data|task|step|epoch|_lr$|rate")
"""Flags whose names speak of trained weights, but give something else."""
_NONE = ("", "none", "null", "false", "0", "no", "scratch")

DIRECT = "recipe."
"""Facts with such a name speak of a field of the recipe itself; numbers in it count items."""
NAMES = ("version", "name")
"""Fields that say nothing about the training."""
_UNREAD = frozenset({"CC901", "CC902", "CC903", "CC904"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """What became of a group of sources."""

    analysis: Analysis
    fields: Mapping[str, Filled]
    """Field of the recipe to how it came by its value."""
    text: str
    """The recipe as YAML with comments; empty if the sources do not train."""
    recipe: Recipe | None
    """The recipe; None if what was read makes none: the diagnostics say why."""
    diagnostics: tuple[Diagnostic, ...]

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Fields of the recipe that no source speaks of and that it needs."""
        return tuple(path for path, filled in self.fields.items() if filled.how == "assumed")

    @property
    def counts(self) -> dict[How, int]:
        """How many values of the recipe are of each kind; its version and name are none."""
        kinds = [filled.how for path, filled in self.fields.items() if path not in NAMES]
        return {kind: kinds.count(kind) for kind in KINDS}


def is_unread(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a file is among the sources that is no Python that can be read."""
    return any(diagnostic.code in _UNREAD for diagnostic in diagnostics)


def lift(analysis: Analysis) -> Lifted:
    """Return the recipe of sources that belong together. Never raises."""
    if analysis.recipe is not None:
        return _lifted_recipe(analysis, analysis.recipe)
    if not _trains(analysis):
        message = "nothing here trains, as far as the readers can tell"
        note = Diagnostic(code="CC915", message=message, severity=Severity.NOTE)
        diagnostics = [*analysis.diagnostics]
        if not is_unread(diagnostics) and not any(
            diagnostic.code == "CC913" for diagnostic in diagnostics
        ):
            diagnostics.append(replace(note, message=f"{analysis.name}: {message}"))
        return Lifted(
            analysis=analysis, fields={}, text="", recipe=None, diagnostics=tuple(diagnostics)
        )
    draft = fill(analysis)
    names = [source.name for source in analysis.subject.sources]
    recipe, problems = completed(draft, names)
    return Lifted(
        analysis=analysis,
        fields=draft.fields,
        text=recipe_yaml(draft.fields, names),
        recipe=recipe,
        diagnostics=(*analysis.diagnostics, *conflicts(analysis), *draft.notes, *problems),
    )


def _trains(analysis: Analysis) -> bool:
    subject = analysis.subject
    fields = (fact.field for fact in subject.profile if fact.field.startswith(DIRECT))
    return subject.trains or any(not field.startswith(f"{DIRECT}model.") for field in fields)


def fill(analysis: Analysis) -> Draft:
    """Return all fields of the recipe that sources, defaults and stand-ins give."""
    look = step_sections.looking(analysis.settled)
    versions = dict(analysis.subject.program.versions)
    draft = Draft(
        coverage=Coverage(analysis.subject),
        library=trainer_of(apis_of(look), versions, analysis.subject.program),
    )
    draft.put("version", 1, how="derived", note="of the format")
    draft.put("name", slug(analysis.name), how="derived", note="the name of the file")
    step_sections.precision(look, draft)
    step_sections.loss_scaling(look, draft)
    step_sections.accumulation(look, draft)
    step_sections.clipping(look, draft)
    chosen = optimizer(analysis.settled, draft)
    draft.unknown = unknown_fields(analysis.subject.profile, chosen)
    run_sections.schedule(look, draft)
    run_sections.batch(look, draft)
    imply(look, _class_of(analysis, chosen), draft, versions)
    _computed_rates(look, draft)
    _direct(analysis, draft)
    run_sections.rest(look, draft)
    loss(look, draft)
    step_sections.windows(look, draft)
    run_sections.course(draft)
    groups(look, draft)
    _initial_weights(analysis.subject, draft)
    if draft.value("optimizer.name") == "sgd" and not draft.value("optimizer.momentum"):
        draft.without("optimizer.nesterov", "optimizer.rate_in_momentum")
    return draft


def _class_of(analysis: Analysis, chosen: str) -> str:
    """Return the class of an optimizer, with its module where the source shows that."""
    settled = analysis.settled.get(("optimizer.source_name", chosen))
    if settled is None or not settled.fact.known:
        return ""
    return settled.fact.expression or str(settled.fact.value)


def slug(name: str) -> str:
    """Return a name for a recipe from that of a file."""
    path = PurePath(name.replace("\\", "/"))
    stem = path.stem if path.stem not in ("train", "main", "run", "config", "-") else ""
    parts = [part for part in (path.parent.name if not stem else "", path.stem) if part]
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts)).strip("-._")[:64]
    return text if text and text[0].isalnum() else "lifted"


def _direct(analysis: Analysis, draft: Draft) -> None:
    """Fill the fields that facts speak of by the recipe's own names."""
    direct: dict[str, Filled] = {}
    for fact in analysis.subject.profile:
        if fact.field.startswith(DIRECT) and fact.known:
            value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            direct.setdefault(fact.field.removeprefix(DIRECT), of_fact(value, fact))
    for choice in ("optimizer.name", "loss_scaling.mode", "clipping.kind", "schedule.name"):
        if choice in direct and direct[choice].value != draft.value(choice):
            draft.without(f"{choice.split('.')[0]}.")
    parts = [path for path in draft.fields if any(name.startswith(f"{path}.") for name in direct)]
    for path in parts:
        del draft.fields[path]
    draft.fields.update(direct)
    if "accumulation.normalize_by" in direct:  # then it is known how losses are divided
        draft.notes = [note for note in draft.notes if note.path != "accumulation"]
    if "distributed.processes_per_node" in direct:
        run_sections.spread(step_sections.looking(analysis.settled), draft)
    draft.direct = frozenset(direct)


def _lifted_recipe(analysis: Analysis, recipe: Recipe) -> Lifted:
    from crosscast.recipe.yaml_text import recipe_text

    return Lifted(
        analysis=analysis,
        fields={},
        text=recipe_text(recipe, analysis.marks),
        recipe=recipe,
        diagnostics=analysis.diagnostics,
    )


def _initial_weights(subject: Subject, draft: Draft) -> None:
    """Report that a launch starts from trained weights."""
    if not subject.program.modules:
        return
    for command in subject.commands:
        for flag in command.flags:
            if _names_weights(flag):
                shown = flag.expression if flag.value is True else f"{flag.expression} {flag.value}"
                message = f"it starts from trained weights ({shown}); a recipe starts from new ones"
                hint = "load them in the function that builds the model"
                draft.note("CC911", "model", message, flag, hint)
                return


def _names_weights(flag: Fact) -> bool:
    name = flag.expression.lstrip("-").replace("-", "_").lower()
    if not _NAMED.search(name) or _ABOUT.search(name) or not flag.known:
        return False
    return str(flag.value).strip().lower() not in _NONE


def _computed_rates(look: Look, draft: Draft) -> None:
    """Fill the fields that such a formula decides, after those of the optimizer."""
    peak = look("schedule.peak")
    if (highest := number(peak)) is not None and highest > 0:
        draft.put("optimizer.learning_rate", float(highest), peak)
    elif peak is not None:
        rate = draft.value("optimizer.learning_rate")
        draft.assume("optimizer.learning_rate", rate, f"{peak.expression} is not known", peak)
    _first_rate(look, draft)
    if draft.value("schedule.name") not in _FALLING:
        return
    end = _of_schedule("schedule.end_factor", look)
    if end is not None and end.origin == "library_default" and not number(end):
        draft.put("schedule.end_lr", 0.0, end)
    else:
        _put_share("end_lr", end, draft)
    if (power := number(look("schedule.power"))) is not None:
        draft.put("schedule.power", float(power), look("schedule.power"))
    if (begin := _of_schedule("schedule.decay_from", look)) is not None:
        draft.put("schedule.decay_from", word(begin), begin)


def _first_rate(look: Look, draft: Draft) -> None:
    """Fill where the warm-up begins; without its length, leave it to the user."""
    given, share = look("schedule.warmup_start_lr"), look("schedule.warmup_start_factor")
    length = draft.fields.get("schedule.warmup_steps")
    if length is not None and not length.value:
        first = given or share
        if first is not None and length.how == "assumed":
            shown = first.expression or f"{first.value} of the highest rate"
            draft.assume("schedule.warmup_start_lr", 0.0, f"it begins with {shown}", first)
    elif (rate := number(given)) is not None:
        draft.put("schedule.warmup_start_lr", float(rate), given)
    else:
        _put_share("warmup_start_lr", given or share, draft)


def _put_share(name: str, share_of: Fact | None, draft: Draft) -> None:
    """Fill a rate of the schedule that is a share of the highest, if a source speaks of it."""
    path, rate = f"schedule.{name}", draft.fields.get("optimizer.learning_rate")
    if (share := number(share_of)) is not None and rate is not None and rate.value is not None:
        how: How = "read" if share == 0 else "assumed" if rate.how == "assumed" else "derived"
        note = f"{share:.6g} of the highest rate" if share else ""
        draft.put(path, _rounded(share * rate.value), share_of, how=how, note=note)
    elif share_of is not None:
        which = {"end_lr": "last", "warmup_start_lr": "first"}[name]
        formula = f": {share_of.expression}" if name == "warmup_start_lr" else ""
        draft.assume(path, 0.0, f"the {which} rate is not known{formula}", share_of)


def _of_schedule(field: str, look: Look) -> Fact | None:
    """Return a fact about the schedule; a default only where the same source names the schedule."""
    fact, name = look(field), look("schedule.name")
    if fact is not None and fact.origin == "library_default":
        return fact if name is not None and name.reader == fact.reader else None
    return fact


def _rounded(rate: float) -> float:
    """Return a rate without the digits that come from dividing and multiplying."""
    return float(f"{rate:.8g}")
