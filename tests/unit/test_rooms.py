"""The floors of the project: which room may import which. No import goes up, none in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import pytest

from source_trees import ROOT, is_for_types, names_of_modules, tree_of

SPLIT = ("crosscast.pysource", "crosscast.trainstep", "crosscast.readers")
"""Rooms with floors of their own inside."""

CORE = {
    "messages": "",
    "facts": "messages",
    "recipe": "messages",
    "data": "messages",
    "drift": "messages",
    "variations": "recipe",
    "plan": "messages recipe",
    "reference": "messages plan",
    "targets": "messages recipe plan",
    "emit": "messages recipe plan targets",
    "carriers": "messages recipe variations plan targets emit",
    "memory": "messages recipe targets",
    "pysource": "messages facts",
    "trainstep": "messages pysource",
    "edits": "messages pysource",
    "readers": "messages facts recipe plan targets pysource trainstep",
    "sources": "messages facts pysource trainstep readers",
    "weights": "messages recipe",
    "state": "messages recipe plan targets emit readers weights",
    "fit": "messages recipe targets memory",
    "lint": "messages facts pysource trainstep edits readers sources",
    "lift": "messages facts recipe plan targets pysource trainstep readers sources",
    "explore": "messages recipe variations plan targets emit carriers readers lift",
    "migrate": "messages facts recipe plan targets emit carriers pysource trainstep edits readers"
    " sources lint lift",
    "tracking": "messages emit",
    "api": "messages recipe drift data plan targets emit memory readers sources weights state fit"
    " lint lift explore migrate tracking",
    "server": "messages recipe targets edits readers sources lint",
    "cli": "messages recipe drift sources targets weights fit lint lift migrate api server",
    "__main__": "cli",
}
"""Room and the rooms that it may import; all of them stand above it in the table."""
PYSOURCE = {
    "syntax": "",
    "values": "",
    "libraries": "",
    "programs": "syntax values libraries",
    "names": "syntax values libraries programs",
    "flags": "values programs names",
    "evaluation": "syntax values programs names flags",
    "project": "syntax values programs names flags evaluation",
    "computing": "syntax values programs",
}
TRAINSTEP = {
    "events": "",
    "frames": "events",
    "windows": "events frames",
    "walk": "events frames windows",
    "steps": "events frames windows walk",
    "answers": "events frames windows",
}
READERS = {
    "protocol": "",
    "fact_builder": "",
    "settings": "",
    "schedule_names": "",
    "tree": "settings",
    "words": "settings tree schedule_names",
    "usual_names": "settings words",
    "evaluations": "settings",
    "inheritance": "tree",
    "config": "protocol settings tree words usual_names inheritance",
    "shell": "protocol settings words usual_names evaluations config",
    "python": "fact_builder settings schedule_names tree words usual_names inheritance config",
    "torch": "settings schedule_names tree words config python",
    "tensorflow": "fact_builder python",
    "paddle": "fact_builder schedule_names python",
    "emitted": "",
    "registry": "protocol",
    "not_recipes": "registry config",
    "recipe_yaml": "protocol not_recipes",
}
BACKENDS = {
    "crosscast_paddle": "",
    "crosscast_tensorflow": "",
    "crosscast_torch": "",
    "crosscast_trainers": "crosscast_torch",
}
INSIDE = {
    "crosscast_paddle.inside": "crosscast.reference crosscast_parity.inside",
    "crosscast_tensorflow.inside": "crosscast_parity.inside",
    "crosscast_torch.inside": "crosscast_parity.inside",
}
"""What backends load in the processes of their frameworks, on top of what the harness has there."""
PARITY = {
    "inside": "",
    "recordings": "",
    "checks": "",
    "recipes": "inside",
    "processes": "recordings",
    "inputs": "recordings recipes",
    "adapters": "inside",
    "levels": "inside recordings checks recipes inputs",
    "evidence": "recordings checks levels",
    "planning": "inside recipes inputs adapters",
    "judge": "recordings checks processes levels planning",
    "report": "recordings checks processes levels planning judge",
    "toy": "checks recipes processes levels planning",
    "weights": "inputs toy",
    "runs": "inside recordings checks processes inputs adapters planning judge toy",
    "exercise": "recordings checks levels evidence planning judge toy runs",
    "bisect": "recordings checks levels evidence runs",
    "compare": "inside recordings checks recipes processes inputs levels planning judge report runs"
    " exercise bisect toy weights",
    "self_test": "checks processes inputs levels planning judge runs compare",
    "side_by_side": "processes runs",
    "sweep": "recordings checks processes inputs levels",
    "scaling_law": "inside recordings checks recipes processes inputs levels planning report runs"
    " weights",
    "memory": "inputs processes report runs scaling_law",
    "modules": "inputs levels judge report weights",
    "reading": "recordings checks levels evidence side_by_side exercise bisect",
}
CORE_FOR_BACKENDS = "messages recipe plan targets emit memory"
CORE_FOR_PARITY = (
    "messages recipe data variations plan reference targets emit memory readers weights fit"
)
PARITY_FOR_CORE = {
    "api": (
        "compare judge memory modules planning processes report runs scaling_law self_test"
        " side_by_side sweep weights",
        "functions run comparisons",
    ),
    "cli": ("modules report sweep", "commands print comparisons"),
    "fit": ("recordings", "`plan --measured` reads the trace of a run"),
    "lift": ("planning reading side_by_side", "a reading is proven by running its source"),
    "tracking": ("recordings", "exports read what runs have left"),
    "migrate": ("compare planning side_by_side", "a migration is proven by running it"),
}
"""The harness is an extra: the core imports it in functions, or for its types, and only here."""


@cache
def allowed() -> dict[str, set[str]]:
    """Return for every room the rooms that it may import, by their full names."""
    found: dict[str, set[str]] = {}
    for head, table in (
        ("crosscast", CORE),
        ("crosscast.pysource", PYSOURCE),
        ("crosscast.trainstep", TRAINSTEP),
        ("crosscast.readers", READERS),
        ("crosscast_parity", PARITY),
    ):
        found |= {f"{head}.{room}": _named(head, rooms) for room, rooms in table.items()}
    found |= {room: set(rooms.split()) for room, rooms in BACKENDS.items()}
    for room in BACKENDS:
        found[room] |= _named("crosscast", CORE_FOR_BACKENDS)
    found |= {room: set(rooms.split()) for room, rooms in INSIDE.items()}
    for room in PARITY:
        found[f"crosscast_parity.{room}"] |= _named("crosscast", CORE_FOR_PARITY)
    for room, (rooms, _) in PARITY_FOR_CORE.items():
        found[f"crosscast.{room}"] |= _named("crosscast_parity", rooms)
    return found


def _named(head: str, rooms: str) -> set[str]:
    return {f"{head}.{room}" for room in rooms.split()}


def imports(tree: ast.AST, *, late: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what a module imports, and whether only in a function or for its types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in names_of_modules() else str(node.module), late
        elif not isinstance(node, ast.expr):  # no expression holds a statement
            typed = isinstance(node, ast.If) and is_for_types(node)
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports(node, late=late or typed or function)


def room_of(module: str, other: str) -> str:
    """Return the room of a module, as the module it is compared with sees it."""
    parts = module.split(".")
    if parts[0] in BACKENDS:
        inside = ".".join(parts[:2])
        return inside if inside in INSIDE else parts[0]
    shared = ".".join(parts[:2])
    deep = shared in SPLIT and ".".join(other.split(".")[:2]) == shared
    return ".".join(parts[: 3 if deep else 2])


Crossing = tuple[str, str, bool]
"""An import that leads to another room: from, to, whether late."""


@cache
def crossings() -> Mapping[str, tuple[Crossing, ...]]:
    """Return the imports of every module that lead to another room."""
    return {name: tuple(_crossings(name, tree_of(p))) for name, p in names_of_modules().items()}


def _crossings(module: str, tree: ast.AST) -> Iterator[Crossing]:
    for name, late in imports(tree):
        ours = name.partition(".")[0] in ("crosscast", "crosscast_parity", *BACKENDS)
        if not ours or name == "crosscast" or module == "crosscast":
            continue
        here, there = room_of(module, name), room_of(name, module)
        if here != there:
            yield here, there, late


def wrong(module: str, tree: ast.AST) -> list[str]:
    """Return the imports of a module that the tables do not allow, in words."""
    return _wrong(module, _crossings(module, tree))


def _wrong(module: str, found_in_it: Iterable[Crossing]) -> list[str]:
    rooms = allowed()
    found = []
    for here, there, late in found_in_it:
        if there not in rooms.get(here, ()):
            found.append(f"{module}: {here} may not import {there}")
        elif here.startswith("crosscast.") and there.startswith("crosscast_parity.") and not late:
            found.append(f"{module}: the harness is imported where it is needed, not at the top")
    return found


def test_rooms_import_what_the_tables_allow() -> None:
    found = [problem for module, own in crossings().items() for problem in _wrong(module, own)]
    assert sorted(set(found)) == []


def test_the_tables_allow_only_what_is_used() -> None:
    used = {(here, there) for own in crossings().values() for here, there, _ in own}
    common = _named("crosscast", f"{CORE_FOR_BACKENDS} {CORE_FOR_PARITY}")
    unused = [
        f"{here} -> {there}"
        for here, rooms in allowed().items()
        for there in rooms
        if (here, there) not in used and not (there in common and not here.startswith("crosscast."))
    ]
    assert sorted(unused) == []


@pytest.mark.parametrize("table", [CORE, PYSOURCE, TRAINSTEP, READERS, BACKENDS, PARITY])
def test_every_room_imports_only_rooms_above_it_in_the_table(table: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for room, rooms in table.items():
        assert set(rooms.split()) <= seen, room
        seen.add(room)


def test_every_folder_is_a_room_of_the_tables() -> None:
    for folder, table in (
        ("translator/crosscast", CORE),
        ("translator/crosscast/pysource", PYSOURCE),
        ("translator/crosscast/trainstep", TRAINSTEP),
        ("translator/crosscast/readers", READERS),
        ("parity/crosscast_parity", PARITY),
    ):
        found = {
            path.stem
            for path in (ROOT / folder).iterdir()
            if (path.suffix == ".py" or path.is_dir()) and path.stem not in EMPTY
        }
        assert found == set(table), folder


EMPTY = {"__init__", "__pycache__"}
PLANTED = {
    "at the top": "from crosscast.cli.compile import check\n",
    "as a module": "import crosscast.cli.compile\n",
    "in a function": "def f():\n    from crosscast.cli import compile\n",
    "for its types": "if TYPE_CHECKING:\n    from crosscast.cli.compile import check\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_an_import_up_is_found(text: str) -> None:
    message = "crosscast.lift.planted: crosscast.lift may not import crosscast.cli"
    assert wrong("crosscast.lift.planted", ast.parse(text)) == [message]


def test_an_import_up_within_a_room_with_floors_is_found() -> None:
    tree = ast.parse("from crosscast.pysource.evaluation.nodes import value_of_node\n")
    assert wrong("crosscast.pysource.names.planted", tree) != []
    assert wrong("crosscast.pysource.project", tree) == []
    assert wrong("crosscast.lint.planted", tree) == []


def test_the_core_imports_the_harness_only_late() -> None:
    line = "from crosscast_parity.planning.options import make_options\n"
    assert wrong("crosscast.migrate.planted", ast.parse(line)) != []
    assert wrong("crosscast.migrate.planted", ast.parse(f"def f():\n    {line}")) == []
    assert wrong("crosscast.lint.planted", ast.parse(f"def f():\n    {line}")) != []
