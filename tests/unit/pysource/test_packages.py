"""The table of packages: every question that readers ask of a name has one answer."""

from __future__ import annotations

import ast
from collections import Counter
from typing import cast

import pytest

from crosscast.targets.source_support import installed_support, load_object
from crosscast_reading.facts.vocabulary import VOCABULARY
from crosscast_reading.pysource.libraries.packages import (
    KNOWN,
    OWN,
    TABLE,
    TRAINING,
    framework_of_name,
    is_foreign,
    is_of_framework,
    packages_of,
)
from crosscast_reading.pysource.libraries.words import Words
from source_trees import ROOT, modules, text_of, tree_of

_OTHER_QUESTIONS = {
    "facts/vocabulary.py": "words of a field",
    "lift/plan_comparison.py": "words for who computes gradients",
    "lint/answers/loop.py": "words for who computes gradients",
    "lint/rule.py": "topics of rules",
    "pysource/machine/functions.py": "packages whose functions of numbers mean the same",
    "readers/python/seeds.py": "frameworks whose seeds are read",
    "trainstep/walk/assignments.py": "words for who computes gradients",
}
"""Where frameworks are listed for another question."""
OUR_SUPPORT = ("general", "torch", "tensorflow", "paddle", "jax", "trainers")


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("torch.optim.AdamW", "pytorch"),
        ("apex.amp.initialize", "pytorch"),
        ("keras.optimizers.Adam", "tensorflow"),
        ("tf.train.AdamOptimizer", "tensorflow"),
        ("paddlenlp.trainer.Trainer", "paddle"),
        ("optax.adamw", "jax"),
        ("horovod.torch.DistributedOptimizer", ""),
        ("transformers.AdamW", ""),
        ("torchmetrics.Accuracy", ""),
        ("mytorch.optim.AdamW", ""),
        ("utils.torch.clip", ""),
        ("", ""),
    ],
)
def test_a_name_is_of_the_framework_of_its_package(name: str, framework: str) -> None:
    assert framework_of_name(name) == framework


def test_what_is_built_on_a_framework_is_not_of_the_framework_itself() -> None:
    assert is_of_framework("torch.nn.Linear")
    assert not is_of_framework("apex.optimizers.FusedAdam")
    assert not is_of_framework("torchmetrics.Accuracy")


def test_names_of_no_framework_or_of_several_are_not_foreign() -> None:
    assert is_foreign("optax.adamw", "pytorch")
    assert not is_foreign("timm.optim.create_optimizer", "pytorch")
    assert not is_foreign("horovod.tensorflow.DistributedOptimizer", "pytorch")
    assert not is_foreign("numpy.array", "pytorch")


def test_a_package_stands_in_one_row_once() -> None:
    listed = [name for row in TABLE for name in (*row.own, *row.known, *row.around, *row.aliases)]
    assert [name for name, count in Counter(listed).items() if count > 1] == []


def test_frameworks_that_are_read_are_those_of_the_vocabulary() -> None:
    own = [support.words for name, support in installed_support().items() if name in OUR_SUPPORT]
    found = [cast("Words", load_object(words)) for words in own if words]
    rows = [row for words in found for row in words.packages]
    assert {row.name for row in rows if row.is_read and row.name} == {
        *VOCABULARY["framework"].values
    }


def test_a_framework_that_is_not_read_is_not_searched_for_training() -> None:
    assert OWN < KNOWN
    assert not packages_of("mxnet") & TRAINING
    assert "mxnet" in OWN


def test_other_modules_keep_no_list_of_frameworks() -> None:
    """Two packages of different frameworks in one tuple or set are a list of the kind."""
    found = []
    for path in modules("translator", "backends"):
        where = path.relative_to(ROOT).as_posix()
        if where.endswith(tuple(_OTHER_QUESTIONS)) or "/words/" in where:
            continue
        text = text_of(path)
        if sum(name in text for name in OWN) < 2:
            continue  # most modules name no two packages; to look through a tree takes longer
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Tuple | ast.Set | ast.List) and _mixes(node):
                found.append(f"{where}:{node.lineno}")
    assert found == []


def _mixes(node: ast.Tuple | ast.Set | ast.List) -> bool:
    words = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    named = {word.removesuffix(".") for word in words}
    return len({framework_of_name(word) for word in named & OWN}) > 1
