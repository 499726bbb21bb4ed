"""Facts and analyses for tests, without any reader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.lift.analysis import Analysis
from crosscast_reading.lift.precedence import settle
from crosscast_reading.pysource.project import read_program
from crosscast_reading.sources.subject import Subject


def fact(field: str, value: Any = None, line: int = 1, **more: Any) -> Fact:
    file = more.pop("file", "train.py")
    return Fact(field=field, value=value, places=(Span(file, line, 1),), **more)


def open_fact(field: str, expression: str = "", line: int = 1, **more: Any) -> Fact:
    """A fact whose value is not known."""
    return fact(field, None, line, known=False, expression=expression, **more)


def analysis(facts: Iterable[Fact], *names: str) -> Analysis:
    profile = profile_of(facts)
    sources = tuple(Source(name, "") for name in names or ("train.py",))
    subject = Subject(
        sources=sources, program=read_program(())[0], steps=(), profile=profile, commands=()
    )
    return Analysis(subject=subject, settled=settle(profile))


PLAIN = (
    fact("framework", "pytorch"),
    fact("optimizer.name", "adamw", 40, subject="opt"),
    fact("optimizer.source_name", "torch.optim.AdamW", 40, subject="opt"),
    fact("optimizer.learning_rate", 2e-5, 41, subject="opt"),
)
HALF = (
    fact("api", ("torch.cuda.amp",), 5),
    fact("precision.enabled", "always", 5),
    fact("precision.dtypes", ("float16",), 5),
    fact("precision.compute_dtype", "float16", 5),
    fact("loss_scaling.mode", "framework_default", 9),
)
