"""Completion in shells: what is offered, by the protocols of bash, zsh and fish, and how fast."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from crosscast.cli import app, completion
from crosscast.fit.devices import find_device
from crosscast.recipe.schema import value_fields, words_of
from crosscast.targets.backend import backend_names, find_target
from own_parts import own_rules

MOST_MODULES = 40
"""Of ours that a completion may import; 23 do today."""


def completed(shell: str, line: str, *words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that a shell gets for a command line that ends at the cursor."""
    given = words or tuple(line.split(" "))
    for name, value in {
        "_CROSSCAST_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_CROSSCAST_COMPLETE_HEAD": "",
        "COMP_WORDS": "\n".join(given),
        "COMP_CWORD": str(len(given) - 1),
    }.items():
        monkeypatch.setenv(name, value)
    completion.rejoin_words(os.environ)
    found = CliRunner().invoke(app, [], prog_name="crosscast")
    assert found.stderr == ""
    return found.stdout.splitlines()


@pytest.mark.parametrize(
    ("shell", "line", "wanted"),
    [
        ("bash", "crosscast check r.yaml --to pad", ["paddle", "paddlenlp"]),
        ("bash", "crosscast compile r.yaml --to torch,tens", ["torch,tensorflow"]),
        ("zsh", "crosscast explain r.yaml --to torch@2", ['"torch@2.13"', "torch@2.4"]),
        ("fish", "crosscast state convert a --from tensorflow@keras", ["tensorflow@keras3"]),
        ("fish", "crosscast sweep r.yaml --set optimizer.learn", ["optimizer.learning_rate="]),
        ("fish", "crosscast lint --format git", ["github", "gitlab"]),
        ("bash", "crosscast lint --select CL101,CL10", ["CL101,CL102"]),
        ("zsh", "crosscast dri", ['"drift"']),
    ],
)
def test_shells(shell: str, line: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = "\n".join(completed(shell, line, monkeypatch=monkeypatch))
    assert all(word in found for word in wanted), found


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("torch @ 2", ["2.13", "2.4"]),
        ("torch @", ["torch.amp", "2.13", "2.4", "torch.cuda.amp", "1.11", "torch.cuda.amp-1.6"]),
        ("torch @ 2.4,paddle @ dyg", ["dygraph", "dygraph2"]),
        ("torch @ 2.4,paddlen", ["2.4,paddlenlp"]),
        ("torch @ 2.4 --thr", ["--threads"]),
        ("= tor", ["torch"]),
        ("= torch @ 2.1", ["2.13"]),
        ("torch --set precision.mode = m", ["mixed"]),
        ("torch --set precision.mode =", ["none", "mixed", "full"]),
        ("torch --set = optimizer.lea", ["optimizer.learning_rate="]),
        ("torch --set = precision.mode = f", ["full"]),
    ],
)
def test_bash_splits_words(words: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are those that bash gives: it replaces only what stands behind `@` and `=`."""
    line = ("crosscast", "sweep", "r.yaml", "--to", *words.split())
    assert completed("bash", "", *line, monkeypatch=monkeypatch)[: len(wanted)] == wanted


def test_words_of_other_shells_and_commands_stay() -> None:
    for environment in (
        {},
        {"_CROSSCAST_COMPLETE": "complete_zsh", "COMP_WORDS": "a\n@\nb", "COMP_CWORD": "2"},
        {"COMP_WORDS": "a\n@\nb", "COMP_CWORD": "2"},
        {"_CROSSCAST_COMPLETE": "complete_bash"},
    ):
        before = dict(environment)
        completion.rejoin_words(environment)
        assert environment == before


def test_targets() -> None:
    assert completion.complete_targets("tor") == ["torch"]
    assert "torch@2.13" in completion.complete_targets("torch")
    assert not any("@" in name for name in completion.complete_targets(""))
    assert completion.complete_targets("torch,tor") == []
    assert completion.complete_targets("zzz") == []
    for word in ("torch@", "paddle@", "tensorflow@", "transformers@"):
        for name in completion.complete_targets(word):
            assert find_target(name).name == name
    assert completion.complete_migrations("tor") == ["torch.amp", "torch"]
    assert sorted(completion.complete_targets("")) == backend_names()


def test_fields_are_those_of_the_schema() -> None:
    assert "optimizer" in completion.complete_fields("optimizer")
    assert completion.complete_fields("seed,clipping.max") == [
        "seed,clipping.max_norm",
        "seed,clipping.max_value",
    ]
    assert [field.rstrip("=") for field in completion.complete_settings("")] == [*value_fields()]
    assert {"seed", "precision.ops.matmul", "optimizer.momentum"} <= set(value_fields())
    assert completion.complete_settings("precision.mode=") == [
        f"precision.mode={word}" for word in ("none", "mixed", "full")
    ]
    assert completion.complete_settings("precision.mode=m") == ["precision.mode=mixed"]
    assert completion.complete_settings("nothing.like.it=") == []
    assert words_of("optimizer.name") == ("sgd", "adam", "adamw", "lamb", "lion", "adafactor")
    assert words_of("activation_checkpointing") == ("true", "false")
    assert words_of("nothing.like.it") == ()


def test_rules_changes_devices_and_packages() -> None:
    assert completion.complete_rules("") == [rule.code for rule in own_rules()]
    assert completion.complete_rules("CL101,CL10")[0] == "CL101,CL102"
    assert completion.complete_changes("adam") == ["adam-bias-correction"]
    assert all(find_device(name) for name in completion.complete_devices(""))
    assert completion.complete_packages("t") == ["tensorflow", "torch"]


def test_a_completion_imports_little() -> None:
    """A key press waits for what it imports; seconds of a machine would tell less."""
    code = (
        "import os, sys\n"
        "os.environ |= {'_CROSSCAST_COMPLETE': 'complete_fish', '_TYPER_COMPLETE_ARGS': "
        "'crosscast sweep r.yaml --to torch@', '_TYPER_COMPLETE_FISH_ACTION': 'get-args'}\n"
        "sys.argv = ['crosscast']\n"
        "from crosscast.cli import run\n"
        "try:\n    run()\n"
        "except SystemExit:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found = set(done.stderr.split())
    ours = {name for name in found if name.startswith("crosscast")}
    heavy = {"torch", "tensorflow", "paddle", "numpy", "rich", "jinja2", "ruamel"}
    assert not found & {*heavy, "crosscast_torch", "crosscast.recipe.document"}
    assert "crosscast.cli.completion" in ours
    assert len(ours) <= MOST_MODULES, sorted(ours)
