"""Methods of models that train themselves, and of data sets, are those of the packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from crosscast_migrate.models.installed import model_tables
from frameworks.subprocesses import run_python

Row = tuple[str, Sequence[str]]


def rows(backend: str) -> Iterator[Row]:
    """Yield the methods in the tables of a framework, with arguments that they are to have."""
    tables = model_tables()[backend]
    if methods := tables.fitting:
        model = f"{methods.package}.Model"
        words = (methods.class_weights, *methods.rows, methods.others, *sorted(methods.refused))
        yield f"{model}.{methods.fits}", [word for word in (*words, "shuffle") if word]
        yield f"{model}.{methods.compiles}", ["loss"]
        if methods.adds:
            yield f"{model}.{methods.adds}", []
    if pipelines := tables.script.pipelines:
        for begins in sorted(pipelines.begins):
            owner = begins.rpartition(".")[0]
            yield begins, []
            yield f"{owner}.{pipelines.shuffles}", [pipelines.buffer, pipelines.reshuffles]
            plain = (pipelines.stores, pipelines.batches, pipelines.repeats, pipelines.maps)
            yield from ((f"{owner}.{name}", []) for name in (*sorted(pipelines.same), *plain))


@pytest.mark.parametrize(
    "backend",
    [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "paddle")],
)
def test_methods_are_what_the_packages_have(backend: str) -> None:
    program = Path(__file__).with_name("named_arguments.py")
    assert run_python(program, backend, json.dumps(list(rows(backend)))) == []
