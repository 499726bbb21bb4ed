"""Files that were never meant for lint, and odd arguments: no failure, nothing found wrongly."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.sources.files import Text, read_text
from crosscast_reading.sources.prefilter import may_train
from tiers import cases

ROOT = Path(__file__).resolve().parents[3]
NUMBERS = cases([100, 300], quick=[100], reason="three times as many installed files")
SAMPLES = cases([60, 2000], quick=[60], reason="thirty times as many changed examples of rules")
OTHERS = ("[0, 'a']", "[]", "{'a': [1]}", "None", "3", "'word'", "unknown", "f(x)[0]", "*unknown")
"""What arguments are replaced by."""
LARGE = 60_000
"""Characters; larger files are left to benchmarks/lint_installed.py, for the time they take."""
MOST = 3000
"""Of which those are drawn."""
TRAINERS = ("torch", "keras", "tf_keras", "tensorflow", "paddle", "transformers", "accelerate")
"""Packages with loops that do train."""


def installed() -> list[Path]:
    """Return Python files of some packages, and of the standard library, in random order."""
    chance = random.Random(0)
    folders = sorted(Path(sysconfig.get_path("purelib")).iterdir())
    chance.shuffle(folders)
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    for folder in folders:
        if len(files) < MOST:
            files += sorted(folder.rglob("*.py"))
    chance.shuffle(files)
    return files


def likely(paths: list[Path], number: int) -> list[Source]:
    """Return the texts that get past the pre-filter, and some that do not."""
    kept: list[Source] = []
    others = 0
    for path in paths:
        text = read_text(path, named=False)
        if isinstance(text, Text):
            if len(text.source.text) > LARGE:
                continue
            if may_train(text.source):
                kept.append(text.source)
            elif others < number // 3:
                others += 1
                kept.append(text.source)
        if len(kept) >= number:
            break
    return kept


@pytest.mark.parametrize("number", NUMBERS)
def test_installed_files(number: int) -> None:
    for source in likely(installed(), number):
        found = lint_sources([source])
        assert [finding for finding in found if not finding.is_finding] == [], source.name
        trains = any(f"/{name}/" in source.name for name in TRAINERS)
        assert trains or found == [], (source.name, found)


def test_the_project_itself() -> None:
    """Sources of crosscast speak of training all the time, and do not train."""
    paths = [*(ROOT / "translator").rglob("*.py"), *(ROOT / "parity").rglob("*.py")]
    for path in random.Random(1).sample(sorted(paths), 60):
        text = read_text(path)
        assert isinstance(text, Text)
        found = lint_sources([text.source])
        assert [finding for finding in found if not finding.is_finding] == [], path
        if "/inside/" not in str(path) and "/adapters/" not in str(path):
            assert [
                (diagnostic.code, diagnostic.span)
                for diagnostic in found
                if diagnostic.code[:3] != "CL9"
            ] == [], path


def another_argument(text: str, chance: random.Random) -> str:
    """Return a program with one argument of a call replaced by something of another kind."""
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [call for call in found if call.args or call.keywords]
    if not calls:
        return text
    call = chance.choice(calls)
    other = chance.choice(OTHERS)
    new, starred = ast.parse(other.lstrip("*"), mode="eval").body, other[0] == "*"
    place = chance.randrange(len(call.args) + len(call.keywords))
    if place < len(call.args):
        call.args[place] = ast.Starred(new) if starred else new
    else:
        word = call.keywords[place - len(call.args)]
        word.arg, word.value = None if starred else word.arg, new
    return ast.unparse(tree)


@pytest.mark.parametrize("number", SAMPLES)
def test_arguments_of_another_kind(number: int) -> None:
    chance = random.Random(2)
    rules = [rule for rule in all_rules().values() if rule.language == "python"]
    examples = [rule.right for rule in rules]
    examples += [rule.wrong for rule in rules if rule.name != "not-python-3"]
    for _ in range(number):
        text = another_argument(chance.choice(examples), chance)
        found = lint_sources([Source("train.py", text)])
        assert [finding for finding in found if not finding.is_finding] == [], text


STRANGE = {
    "null.py": "optimizer = 1\0",
    "deep.py": "optimizer = " + "(" * 400 + ")" * 400,
    "deeper.py": "optimizer = " + "-" * 20_000 + "1",
    "long.py": "optimizer = [" + "1, " * 50_000 + "]",
    "tabs.py": "if optimizer:\n\tx = 1\n        y = 2\n",
    "cut.py": "def backward(optimizer",
    "bom.py": "\ufeffoptimizer.step()\n",
    "returns.py": "optimizer.step()\rloss.backward()\r",
    "feeds.py": "\f\noptimizer.step()\f\nloss.backward()\n",
    "lone.py": "optimizer = '\udcff'\n",
    "emoji.py": "optimizer = '\U0001f600'; loss.backward(); optimizer.step()\n",
    "circle.py": "optimizer = optimizer\nself = self.self\nloss = loss.backward()\n",
    "star.py": "from torch.cuda.amp import *\noptimizer.step(*a, **b)\nGradScaler(*a)(**b)\n",
    "async.py": "async def f():\n async for x in y:\n  loss.backward()\n  optimizer.step()\n",
    "match.py": "match optimizer:\n    case {'fp16': x, **rest}:\n        loss.backward()\n",
    "empty.ipynb": "",
    "odd.ipynb": '{"cells": [{"cell_type": "code", "source": 1}, 2, {"source": ["optimizer"]}]}',
    "odd.json": '{"fp16": {"enabled": [[[[]]]]}, "optimizer": null, "fp16": 1}',
    "deep.json": '{"optimizer": ' + "[" * 5000 + "]" * 5000 + "}",
    "odd.yaml": "optimizer: &a [*a]\n",
    "list.yaml": "- fp16\n- optimizer\n",
    "odd.sh": "python train.py ${x[@]:1:2} $(python --fp16 <<< `optimizer`) && {\n",
    "cut.sh": "python train.py 'optimizer",
    "crlf.sh": "python train.py \\\r\n  --fp16\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_strange_files(name: str) -> None:
    for neighbours in ((), (Source("run.sh", f"python {name} --fp16\n"),)):
        found = lint_sources([Source(name, STRANGE[name]), *neighbours])
        assert [finding for finding in found if not finding.is_finding] == []


def test_strange_files_all_at_once(tmp_path: Path) -> None:
    for name, text in STRANGE.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", "lint", str(tmp_path), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["diagnostics"] == []


def test_the_hook_names_the_command() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "entry: crosscast lint" in text
    assert "id: crosscast-lint" in text
