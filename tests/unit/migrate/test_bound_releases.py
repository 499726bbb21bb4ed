"""The indexes of real releases: what fits is not accused, and planted changes are named."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import Severity, Span
from crosscast.messages.source import Source
from crosscast_migrate.binding.binder import bind
from crosscast_migrate.binding.index import Index
from crosscast_migrate.binding.places import bind_sources, index_of, with_unbound
from crosscast_migrate.in_place import InPlaceMigration
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.subject_builder import subject_of

ROOT = Path(__file__).parents[3]
VERSION = re.compile(r"^([\w-]+)==([\w.+]+)", re.MULTILINE)
APIS = {"torch": "torch.amp", "tensorflow": "keras3", "paddle": "paddle3"}
PROGRAMS = {
    name: sorted(
        path.relative_to(ROOT)
        for pattern in (f"examples/*/after/{name}/*.py", f"examples/*/model_{name}.py")
        for path in ROOT.glob(pattern)
    )
    for name in APIS
}
"""Scripts and models that run with the releases that are indexed."""
WANTED = 0.95
KINDS = ("import", "name", "keyword", "one argument too many")


class Planted(NamedTuple):
    """A program with one change, and the line of the call or name that was changed."""

    kind: str
    text: str
    line: int


@pytest.mark.parametrize("framework", APIS)
def test_the_index_is_of_the_releases_that_are_pinned(framework: str) -> None:
    pins = dict(VERSION.findall((ROOT / "constraints.txt").read_text()))
    pins["paddle"], pins["tensorflow"] = pins["paddlepaddle"], pins["tensorflow-cpu"]
    for package, version in index_of(APIS[framework]).releases.items():
        assert version.partition("+")[0] == pins[package].partition("+")[0]


def test_modules_that_are_replaced_by_objects_are_not_accused() -> None:
    text = "import torch\nprint(torch.backends.cudnn.version(), torch.backends.cudnn.enabled)\n"
    more = "torch.ops.ours.sampled(3)\ntorch.classes.ours.Table()\n"
    assert bind_sources([Source("train.py", text + more)], "torch.amp").places == ()
    [place] = bind_sources(
        [Source("train.py", text + "torch.backends.cudnn.gone()\n")], "torch.amp"
    ).places
    assert "torch.backends.cudnn.gone" in place.message


@pytest.mark.parametrize(
    ("api", "text", "hint"),
    [
        (
            "keras3",
            "import tensorflow as tf\ntf.keras.layers.experimental.preprocessing.Rescaling(2)\n",
            "tensorflow.keras.layers.experimental.preprocessing.Rescaling of 2.15.1 moved: "
            "it is tensorflow.keras.layers.Rescaling",
        ),
        (
            "torch.amp",
            "import torch.nn.functional.relu\n",
            "it is a function or class: nothing can be imported from it",
        ),
        (
            "keras3",
            "from keras.utils.np_utils import to_categorical\n",
            "keras.utils.np_utils.to_categorical of 2.3.1 moved: it is keras.utils.to_categorical",
        ),
        (
            "keras3",
            "import tensorflow as tf\ntf.random_normal((3,))\n",
            "tensorflow.random_normal of 1.15.0 was renamed: it is tensorflow.random.normal",
        ),
        (
            "keras3",
            "import tensorflow as tf\ntf.contrib.layers.fully_connected(x, 3)\n",
            "tensorflow.contrib.layers.fully_connected of 1.15.0 was removed before 2.5.3",
        ),
        (
            "paddle3",
            "import paddle\npaddle.fluid.ParamAttr(name='w')\n",
            "paddle.fluid.ParamAttr of 1.8.5 moved: it is paddle.ParamAttr",
        ),
        (
            "torch.amp",
            "import torch\ntorch.distributed.all_reduce_multigpu([])\n",
            "torch.distributed.all_reduce_multigpu of 2.1.2 was removed before 2.4.1",
        ),
        (
            "torch.amp",
            "import torch\ntorch.gone_for_ever()\n",
            "it was removed, moved, or never was public: see the notes of the releases",
        ),
    ],
)
def test_what_became_of_a_name_is_said(api: str, text: str, hint: str) -> None:
    hints = [place.hint for place in bind_sources([Source("train.py", text)], api).places]
    assert hint in hints


@pytest.mark.parametrize("framework", APIS)
def test_what_is_called_moved_is_there(framework: str) -> None:
    """Every name that is offered exists in the present release."""
    index = index_of(APIS[framework])
    for package in index.releases:
        for name in index.past_names(package):
            past = index.past(name)
            assert past is not None
            assert index.entry(name) is None
            assert not past.now or index.entry(past.now) is not None, past


def test_other_names_that_decorators_take_are_not_accused() -> None:
    text = "import paddle\npaddle.sum(x, dim=1)\npaddle.stack(x, dim=1)\npaddle.mean(x, dim=1)\n"
    assert bind_sources([Source("train.py", text)], "paddle3").places == ()


@pytest.mark.parametrize("framework", APIS)
def test_programs_that_run_are_not_accused(framework: str) -> None:
    assert len(PROGRAMS[framework]) >= 10
    for path in PROGRAMS[framework]:
        source = Source(str(path), (ROOT / path).read_text())
        bound = bind_sources([source], APIS[framework])
        assert [str(place.span) for place in bound.places] == []


def uses(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.alias, ast.stmt | ast.expr]]:
    """Yield what can be changed in a program, with the node that is then refused."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from (("import", alias, node) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield "name", node, node
        elif isinstance(node, ast.Call):
            yield "one argument too many", node, node
            if any(keyword.arg for keyword in node.keywords):
                yield "keyword", node, node


