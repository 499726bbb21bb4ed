"""The tables of signatures that scripts are read by say what the installed packages have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosscast_reading.pysource.libraries import signatures
from frameworks.subprocesses import require, run_python
from probes.default_values import installed
from tiers import cases

Order = dict[str, Any]
PACKAGES = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("accelerate", marks=pytest.mark.torch),
    pytest.param("transformers", marks=pytest.mark.torch),
    pytest.param("lightning", marks=pytest.mark.torch),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("keras", marks=pytest.mark.tensorflow),
    pytest.param("tf_keras", marks=pytest.mark.tensorflow),
    pytest.param("paddle", marks=pytest.mark.paddle),
]
GONE = {
    "torch": r"(npu|mlu)\.amp\.|xpu\.amp\.autocast$",
    "transformers": r"AdamW$",
    "tensorflow": r"contrib\.|(train|mixed_precision)\.(experimental\.)?\w*(LossScale|rewrite)"
    r"|(compat\.v1\.)?keras\.(optimizers\.(legacy|experimental|adam|adam_v2)\.|mixed_precision\.)"
    r"|compat\.v1\.(keras\.|random\.set_seed$|config\.)",
    "keras": r"optimizers\.(legacy|experimental|adam|adam_v2)\.|mixed_precision\.experimental\.",
    "tf_keras": r"optimizers\.(legacy|experimental|adam|adam_v2)\.|mixed_precision\.experimental\."
    r"|DTypePolicy$|config\.|mixed_precision\.(DTypePolicy|set_dtype_policy)$|optimizers\.Lamb\b",
    "paddle": r"fluid\.",
}
"""Rows for what no current release has: older interfaces, Keras 3 in Keras 2, vendors' plug-ins."""

HANDED_ON = re.compile(
    r"SyncReplicasOptimizer\.compute_gradients$|fleet\.distributed_optimizer$"
    r"|tf_keras\.mixed_precision\.LossScaleOptimizer$"
)
"""Take what they do not name and hand it on; their rows are those of what they call."""


def rows(package: str) -> list[str]:
    return sorted(name for name in signatures.known_names() if name.startswith(f"{package}."))


def version(package: str) -> str:
    found = installed(package, package.replace("_", "-"))
    return next(iter(found.values()), "")


def windows(name: str, here: str) -> list[str]:
    """Return the texts of a row that hold for a version."""
    row = signatures.table()[name]
    if isinstance(row, str):
        return [row]
    return [text for since, until, text in row if signatures.holds(here, since, until)]


def differences(text: str, true: Order) -> list[str]:
    """Return what is wrong in the text of a row; names appended after it are not."""
    before, _, after = text.partition("*")
    told, keywords = before.split(), after.split()
    wrong = []
    if true["positional"][: len(told)] != told:
        wrong.append(f"{told} is not how {true['positional']} begins")
    known = {*true["positional"][len(told) :], *true["keyword"]}
    if not true["open"]:
        wrong.extend(f"no {name}" for name in keywords if name not in known)
    return wrong


def wrong_rows(answers: dict[str, list[Order] | None], here: str) -> dict[str, list[str]]:
    """Return the rows that no order of the installed function agrees with."""
    found = {}
    for name, orders in answers.items():
        if not orders or HANDED_ON.search(name):
            continue
        texts = windows(name, here)
        each = [min((differences(text, order) for order in orders), key=len) for text in texts]
        if not texts or any(each):
            found[name] = [problem for problems in each for problem in problems]
    return found


def appended(answers: dict[str, list[Order] | None], here: str) -> dict[str, list[str]]:
    """Return the parameters that functions have by place and the table does not know."""
    found: dict[str, list[str]] = {}
    for name, orders in answers.items():
        known = {word for text in windows(name, here) for word in text.split()}
        new = [p for order in orders or () for p in order["positional"] if p not in known]
        if new:
            found[name] = new
    return found


@pytest.mark.parametrize(
    "package",
    cases(PACKAGES, quick=["torch", "tensorflow", "paddle"], reason="libraries on frameworks"),
)
def test_rows_are_what_the_installed_release_has(
    package: str, record_property: Callable[[str, object], None]
) -> None:
    require(package)
    here, names = version(package), rows(package)
    program = Path(__file__).parent / "read_signatures.py"
    answers = run_python(program, package, json.dumps(names))
    gone = re.compile(rf"{package}\.({GONE.get(package, '(?!)')})")
    missing = [name for name in names if answers[name] is None]
    record_property(f"appended in {package} {here}", json.dumps(appended(answers, here)))
    wrong = wrong_rows(answers, here)
    assert not wrong, "\n".join(f"{name}: {problems}" for name, problems in wrong.items())
    assert [n for n in missing if not gone.match(n) and not HANDED_ON.search(n)] == []
    assert sum(answers[name] is not None for name in names) >= len(names) // 4


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("params lr", 0),
        ("params lr eps * fused", 0),
        ("params * eps", 0),
        ("lr params", 1),
        ("params lr eps more", 1),
        ("params lr * nesterov", 1),
        ("fused", 1),
    ],
)
def test_a_changed_order_or_a_lost_name_is_found(text: str, wrong: int) -> None:
    true = {"positional": ["params", "lr", "eps"], "keyword": ["fused"], "open": False}
    assert len(differences(text, true)) == wrong


def test_a_row_without_a_window_for_this_version_is_found() -> None:
    order: Order = {"positional": [], "keyword": [], "open": False}
    assert list(wrong_rows({"keras.optimizers.SGD": [order]}, "2.3.1")) == ["keras.optimizers.SGD"]
    assert wrong_rows({"keras.optimizers.SGD": None}, "2.3.1") == {}
