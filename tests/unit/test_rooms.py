"""The floors of the project: which room may import which. No import goes up, none in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import pytest

from source_trees import ROOT, is_for_types, names_of_modules, tree_of

SPLIT = ("crosscast_reading.pysource", "crosscast_reading.trainstep", "crosscast_reading.readers")
"""Rooms with floors of their own inside."""

CORE = {
    "messages": "",
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
    "weights": "messages recipe",
    "state": "messages recipe plan targets emit weights",
    "fit": "messages recipe targets memory",
    "explore": "messages recipe variations plan targets emit carriers",
    "tracking": "messages emit",
    "api": "messages recipe drift data plan targets emit memory weights state fit explore tracking",
    "server": "messages recipe targets",
    "cli": "messages recipe drift targets weights fit api server",
    "__main__": "cli",
}
"""Room of the core and the rooms that it may import; all of them stand above it in the table."""
READING = {
    "support": "",
    "facts": "",
    "pysource": "facts",
    "trainstep": "pysource",
    "edits": "pysource",
    "readers": "facts pysource trainstep",
    "sources": "facts pysource trainstep readers",
    "lint": "facts pysource trainstep edits readers sources",
    "lift": "facts pysource trainstep readers sources",
}
CORE_FOR_READING = {
    "support": "targets",
    "facts": "messages",
    "pysource": "messages targets",
    "trainstep": "messages",
    "edits": "messages",
    "readers": "messages recipe plan targets emit",
    "sources": "messages targets",
    "lint": "messages targets",
    "lift": "messages recipe plan targets",
}
CORE_FOR_MIGRATION = "messages recipe drift plan targets emit carriers"
READING_FOR_MIGRATION = "facts pysource trainstep edits readers sources lint lift"
READING_FOR_CORE = {
    "recipe": ("readers", "what a text is that is no recipe"),
    "explore": ("lift", "a page of scripts that were read"),
    "api": ("sources lint lift", "functions that read"),
    "server": ("edits readers sources lint", "findings in an editor"),
    "cli": ("sources lint lift", "commands that read"),
}
"""The face of the core, and why it reads: `compile` loads none of it."""
LATE = ("recipe", "api", "cli")
"""Rooms that import reading and migration in functions or for their types only."""
MIGRATION_FOR_CORE = ("api", "cli")
PYSOURCE = {
    "syntax": "",
    "values": "",
    "libraries": "",
    "programs": "syntax values libraries",
    "names": "syntax values libraries programs",
    "flags": "values programs names",
    "machine": "syntax values programs",
    "evaluation": "syntax values programs names flags machine",
    "project": "syntax values programs names flags evaluation",
}
TRAINSTEP = {
    **dict.fromkeys(("events", "tensors"), ""),
    "frames": "events",
    "windows": "events frames",
    "walk": "events frames windows",
    "steps": "events frames windows walk",
    "answers": "events frames windows",
}
READERS = {
    **dict.fromkeys(("protocol", "fact_builder", "settings", "schedule_names"), ""),
    "tree": "settings",
    "words": "settings tree schedule_names",
    "usual_names": "settings words",
    "evaluations": "settings",
    "inheritance": "tree",
    "config": "protocol settings tree words usual_names inheritance",
    "shell": "protocol settings words usual_names evaluations config",
    "python": "fact_builder settings schedule_names tree words usual_names inheritance config",
    "emitted": "",
    "registry": "protocol",
    "not_recipes": "registry config",
    "recipe_yaml": "protocol",
}
BACKEND = {
    "words": "",
    "reading": "",
    "answers": "reading",
    "rules": "reading answers",
    "migration": "reading answers rules",
    **dict.fromkeys(("models", "names", "states", "target", "inside", "stand_ins"), ""),
}
"""Rooms of a framework's package; PyTorch's stand-ins are for packages of others."""
CORE_FOR_BACKEND = {
    "reading": "messages targets",
    "rules": "messages",
    "migration": "messages",
    "states": "messages recipe plan targets emit state",
    "target": "messages recipe plan targets emit memory state",
    "inside": "reference",
}
READING_FOR_BACKEND = {
    "words": "pysource",
    "reading": "facts pysource trainstep readers",
    "answers": "pysource trainstep edits readers sources lint",
    "rules": "pysource trainstep readers sources lint",
    "migration": "pysource trainstep edits readers sources lint",
}
BACKENDS = {
    "crosscast_jax": "",
    "crosscast_paddle": "",
    "crosscast_tensorflow": "",
    "crosscast_torch": "",
    "crosscast_trainers": "crosscast_torch.reading crosscast_torch.target",
}
"""A framework's package, and rooms of another one that its rooms of that name may import."""
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
CORE_FOR_PARITY = "messages recipe data variations plan reference targets emit memory weights fit"
PARITY_FOR_CORE = {
    "api": (
        "compare judge memory modules planning processes report runs scaling_law self_test"
        " side_by_side sweep weights",
        "functions run comparisons",
    ),
    "cli": ("modules report sweep", "commands print comparisons"),
    "fit": ("recordings", "`plan --measured` reads the trace of a run"),
    "tracking": ("recordings", "exports read what runs have left"),
}
PARITY_FOR_READING = {"lift": ("planning reading side_by_side", "a source is run as a proof")}
PARITY_FOR_MIGRATION = "compare planning side_by_side"
"""A migration is proven by running it. The harness is an extra: others import it late."""

