"""What is known of a framework comes from its backend: the core and the harness name none.

A name counts in identifiers, in imports and in texts of one word. Sentences, which are messages
and docstrings, may say what they like.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from source_trees import ROOT, modules, text_of, tree_of

NAME = re.compile(r"torch|tensorflow|keras|paddle", re.I)
NAMED = {
    "translator/crosscast_reading/facts/": "the words in which readers tell what they read",
    "translator/crosscast_reading/readers/": "one module per generation of an API",
    "translator/crosscast_reading/pysource/": "signatures and names of libraries that sources use",
    "translator/crosscast_reading/trainstep/": "what calls of libraries do in a training loop",
    "translator/crosscast_reading/sources/": "packages that requirements pin, and launchers",
    "translator/crosscast_reading/lint/": "rules are about one framework each",
    "translator/crosscast_migrate/": "codemods are about one framework each",
    "translator/crosscast_reading/edits/layout.py": "an expression of users' sources",
    "translator/crosscast_reading/lift/implied_defaults.py": "interfaces of readers",
    "translator/crosscast_reading/lift/library_defaults.py": "interfaces of readers",
    "translator/crosscast_reading/lift/plan_comparison.py": "libraries that readers tell",
    "translator/crosscast_reading/lift/separate_programs.py": "packages that are not the user's",
    "translator/crosscast_reading/lift/frameworks.py": "what a source is that does not say it",
    "translator/crosscast/state/torch_": "the reader of what torch.save wrote",
    "translator/crosscast/state/outline.py": "the reader of what torch.save wrote",
    "translator/crosscast/state/sources.py": "the default of a flag",
    "translator/crosscast/cli/state.py": "the default of a flag",
    "translator/crosscast/recipe/other_vocabularies.py": "what other tools call fields and values",
    "translator/crosscast/api/calls.py": "the example of a hint",
    "translator/crosscast/api/states.py": "the default of an argument",
    "translator/crosscast/targets/target_names.py": "what people call targets",
    "translator/crosscast/targets/library_defaults.py": "defaults of third-party trainers",
    "translator/crosscast/targets/parameter_words.py": "what libraries call the fields of a recipe",
    "parity/crosscast_parity/adapters/": "third-party trainers, written for one framework each",
    "parity/crosscast_parity/planning/options.py": "the default of a flag",
}
"""Where names stand all the same, and why."""


def names(tree: ast.Module) -> Iterator[str]:
    """Yield identifiers, imports and texts of one word."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if not re.search(r"\s", text.strip()):
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.alias(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(module=str(name)):
                yield name


def named(folder: str) -> dict[str, set[str]]:
    """Return the names of frameworks in the modules of a folder, by path."""
    found = {}
    for path in modules(folder):
        if not NAME.search(text_of(path)):
            continue
        if own := {name for name in names(tree_of(path)) if NAME.search(name)}:
            found[path.relative_to(ROOT).as_posix()] = own
    return found


def test_the_core_and_the_harness_name_no_framework() -> None:
    everything = named("translator") | named("parity")
    assert {p: own for p, own in everything.items() if not p.startswith(tuple(NAMED))} == {}
    unused = [prefix for prefix in NAMED if not any(path.startswith(prefix) for path in everything)]
    assert unused == []


@pytest.mark.parametrize(
    "text",
    [
        'FLOAT32 = {"paddle"}',
        "import torch",
        "from crosscast_torch import BACKEND",
        "def of_keras(): ...",
        'program = f"work_{framework}_torch"',
    ],
)
def test_a_planted_name_is_found(text: str) -> None:
    assert any(NAME.search(name) for name in names(ast.parse(text)))


def test_sentences_are_no_names() -> None:
    text = '"""As PyTorch does."""\nraise ValueError("PyTorch has none")\n'
    assert not any(NAME.search(name) for name in names(ast.parse(text)))