def changed(text: str, number: int, index: Index) -> Planted | None:
    """Make the change of one number; None if it would not be refused, as far as Python tells."""
    tree = ast.parse(text)
    kind, part, refused = list(uses(tree))[number]
    imports = {
        alias.asname or alias.name: f"{getattr(node, 'module', '')}.{alias.name}".strip(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    if isinstance(part, ast.alias):
        assert isinstance(refused, ast.ImportFrom)
        entry = index.entry(refused.module or "")
        if (refused.module or "").partition(".")[0] not in index.packages or part.asname:
            return None
        if entry is None or entry.kind != "module":
            return None
        part.name, part.asname = f"{part.name}_gone", part.name
        return Planted(kind, ast.unparse(tree), _line(tree, refused))
    path = _path(part.func if isinstance(part, ast.Call) else part, imports)
    if path.partition(".")[0] not in index.packages:
        return None
    entry = index.entry(path)
    if isinstance(part, ast.Attribute):
        above = index.entry(path.rpartition(".")[0])
        if above is None or above.kind != "module":
            return None
        part.attr += "_gone"
    elif isinstance(part, ast.Call):
        signature = index.signature(entry) if entry else None
        if signature is None or any(isinstance(each, ast.Starred) for each in part.args):
            return None
        if kind == "keyword":
            keyword = next(keyword for keyword in part.keywords if keyword.arg)
            if signature.takes_any_name:
                return None
            keyword.arg = f"{keyword.arg}_gone"
        else:
            if signature.takes_any_number:
                return None
            part.args += [ast.Constant(0)] * (len(signature.positional) + 1 - len(part.args))
    return Planted(kind, ast.unparse(tree), _line(tree, refused))


def _line(tree: ast.Module, node: ast.AST) -> int:
    """The line that a node has in the text of a changed tree."""
    order = [type(each) for each in ast.walk(tree)]
    place = next(number for number, each in enumerate(ast.walk(tree)) if each is node)
    again = list(ast.walk(ast.parse(ast.unparse(tree))))
    assert order == [type(each) for each in again]
    line: int = again[place].lineno  # type: ignore[attr-defined]
    return line


def _path(node: ast.expr, imports: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imports:
        return ""
    return ".".join((imports[node.id], *reversed(parts)))


@cache
def planted(framework: str) -> list[Planted]:
    """Changes in the largest script of a framework, the same number of every kind."""
    text = max(((ROOT / path).read_text() for path in PROGRAMS[framework]), key=len)
    index = index_of(APIS[framework])
    several: dict[str, list[Planted]] = {kind: [] for kind in KINDS}
    for number, (kind, _, _) in enumerate(uses(ast.parse(text))):
        if len(several[kind]) < 10 and (change := changed(text, number, index)):
            several[kind].append(change)
    return [change for found in several.values() for change in found]


@pytest.mark.parametrize("framework", APIS)
def test_planted_changes_are_named(framework: str) -> None:
    named: Counter[str] = Counter()
    for change in planted(framework):
        subject, _ = subject_of([Source("train.py", change.text)])
        assert subject.program is not None
        lines = {
            place.span.line for place in bind(subject.program, index_of(APIS[framework])).unbound
        }
        named[change.kind] += change.line in lines
    total = Counter(change.kind for change in planted(framework))
    assert sum(total.values()) >= 20
    assert sum(named.values()) >= WANTED * sum(total.values()), (named, total)


def test_the_command_names_places_in_imported_files_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import keras\nimport rows\nmodel = keras.Sequential()\nmodel.fit(rows.x, nb_epoch=3)\n"
    )
    (tmp_path / "rows.py").write_text("import tensorflow as tf\nx = tf.log(3.0)\n")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    train = str(tmp_path / "train.py")
    shown = CliRunner().invoke(app, ["migrate", train, "--to", "keras3", "--check-only", "--json"])
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert document["summary"]["done"].startswith("nothing was changed; 5 of 7 names and calls")
    assert [(place["code"], place["message"]) for place in document["refusals"]] == [
        ("CC983", "keras.Sequential.fit of keras 3.15.1: it has no argument nb_epoch"),
        ("CC982", "tensorflow 2.21.0 has no tensorflow.log"),
    ]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_program_that_fits_has_exit_code_0(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keras\nkeras.layers.Dense(3)\n")
    train = str(tmp_path / "train.py")
    shown = CliRunner().invoke(app, ["migrate", train, "--to", "keras3", "--check-only"])
    assert shown.exit_code == 0
    assert "Decide: nothing" in shown.stderr


@pytest.mark.parametrize("option", ["--write", "--check", "--verify", "--experimental"])
def test_it_stands_alone(option: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keras\n")
    command = ["migrate", str(tmp_path / "train.py"), "--to", "keras3", "--check-only", option]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 2
    assert "CC970" in shown.stderr


def test_what_a_migration_leaves_unbound_is_to_be_decided(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "scaler = torch.cuda.amp.GradScaler()\n"
        "model = torch.nn.Linear(3, 2)\n"
        "optimizer = torch.optim.Adam(model.parameters(), 0.1, rate_decay=2)\n"
        "torch.nn.utils.clip_grad_norm(model.parameters(), 1.0)\n"
        "values = torch.gels(model.weight, model.weight)\n"
    )
    command = ["migrate", str(tmp_path / "train.py"), "--to", "torch.amp", "--experimental"]
    shown = CliRunner().invoke(app, [*command, "--json"])
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert document["changes"]
    messages = [place["message"] for place in document["refusals"]]
    assert "torch 2.13.0 has no torch.gels" in messages
    assert any("it has no argument rate_decay" in message for message in messages)


def test_a_place_that_the_migration_leaves_is_named_once() -> None:
    text = "import keras\nx = keras.gone(1)\n"
    source = Source("train.py", text)
    span = Span(file="train.py", line=2, column=5)
    refusal = Result(code="CM201", severity=Severity.WARNING, message="gone", span=span)
    migrated = InPlaceMigration(texts={}, added={}, changes=(), refusals=(refusal,), problems=())
    bound = with_unbound(migrated, [source], "keras3")
    assert bound.migrated.refusals == (refusal,)
    assert bound.words.startswith("1 of 2 names and calls bound")