PACKAGES = ("crosscast", "crosscast_reading", "crosscast_migrate", "crosscast_parity")


@cache
def allowed() -> dict[str, set[str]]:
    """Return for every room the rooms that it may import, by their full names."""
    found: dict[str, set[str]] = {}
    for head, table in (
        ("crosscast", CORE),
        ("crosscast_reading", READING),
        ("crosscast_reading.pysource", PYSOURCE),
        ("crosscast_reading.trainstep", TRAINSTEP),
        ("crosscast_reading.readers", READERS),
        ("crosscast_parity", PARITY),
    ):
        found |= {f"{head}.{room}": _named(head, rooms) for room, rooms in table.items()}
    for backend, others in BACKENDS.items():
        found[backend] = {"crosscast.targets"}
        for room, rooms in BACKEND.items():
            found[f"{backend}.{room}"] = (
                _named(backend, rooms)
                | {other for other in others.split() if other.endswith(f".{room}")}
                | _named("crosscast", CORE_FOR_BACKEND.get(room, ""))
                | _named("crosscast_reading", READING_FOR_BACKEND.get(room, ""))
            )
        found[f"{backend}.target"].add(backend)
        found[f"{backend}.migration"].add("crosscast_migrate")
        found[f"{backend}.models"].add("crosscast_migrate")
        found[f"{backend}.names"] = {"crosscast_migrate"}
        found[f"{backend}.inside"].add("crosscast_parity.inside")
    for room in PARITY:
        found[f"crosscast_parity.{room}"] |= _named("crosscast", CORE_FOR_PARITY)
    for room, rooms in CORE_FOR_READING.items():
        found[f"crosscast_reading.{room}"] |= _named("crosscast", rooms)
    for home, head, reasons in (
        ("crosscast", "crosscast_parity", PARITY_FOR_CORE),
        ("crosscast", "crosscast_reading", READING_FOR_CORE),
        ("crosscast_reading", "crosscast_parity", PARITY_FOR_READING),
    ):
        for room, (rooms, _) in reasons.items():
            found[f"{home}.{room}"] |= _named(head, rooms)
    found["crosscast_migrate"] = (
        _named("crosscast", CORE_FOR_MIGRATION)
        | _named("crosscast_reading", READING_FOR_MIGRATION)
        | _named("crosscast_parity", PARITY_FOR_MIGRATION)
    )
    for room in MIGRATION_FOR_CORE:
        found[f"crosscast.{room}"].add("crosscast_migrate")
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
    if parts[0] == "crosscast_migrate":
        return parts[0]
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
        ours = name.partition(".")[0] in (*PACKAGES, *BACKENDS)
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
        elif not late and there.startswith("crosscast_parity.") and not _of_harness(here):
            found.append(f"{module}: the harness is imported where it is needed, not at the top")
        elif not late and here in _named("crosscast", " ".join(LATE)) and _reads(there):
            found.append(f"{module}: {there} is imported where it is needed, not at the top")
    return found


