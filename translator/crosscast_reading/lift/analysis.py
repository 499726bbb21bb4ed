"""Read sources that belong together: facts, training steps, commands, and what went wrong.

Facts that a Trainer writes over are left out, and where no program was given, the switches of its
command say what it likely computes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast.recipe.fill_in import Mark
from crosscast_reading.facts.fact import Fact, Layer, PlainValue
from crosscast_reading.facts.profile import Profile, profile_of
from crosscast_reading.lift.precedence import Settlement, settle
from crosscast_reading.lift.separate_programs import trained_apart
from crosscast_reading.pysource.names.reached import unreached
from crosscast_reading.readers.evaluations import evaluates
from crosscast_reading.readers.settings import Setting, normal
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.grouping import group
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe

_SWITCHES = {
    **dict.fromkeys(("fp16", "use_fp16", "enable_fp16", "half", "use_half"), "float16"),
    **dict.fromkeys(("bf16", "use_bf16", "enable_bf16", "bfloat16"), "bfloat16"),
    **dict.fromkeys(("amp", "use_amp", "enable_amp"), ""),
}
"""Switch of half precision to its type; empty where the program chooses it."""

_CONFIG = "deepspeed_json"
_TYPE = ("precision.compute_dtype", "")
_TYPES = ("precision.enabled", "precision.dtypes", "precision.compute_dtype")
_SCALING = ("loss_scaling.", "scaler_update.")
_FOLLOWS = frozenset({"batch.global_batch_size", "schedule.total_steps", "schedule.peak"})
"""What the Trainer computes of its other arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that was read from a group of sources."""

    subject: Subject
    settled: Settlement
    diagnostics: tuple[Diagnostic, ...] = ()
    recipe: Recipe | None = None
    """The recipe itself, if one of the sources is one."""
    marks: tuple[Mark, ...] = ()
    """Values of that recipe that are still to be filled in."""

    @property
    def name(self) -> str:
        """The file that the group goes by."""
        return self.subject.sources[0].name if self.subject.sources else ""


def analyse(sources: Sequence[Source], versions: Mapping[str, str] | None = None) -> Analysis:
    """Read sources that belong together. Never raises.

    Args:
        sources: launch scripts, programs, helper modules and configurations of one run.
        versions: package to version, instead of what the sources say.
    """
    from crosscast_reading.sources.subject_builder import subject_of

    return analyse_subject(*subject_of(sources, versions))


def analyse_subject(subject: Subject, failures: Sequence[Diagnostic]) -> Analysis:
    """Return all that was read from sources, as `analyse` does.

    Args:
        subject: what was read.
        failures: what failed while it was read.
    """
    diagnostics = [*failures]
    facts = (*_of_reached(launched(subject), subject), *_assumptions(subject))
    subject = replace(subject, profile=profile_of(_without_filled_in(facts)))
    profile, warnings = trained_apart(subject)
    subject = replace(subject, profile=profile)
    recipe = None
    marks: tuple[Mark, ...] = ()
    for source in subject.sources:
        if kind_of(source) == "config" and recipe is None:
            recipe = _recipe(source, diagnostics)
            marks = _marks(source) if recipe is not None else ()
    return Analysis(
        subject=subject,
        settled=settle(subject.profile),
        diagnostics=tuple(dict.fromkeys((*subject.unread, *diagnostics, *warnings))),
        recipe=recipe,
        marks=marks,
    )


def _of_reached(profile: Profile, subject: Subject) -> Iterator[Fact]:
    """Yield facts but those of functions and classes that the program only has beside it."""
    others = (source.text for source in subject.sources if kind_of(source) != "python")
    lines: dict[str, set[int]] = {}
    for module, node in unreached(subject.program, others):
        lines.setdefault(module.source.name, set()).update(
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
        )
    for fact in profile:
        if not fact.places or not all(p.line in lines.get(p.file, ()) for p in fact.places):
            yield fact


def _marks(source: Source) -> tuple[Mark, ...]:
    """Return the marks of the fields that are still to be filled in, in a recipe."""
    from crosscast.recipe.yaml_source import parse

    return parse(source.text, source.name).marks


def launched(subject: Subject) -> Profile:
    """Return the facts, those that a flag of the launch decides with its place.

    The reader of the program knows the value already; here the launch becomes its layer.
    """
    flags = {
        _flag_word(flag.expression): flag for command in subject.commands for flag in command.flags
    }
    if not flags:
        return subject.profile
    facts = []
    for fact in subject.profile:
        flag = flags.get(_flag_word(fact.expression.rpartition(".")[2]))
        if fact.origin == "flag" and fact.known and flag is not None and _is_given_by(fact, flag):
            places = (*flag.places, *fact.places)
            fact = replace(fact, places=places, layer=Layer.LAUNCHER)
        facts.append(fact)
    return profile_of(facts)


def _flag_word(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_").lower()


def _is_given_by(fact: Fact, flag: Fact) -> bool:
    """Whether the value of a fact is the one that the launch gives."""
    if isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
        try:
            return float(str(flag.value)) == float(fact.value)
        except ValueError:
            return False
    return isinstance(fact.value, str)


def together(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return sources that a user says belong together, the program's main file first."""
    first = next((g for g in group(sources) if sources and sources[0] in g), ())
    return (*first, *(source for source in sources if source not in first))


