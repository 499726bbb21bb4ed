"""Every template is printed for some recipe, and every value that templates receive is read."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, Template, nodes

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.render import environment, template_root
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import Form, backend_names, installed_backends
from emission_bases import ADAPTED
from frameworks.emitted_script import tiny_recipe
from launch_scripts import fitting

ROOT = Path(__file__).resolve().parents[2]
TARGETS = [
    f"{backend.name}@{dialect.name}"
    for backend in installed_backends()
    for dialect in backend.dialects
]
FORMS: tuple[Form, ...] = ("script", "step")
RECIPES = (
    *(tiny_recipe(**sections) for sections in ADAPTED.values()),
    tiny_recipe(**ADAPTED["machines"], launch={"scheduler": "slurm"}),
    tiny_recipe(optimizer=ADAPTED["groups"]["optimizer"] | {"name": "sgd"}),
    fitting(),
)
APART = ("parity/", "_shared/starter.recipe.yaml")
"""Templates of what no backend emits: pages of reports, and what `crosscast init` writes."""
WHOLE = {"hysteresis_mode", "kind", "preset", "losses", "matmul", "pointwise"}
"""Values in a section of the recipe that templates receive as it is, or print one by one."""
SHIPPED = ("torch", "tensorflow", "paddle")


@dataclass
class Seen:
    """What was rendered: names of templates, and by backend the names of their values."""

    templates: set[str]
    values: dict[str, set[str]]


def keys(value: Any) -> Iterator[str]:
    """Yield the names of a view's values, also of those within values."""
    if isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from keys(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from keys(inner)


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Compile recipes in which everything acts for every dialect."""
    found = Seen(set(), {name: set() for name in backend_names()})
    get, render, backend = Environment.get_template, Template.render, ""

    def get_template(env: Environment, name: Any, *rest: Any, **named: Any) -> Template:
        found.templates.add(name)
        return get(env, name, *rest, **named)

    def rendered(template: Template, view: Mapping[str, Any]) -> str:
        found.values[backend] |= set(keys(view))
        return render(template, view)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Environment, "get_template", get_template)
        monkeypatch.setattr(Template, "render", rendered)
        for recipe, target, form in itertools.product(RECIPES, TARGETS, FORMS):
            backend = target.partition("@")[0]
            with contextlib.suppress(DiagnosticError):
                compile_recipe(recipe, [target], form=form)
    return found


def read_by_templates(*folders: str) -> Iterator[str]:
    root = template_root()
    for path in (found for folder in folders for found in (root / folder).rglob("*.j2")):
        tree = environment(root).parse(path.read_text(encoding="utf-8"))
        yield from (name.name for name in tree.find_all(nodes.Name))
        yield from (value.attr for value in tree.find_all(nodes.Getattr))


def read_by_code(*folders: Path) -> Iterator[str]:
    for path in (found for folder in folders for found in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                    yield name
                case ast.Call(
                    func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield name


def read_by(backend: str) -> set[str]:
    """Return the names that a backend's templates and code read, and the code for all."""
    code = (ROOT / "backends" / f"crosscast_{backend}", ROOT / "translator/crosscast/emit")
    return {*read_by_templates(backend, "_shared"), *read_by_code(*code)}


def test_every_template_is_printed(seen: Seen) -> None:
    root = template_root()
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    unused = sorted(files - seen.templates)
    assert [name for name in unused if not name.startswith(APART)] == []


def test_every_other_template_is_named() -> None:
    """Those that are not of emitted files: by the code that prints them, or by another one."""
    root = template_root()
    paths = [*(ROOT / "parity").rglob("*.py"), *(ROOT / "translator").rglob("*.py")]
    paths += (root / "parity").rglob("*")
    texts = [path.read_text(encoding="utf-8") for path in paths]
    for path in (path for name in APART for path in root.glob(f"{name}*")):
        assert any(f'"{path.relative_to(root).as_posix()}"' in text for text in texts) or any(
            f'"{path.name}"' in text for text in texts
        ), path


def test_every_value_is_read(seen: Seen) -> None:
    """One that all frameworks have is read by one of them, another by its own."""
    values = {name: seen.values[name] - WHOLE for name in SHIPPED}
    # Trainers print the optimizers of PyTorch.
    everything = set().union(*seen.values.values())
    values["trainers"] = everything.difference(WHOLE, *values.values())
    shared = set.intersection(*(values[name] for name in SHIPPED))
    reads = {name: read_by(name) for name in values}
    unread = {("", name) for name in shared.difference(*reads.values())}
    for backend, read in reads.items():
        unread |= {(backend, name) for name in values[backend] - shared - read}
    assert not unread