def _of_harness(room: str) -> bool:
    return room.startswith("crosscast_parity.") or room.partition(".")[0] in BACKENDS


def _reads(room: str) -> bool:
    return room.startswith("crosscast_reading.") or room == "crosscast_migrate"


def test_rooms_import_what_the_tables_allow() -> None:
    found = [problem for module, own in crossings().items() for problem in _wrong(module, own)]
    assert sorted(set(found)) == []


def test_the_tables_allow_only_what_is_used() -> None:
    used = {_any_backend(here, there) for own in crossings().values() for here, there, _ in own}
    common = _named("crosscast", CORE_FOR_PARITY)
    unused = {
        f"{here} -> {there}"
        for room, rooms in allowed().items()
        for here, there in (_any_backend(room, other) for other in rooms)
        if (here, there) not in used
        and not (there in common and here.startswith("crosscast_parity."))
    }
    assert sorted(unused) == []


def _any_backend(here: str, there: str) -> tuple[str, str]:
    """Return an arrow without the name of the backend, since all share one table."""
    own, other = here.partition(".")[0], there.partition(".")[0]
    if own not in BACKENDS:
        return here, there
    here = here.replace(own, "crosscast_x", 1)
    if other in BACKENDS:
        there = there.replace(other, "crosscast_x" if own == other else "crosscast_y", 1)
    return here, there


@pytest.mark.parametrize("table", [CORE, READING, PYSOURCE, TRAINSTEP, READERS, BACKEND, PARITY])
def test_every_room_imports_only_rooms_above_it_in_the_table(table: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for room, rooms in table.items():
        assert set(rooms.split()) <= seen, room
        seen.add(room)


def test_every_folder_is_a_room_of_the_tables() -> None:
    for folder, table in (
        ("translator/crosscast", CORE),
        ("translator/crosscast_reading", READING),
        ("translator/crosscast_reading/pysource", PYSOURCE),
        ("translator/crosscast_reading/trainstep", TRAINSTEP),
        ("translator/crosscast_reading/readers", READERS),
        ("parity/crosscast_parity", PARITY),
    ):
        found = {
            path.stem
            for path in (ROOT / folder).iterdir()
            if (path.suffix == ".py" or path.is_dir()) and path.stem not in EMPTY
        }
        assert found == set(table), folder
    for backend in BACKENDS:
        folders = {path.name for path in (ROOT / "backends" / backend).iterdir() if path.is_dir()}
        assert folders - EMPTY <= {*BACKEND, "texts"}, backend


EMPTY = {"__init__", "__pycache__"}
PLANTED = {
    "at the top": "from crosscast.cli.compile import check\n",
    "as a module": "import crosscast.cli.compile\n",
    "in a function": "def f():\n    from crosscast.cli import compile\n",
    "for its types": "if TYPE_CHECKING:\n    from crosscast.cli.compile import check\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_an_import_up_is_found(text: str) -> None:
    message = "crosscast_reading.lift.planted: crosscast_reading.lift may not import crosscast.cli"
    assert wrong("crosscast_reading.lift.planted", ast.parse(text)) == [message]


def test_an_import_up_within_a_room_with_floors_is_found() -> None:
    tree = ast.parse("from crosscast_reading.pysource.evaluation.nodes import value_of_node\n")
    assert wrong("crosscast_reading.pysource.names.planted", tree) != []
    assert wrong("crosscast_reading.pysource.project", tree) == []
    assert wrong("crosscast_reading.lint.planted", tree) == []


def test_the_core_imports_the_harness_only_late() -> None:
    line = "from crosscast_parity.planning.options import make_options\n"
    assert wrong("crosscast_migrate.planted", ast.parse(line)) != []
    assert wrong("crosscast_migrate.planted", ast.parse(f"def f():\n    {line}")) == []
    assert wrong("crosscast_reading.lint.planted", ast.parse(f"def f():\n    {line}")) != []
