"""What is known of a framework comes from its backend: the core and the harness name none.

A name counts in identifiers, in imports and in texts of one word. Sentences, which are messages
and docstrings, may say what they like.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from source_trees import ROOT, modules, text_of, tree_of

NAME = re.compile(r"torch|tensorflow|keras|paddle", re.I)
NAMED = {
    "translator/crosscast_reading/facts/": (20, "the words in which readers tell what they read"),
    "translator/crosscast_reading/readers/config/": (41, "formats of third-party trainers"),
    "translator/crosscast_reading/readers/emitted/": (4, "what emitted scripts say of themselves"),
    "translator/crosscast_reading/readers/shell/": (37, "flags and launchers of third parties"),
    "translator/crosscast_reading/readers/python/": (76, "programs that several frameworks share"),
    "translator/crosscast_reading/readers/": (6, "words of configurations"),
    "translator/crosscast_reading/support.py": (2, "names of readers of third-party formats"),
    "translator/crosscast_reading/pysource/": (10, "names whose values are known everywhere"),
    "translator/crosscast_reading/trainstep/": (28, "what calls do in a loop of any framework"),
    "translator/crosscast_reading/sources/": (12, "packages that requirements pin, and launchers"),
    "translator/crosscast_reading/lint/answers/": (22, "what loops of any framework look like"),
    "translator/crosscast_reading/lint/rules/": (45, "mistakes in loops of any framework"),
    "translator/crosscast_reading/lint/": (3, "topics of rules"),
    "translator/crosscast_reading/edits/layout.py": (1, "an expression of users' sources"),
    "translator/crosscast_reading/lift/": (37, "interfaces of readers, and libraries they tell"),
    "translator/crosscast/state/sources.py": (1, "the default of a flag"),
    "translator/crosscast/recipe/document.py": (1, "a policy that is named after the one of Keras"),
    "translator/crosscast/recipe/policies.py": (1, "a policy that is named after the one of Keras"),
    "translator/crosscast/recipe/other_vocabularies.py": (5, "what tools call fields and values"),
    "translator/crosscast/api/calls.py": (1, "the example of a hint"),
    "translator/crosscast/api/states.py": (1, "the default of an argument"),
    "translator/crosscast/targets/target_names.py": (4, "what people call targets"),
    "translator/crosscast/targets/library_defaults.py": (1, "defaults of third-party trainers"),
    "translator/crosscast/targets/parameter_words.py": (11, "what libraries call fields"),
    "parity/crosscast_parity/adapters/": (59, "third-party trainers, for one framework each"),
    "parity/crosscast_parity/planning/options.py": (1, "the default of a flag"),
}
"""Where names stand all the same, how many, and why. The first entry that fits a file counts it;
a number may only fall, and the smaller one is written here."""


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
    counted: Counter[str] = Counter()
    elsewhere = {}
    for path, own in (named("translator") | named("parity")).items():
        place = next((prefix for prefix in NAMED if path.startswith(prefix)), None)
        if place is None:
            elsewhere[path] = own
        else:
            counted[place] += len(own)
    assert elsewhere == {}
    assert counted == {place: number for place, (number, _) in NAMED.items()}


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