def _recipe(source: Source, diagnostics: list[Diagnostic]) -> Recipe | None:
    from crosscast_reading.readers.recipe_yaml import READER

    if not READER.sniff(source):
        return None
    reading = READER.read(source)
    diagnostics += reading.diagnostics
    return reading.recipe


def _without_filled_in(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts but every `auto` that the Trainer of the same run fills in.

    The Trainer of Transformers writes its own arguments over them (huggingface/transformers
    02348331, integrations/deepspeed.py: trainer_config_process). DeepSpeed refuses the word, so
    where no Trainer is read the value stays unknown.
    """
    if not any(fact.field == "api" and fact.value == "hf_trainer" for fact in facts):
        return tuple(facts)
    stated = {(f.field, f.subject): f for f in facts if f.known and f.reader != _CONFIG}
    left = {(f.field, f.subject) for f in facts if _is_auto(f)}
    gone: tuple[str, ...] = ()
    if _TYPE in left and _TYPE in stated:
        gone = _TYPES if stated[_TYPE].value == "float16" else (*_TYPES, *_SCALING)
    return tuple(
        fact
        for fact in facts
        if fact.reader != _CONFIG
        or not (
            (gone and fact.field.startswith(gone))
            or (_is_auto(fact) and ((fact.field, fact.subject) in stated or fact.field in _FOLLOWS))
        )
    )


def _is_auto(fact: Fact) -> bool:
    return fact.reader == _CONFIG and not fact.known and fact.expression == "auto"


def _assumptions(subject: Subject) -> Iterator[Fact]:
    """Yield facts about precision inferred from names of switches; never certain ones."""
    if subject.program.modules or any(f.field.startswith("precision.") for f in subject.profile):
        return
    switches = [
        (Setting(name=normal(flag.expression), value=flag.value, known=flag.known), flag)
        for command in subject.commands
        if not evaluates(command)
        for flag in command.flags
        if normal(flag.expression) in _SWITCHES
    ]
    on = [(setting, flag) for setting, flag in switches if setting.switch is True]
    if on:
        setting, flag = on[0]
        yield _fact("precision.enabled", "always", flag)
        if dtype := _SWITCHES[setting.name]:
            yield _fact("precision.dtypes", (dtype,), flag)
            yield _fact("precision.compute_dtype", dtype, flag)
        yield _fact("precision.flag", f"--{setting.name}", flag)
    elif switches and all(setting.switch is False for setting, _ in switches):
        _, flag = switches[0]
        yield _fact("precision.enabled", "never", flag)
        yield _fact("precision.compute_dtype", "float32", flag)


def _fact(field: str, value: PlainValue, flag: Fact) -> Fact:
    return Fact(
        field=field,
        value=value,
        places=flag.places,
        layer=Layer.LAUNCHER,
        origin=flag.origin,
        confidence="likely",
        reader="shell",
    )
