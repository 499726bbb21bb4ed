"""CL912 for programs that Keras trains, and for namespaces of flags that files share."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

FLAGS = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--momentum", type=float, default=0.9)
args = parser.parse_args()
"""
FIT = """\
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(2)])
model.compile(optimizer=keras.optimizers.SGD(args.lrMORE), loss="mse")
model.fit(rows, labels)
"""


def dead(**files: str) -> list[str]:
    """Return the flags that are found to be dead."""
    sources = [Source(f"{name}.py", text) for name, text in files.items()]
    return [d.message.split()[0] for d in lint_sources(sources) if d.code == "CL912"]


@pytest.mark.parametrize(
    ("more", "expected"), [("", ["--momentum"]), (", momentum=args.momentum", [])]
)
def test_flags_of_a_fit(more: str, expected: list[str]) -> None:
    assert dead(train=FLAGS + FIT.replace("MORE", more)) == expected


def test_a_file_that_does_not_train() -> None:
    text = FIT.replace("MORE", "").replace("model.fit(rows, labels)\n", "")
    assert dead(train=FLAGS + text) == []
    assert dead(train=FLAGS + FIT.replace("MORE", "").replace("compile", "prepare")) == []


@pytest.mark.parametrize(
    ("head", "more", "expected"),
    [
        ("from params import args\n", "", ["--momentum"]),
        ("from params import args\n", ", momentum=args.momentum", []),
        ("import params\nargs = params.args\n", ", momentum=params.args.momentum", []),
        ("from params import args\nfrom models import build\n", "", []),
    ],
)
def test_flags_that_another_file_parses(head: str, more: str, expected: list[str]) -> None:
    """What is not read here may be read by a file that is not given."""
    assert dead(train=head + FIT.replace("MORE", more), params=FLAGS) == expected
