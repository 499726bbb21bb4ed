"""CL913: a setting of the training step that other settings override."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._unread import reader_findings
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.sources.subject import Subject

_SEVERITIES = {
    "CC926": Severity.WARNING,  # a warm-up that the schedule ignores
    "CC927": Severity.NOTE,  # a loss scale without half precision is harmless
}
_NOT_LOOKED_AT = "CC933"
"""An entry that the library that reads the file does not look at."""
_STATED = ("literal", "shell_variable")

_TRAINER = re.compile(r"(pytorch_lightning|lightning(\.pytorch)?)(\.trainer(\.trainer)?)?\.Trainer")


def check(subject: Subject) -> Iterator[Finding]:
    """Report settings that readers of scripts and configurations found to have no effect."""
    hint = "remove it, or enable the feature it belongs to"
    yield from reader_findings(subject, _SEVERITIES, _SEVERITIES, hint)
    for finding in reader_findings(subject, {_NOT_LOOKED_AT}, hint=hint):
        if not _is_read(finding.span, subject.program):
            yield finding
    yield from _schedules(subject)
    yield from _levels(subject.program)


def _is_read(key: Span, program: Program) -> bool:
    """Whether a given program reads an entry by its name: `config["lr"]`, `config.lr`."""
    name = key.text[key.column - 1 : (key.end_column or 0) - 1].strip("'\"")
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.Attribute(attr=word) if word == name:
                    return True
                case ast.Constant(value=word) if word == name:
                    if isinstance(module.parent(node), ast.Subscript | ast.Call):
                        return True
    return False


def _schedules(subject: Subject) -> Iterator[Finding]:
    """Find schedules of a Hugging Face Trainer whose DeepSpeed file has one of its own."""
    facts = [fact for fact in subject.profile if fact.places and not fact.under]
    named = [f for f in facts if f.field == "schedule.name" and f.origin in _STATED]
    trainers = {f.places[0].file for f in facts if (f.field, f.value) == ("api", "hf_trainer")}
    deepspeed = [
        fact for fact in facts if (fact.field, fact.value) == ("parallel.kind", "deepspeed")
    ]
    for chosen in named:
        home = chosen.places[0].file
        for own in named if home in trainers and chosen.known else ():
            file = PurePath(own.places[0].file).name
            if own.reader != "deepspeed_json" or not own.known or own.value == chosen.value:
                continue
            lines = [
                place.text for f in deepspeed if f.places[0].file == home for place in f.places
            ]
            if any(file in line for line in lines):
                yield Finding(
                    span=chosen.places[0],
                    message=f"the schedule {chosen.value} has no effect: DeepSpeed uses that of "
                    f"{file}, {own.value}",
                    hint="remove the scheduler section there, or choose the same schedule here",
                    related=own.places[:1],
                )


def _levels(program: Program) -> Iterator[Finding]:
    """Find levels of apex in a Trainer of Lightning that does not use apex."""
    for module in program.modules:
        for call in module.calls:
            match keyword(call.node, "amp_level") if _TRAINER.fullmatch(call.name) else None:
                case None | ast.Constant(value=None):
                    continue
                case level:
                    backend = keyword(call.node, "amp_backend")
            value = Known("native") if backend is None else evaluate(backend, module)
            if fixed(value) == "native" and not call.has_star:
                yield Finding(
                    span=module.span(level),
                    message="amp_level has no effect: only apex has levels, and the backend is "
                    "PyTorch's own",
                    hint='remove it, or set `amp_backend="apex"`',
                )


RULE = Rule("CL913", check)
