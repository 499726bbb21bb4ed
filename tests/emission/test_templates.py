"""Every template is printed for some recipe, and reads what the types of its views have."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, Template

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.render import dialect_text, environment, template_root
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form
from emission_bases import ADAPTED
from frameworks.emitted_script import tiny_recipe
from frameworks.loss_cases import CASES
from launch_scripts import fitting
from own_parts import own_backends
from source_trees import modules
from template_paths import Reading, frozen, readings, related, values_of

ROOT = Path(__file__).resolve().parents[2]
TARGETS = [
    f"{backend.name}@{dialect.name}" for backend in own_backends() for dialect in backend.dialects
]
FORMS: tuple[Form, ...] = ("script", "step")
APART = ("parity/", "explore/", "_shared/starter.recipe.yaml", "migrated/")
"""Templates of what no backend emits: pages of reports, what `crosscast init` writes, and parts of
migrated programs."""
CODE = ("backends", "translator/crosscast/emit")


def recipes() -> Iterator[Recipe]:
    yield from (tiny_recipe(**sections) for sections in ADAPTED.values())
    yield tiny_recipe(**ADAPTED["machines"], launch={"scheduler": "slurm"})
    yield tiny_recipe(optimizer=ADAPTED["groups"]["optimizer"] | {"name": "sgd"})
    yield fitting()
    yield from (case.recipe() for case in CASES.values())


@dataclass
class Seen:
    """What was rendered: templates, each with the types of what they saw."""

    contexts: dict[str, set[tuple[tuple[str, type], ...]]]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Compile recipes in which everything acts for every dialect."""
    found = Seen(defaultdict(set))
    get, render = Environment.get_template, Template.render
    contexts: list[tuple[tuple[str, type], ...]] = []
    dialect_text.cache_clear()

    def get_template(env: Environment, name: Any, *rest: Any, **named: Any) -> Template:
        if contexts:  # included
            found.contexts[name].add(contexts[-1])
        return get(env, name, *rest, **named)

    def rendered(template: Template, context: Mapping[str, Any]) -> str:
        contexts.append(tuple((name, type(value)) for name, value in sorted(context.items())))
        assert template.name
        found.contexts[template.name].add(contexts[-1])
        text = render(template, context)
        contexts.pop()
        return text

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Environment, "get_template", get_template)
        monkeypatch.setattr(Template, "render", rendered)
        for recipe, target, form in itertools.product(recipes(), TARGETS, FORMS):
            with contextlib.suppress(DiagnosticError):
                compile_recipe(recipe, [target], form=form)
    return found


@pytest.fixture(scope="module")
def paths(seen: Seen) -> list[tuple[str, Reading]]:
    """Return what every template reads of everything that it was given."""
    return list(_paths(seen))


def _paths(seen: Seen) -> Iterator[tuple[str, Reading]]:
    root = template_root()
    for template, contexts in sorted(seen.contexts.items()):
        tree = environment(root).parse((root / template).read_text(encoding="utf-8"))
        for context in contexts:
            yield from ((template, reading) for reading in readings(tree, dict(context)))


def read_by_code(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node.attr


def test_every_template_is_printed(seen: Seen) -> None:
    root = template_root()
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    unused = sorted(files - seen.contexts.keys())
    assert [name for name in unused if not name.startswith(APART)] == []


def test_every_other_template_is_named() -> None:
    """Those that are not of emitted files: by the code that prints them, or by another one."""
    root = template_root()
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    apart = {name: path for name, path in files.items() if name.startswith(APART)}
    readers = [*modules("parity", "translator", "backends"), *apart.values()]
    texts = [path.read_text(encoding="utf-8") for path in readers]
    quoted = {word for text in texts for word in re.findall(r'"([^"\n]*)(?=")', text)}
    for name, path in apart.items():
        assert quoted & {name, name.partition("/")[2], path.name, path.stem}, path


def test_every_path_in_a_template_is_in_the_types(paths: list[tuple[str, Reading]]) -> None:
    """Also in branches that no recipe here takes."""
    wrong = {(template, str(reading)) for template, reading in paths if not reading.found}
    assert not wrong


def test_every_value_is_read(seen: Seen, paths: list[tuple[str, Reading]]) -> None:
    """By a template; or by the code that makes the values of others."""
    read = {(reading.owner, reading.name) for _, reading in paths if reading.found}
    in_code = {name for folder in CODE for name in read_by_code(ROOT / folder)}
    views = {kind for contexts in seen.contexts.values() for c in contexts for _, kind in c}
    given = {(owner, name) for view in views for owner, name in values_of(view)}
    unread = {
        f"{owner.__name__}.{name}"
        for owner, name in given
        if name not in in_code
        and not any(name == other and related(owner, reader) for reader, other in read)
    }
    assert not unread


def test_views_are_frozen(seen: Seen) -> None:
    views = {kind for contexts in seen.contexts.values() for c in contexts for _, kind in c}
    assert [kind for kind in views if kind is not type(None) and not frozen(kind)] == []
