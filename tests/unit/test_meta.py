"""The project about itself: imports, codes, rows and their probes, sizes, generated files."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from crosscast.messages.codes import CODES, Code
from crosscast.targets.backend import Backend, load_backend
from crosscast.targets.capability import Verdict
from crosscast.targets.harness import Module
from crosscast_parity.adapters.registry import ADAPTERS, SHARED
from named_tests import is_test
from recipe_strategies import COMPILED, LAYERS
from recipe_texts import FLOAT16, text_of
from source_trees import (
    ROOT,
    SOURCES,
    is_for_types,
    modules,
    names_of_modules,
    statements_of,
    tree_of,
)
from source_trees import text_of as source_text

CODE = r"\bCC\d{3}\b"
FRAMEWORKS = {"torch", "tensorflow", "keras", "paddle"}
HEAVY = {"numpy", "matplotlib", "tokenizers", "safetensors", "scipy"}
FRAMEWORK_BACKENDS = [load_backend(name) for name in COMPILED]
BACKENDS = [load_backend(name) for name in (*COMPILED, *LAYERS)]
INSIDE = {
    path: folder.parent.name.removeprefix("crosscast_")
    for folder in sorted((ROOT / "backends").glob("*/inside"))
    for path in sorted(folder.glob("*.py"))
    if path.name != "__init__.py"
}
"""Loaded in the process of the one framework of their package."""
PROGRAMS = {
    path
    for folder in ("scripts", "probes")
    for path in (ROOT / "parity/crosscast_parity/adapters" / folder).glob("*.py")
} | set((ROOT / "backends").glob("*/stand_ins/*/**/*.py"))
"""Third-party trainers and questions about them, and what stands in for packages that a user's
program misses: run in processes of their own."""


def imported(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names of modules that statements import, without looking into functions."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and not is_for_types(node):
            yield from imported([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from imported([*node.body, *node.orelse, *node.finalbody])


def module_name(path: Path) -> str:
    """Return the name under which a file of a backend is imported."""
    return ".".join(path.relative_to(ROOT / "backends").with_suffix("").parts)


# imports


def top_names(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_no_module_imports_a_framework() -> None:
    """Nor does it import what does, which is loaded by name in a process of the framework."""
    inside = set(map(module_name, INSIDE))
    apart = tuple(f"crosscast_parity.adapters.{room}" for room in ("probes", "scripts"))
    wrong = {}
    for path in modules(*SOURCES):
        if path in INSIDE.keys() | PROGRAMS:
            continue
        # Some functions are called in a framework's own process only: probes of `doctor`, readers
        # of its files, hooks.
        shallow = path.name in ("machine.py", "saved_file.py") or ROOT / "parity" in path.parents
        names = set(imported(statements_of(path)))
        found = top_names(imported(tree_of(path).body) if shallow else names) & FRAMEWORKS
        found |= {name for name in names if name in inside or name.startswith(apart)}
        if found:
            wrong[str(path.relative_to(ROOT))] = found
    assert wrong == {}


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: "/".join(path.parts[-3:]))
def test_what_works_inside_a_framework_imports_only_that(path: Path) -> None:
    own = INSIDE[path]
    allowed = {own, "keras"} if own == "tensorflow" else {own}
    names = set(imported(statements_of(path)))
    assert top_names(names) & FRAMEWORKS <= allowed
    assert not names & {module_name(path) for path, other in INSIDE.items() if other != own}


def test_modules_inside_a_framework_are_those_that_are_sought() -> None:
    sought = set(get_args(Module))
    imports = {name for path in INSIDE for name in imported(statements_of(path))}
    for path in INSIDE:
        assert path.stem in sought or module_name(path) in imports, path
    assert {path.stem for path in INSIDE} >= sought


@pytest.mark.parametrize("path", sorted(PROGRAMS), ids=lambda path: "/".join(path.parts[-2:]))
def test_programs_for_a_framework_import_one_at_most(path: Path) -> None:
    names = top_names(imported(statements_of(path)))
    assert len({name.replace("keras", "tensorflow") for name in names & FRAMEWORKS}) <= 1
    if path.parent.name == "scripts":  # copied into a folder of its own, without crosscast
        assert not {name for name in names if name.startswith("crosscast")}


def test_programs_for_frameworks_are_where_they_are_sought() -> None:
    assert {path.parent.name for path in PROGRAMS} == {
        *("scripts", "probes"),
        *("apex", "normalization", "parallel"),
    }
    files = {name for adapter in ADAPTERS.values() for name in adapter.files.values()}
    assert {path.name for path in PROGRAMS if path.parent.name == "scripts"} == files | set(SHARED)


PROBE = """
import json, sys
from crosscast.cli import app
for arguments in json.loads(sys.argv[1]):
    assert not app(arguments, standalone_mode=False), arguments
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_compiling_imports_neither_frameworks_nor_arrays(tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(text_of(precision=FLOAT16))
    to = ["--to", ",".join((*COMPILED, *LAYERS))]
    commands = [
        ["compile", str(recipe), *to, "-o", str(tmp_path / "out")],
        ["check", str(recipe), *to],
        ["explain", str(recipe), *to],
        ["show", str(recipe)],
        ["matrix"],
        ["schema"],
        ["init", str(tmp_path / "new" / "r.yaml")],
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(commands)], capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert {"crosscast", "jinja2", "pydantic"} <= loaded
    assert not loaded & (FRAMEWORKS | HEAVY)
    assert (tmp_path / "out" / "torch" / "train.py").exists()


@pytest.mark.parametrize("command", [["--help"], ["--version"]], ids=" ".join)
def test_asking_for_help_loads_little(command: list[str]) -> None:
    code = f"import sys; sys.argv[1:] = {command!r}\nfrom crosscast.cli import run\nrun()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "crosscast.cli" in loaded
    for name in ("numpy", "jinja2", "pydantic", "ruamel.yaml", "matplotlib", "torch"):
        assert name not in loaded


def test_modules_do_not_import_each_other_in_circles() -> None:
    names = names_of_modules()
    needs = {
        name: {
            module for module in imported(tree_of(path).body) if module in names and module != name
        }
        for name, path in names.items()
    }
    while needs:
        free = {name for name, wanted in needs.items() if not wanted & needs.keys()}
        assert free, f"circular: {sorted(needs)}"
        needs = {name: wanted for name, wanted in needs.items() if name not in free}


# codes


@cache
def mentioned() -> Counter[str]:
    """Count the codes that source code and templates use, without the tables that define them."""
    found: Counter[str] = Counter()
    for path in modules(*SOURCES):
        if path.name == "codes.py" or not re.search(CODE, source_text(path)):
            continue
        tree = tree_of(path)
        defined = {
            id(node.args[0])
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Code"
            and node.args
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in defined
            ):
                found.update(re.findall(CODE, node.value))
    return found


def all_codes() -> list[str]:
    own = dict.fromkeys(code for backend in BACKENDS for code in backend.codes)  # layers share
    return [*CODES, *(code.code for code in own)]


def test_codes_are_unique() -> None:
    assert [code for code, count in Counter(all_codes()).items() if count > 1] == []
    tables = (ROOT / "translator/crosscast/messages").glob("*_codes.py")
    written = sum(len(re.findall(r'Code\(\s*"CC', path.read_text())) for path in tables)
    assert written == len(CODES)


def test_every_code_that_is_used_is_explained() -> None:
    assert set(mentioned()) - set(all_codes()) == set()


def test_every_code_that_is_explained_is_used() -> None:
    assert set(all_codes()) - set(mentioned()) == set()


def test_codes_in_templates_and_pages_are_explained() -> None:
    pages = [
        *(ROOT / "templates").rglob("*.j2"),
        *modules("templates"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("README*.md"),
    ]
    for path in pages:
        codes = set(re.findall(CODE, path.read_text(encoding="utf-8")))
        assert codes <= set(all_codes()), path


def test_codes_have_a_title_and_help() -> None:
    wrong = [code for code in CODES.values() if not well_told(code)]
    assert wrong == []


def well_told(code: Code) -> bool:
    """Whether a code has a title in lower case, and help that is a sentence or a command."""
    title = code.title
    lower = title[:1] == title[:1].lower() or title.split()[0].isupper()
    return (
        re.fullmatch(r"CC\d{3}", code.code) is not None
        and bool(title)
        and (lower or title.startswith("YAML"))
        and (code.help.endswith(".") or "`" in code.help)
    )


# rows


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda case: str(case.name))
def test_rows_that_are_not_exact_have_a_code_and_a_probe(backend: Backend) -> None:
    own = {code.code for code in backend.codes}
    for row in backend.rows:
        if row.verdict is Verdict.EXACT:
            assert not row.code, row
            continue
        assert row.code in own | CODES.keys(), row
        assert probe_exists(row.probe), row.probe


def probe_exists(probe: str) -> bool:
    """Whether a probe is a test function, or says why it needs none."""
    if probe.startswith("none: "):
        return True
    return is_test(probe)


@pytest.mark.parametrize("backend", FRAMEWORK_BACKENDS, ids=lambda case: str(case.name))
def test_codes_of_a_backend_are_used_by_its_rows_or_scripts(backend: Backend) -> None:
    package = ROOT / "backends" / f"crosscast_{backend.name}"
    texts = [path.read_text() for path in package.rglob("*.py")]
    for code in backend.codes:
        assert sum(text.count(f'"{code.code}"') for text in texts) >= 2, code.code


# sizes and generated files


def lines(path: Path) -> int:
    return len(source_text(path).splitlines())


def test_modules_and_templates_stay_small() -> None:
    paths = modules(*SOURCES, "templates", "tests")
    assert [path.name for path in paths if lines(path) > 400] == []
    templates = set((ROOT / "templates").rglob("*.j2"))
    # These are modules; emission/test_runtime.py counts their emitted lines.
    whole = {path for path in templates if path.parent.name == "runtime"}
    assert [path.name for path in templates - whole if lines(path) > 120] == []
    assert [path.name for path in whole if lines(path) > 300] == []


def test_generated_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_emitted_code_imports_nothing_of_ours() -> None:
    for path in (*(ROOT / "templates").rglob("*.j2"), *modules("templates")):
        assert not re.search(r"^\s*(import|from) crosscast", path.read_text(), re.MULTILINE), path


# words


def test_a_class_with_the_name_of_a_term_means_that_term() -> None:
    """No two classes have the same term of the glossary as their name."""
    table = (ROOT / "docs" / "design.md").read_text().partition("## Glossary")[2]
    terms = re.findall(r"^\| ([\w-]+) \|", table.partition("\n## ")[0], re.M)
    names = {term.title().replace("-", "") for term in terms} - {"Term"}
    assert {"Plan", "Frame", "MicroBatch", "Verdict", "Row"} <= names
    found: dict[str, list[str]] = {}
    for path in modules(*SOURCES):
        for node in tree_of(path).body:
            for name in _names_of_classes(node):
                if name in names:
                    found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def _names_of_classes(node: ast.stmt) -> list[str]:
    """Return the class or the alias of a type that a statement defines."""
    match node:
        case ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper() and not name.isupper():
            return [name]
    return []
