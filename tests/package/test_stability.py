"""What a release emits stays the same, byte for byte, in all releases of its minor version.

`emitted-X.Y.json` has the checksums of the compiled examples. While the changelog says that the
first release of a minor version is still to come, `make generate` writes them; from then on a file
may differ only if the changelog names it under a newer release, as `examples/NAME/...`.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase

import pytest

from crosscast import __version__
from emitted_checksums import checksums, is_released, kept_path, undeclared
from source_trees import ROOT


def test_emitted_files_are_those_of_the_minor_version() -> None:
    kept = json.loads(kept_path().read_text())
    now = checksums()
    if not is_released():
        assert now == kept, "run: make generate"
    assert undeclared(kept, now, (ROOT / "CHANGELOG.md").read_text()) == []


def test_the_file_is_of_this_minor_version() -> None:
    minor = re.match(r"\d+\.\d+", __version__)
    assert minor
    assert kept_path().name == f"emitted-{minor[0]}.json"


CHANGES = """\
# Changelog

## 0.1.2
- A GPU that is busy: `examples/gpt/after/torch/launch.sh`, `examples/*/after/paddle/train.py`.

## 0.1.0
- `examples/bert-small/after/torch/train.py`
"""


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("examples/gpt/after/torch/launch.sh", True),
        ("examples/gpt/after/paddle/train.py", True),
        ("examples/gpt/after/torch/train.py", False),
        ("examples/bert-small/after/torch/train.py", False),  # that was the first release
    ],
)
def test_a_change_must_be_declared(name: str, declared: bool) -> None:
    assert (undeclared({name: "a"}, {name: "b"}, CHANGES) == []) is declared
    assert undeclared({name: "a"}, {name: "a"}, CHANGES) == []
    assert (undeclared({name: "a"}, {}, CHANGES) == []) is declared
    assert undeclared({}, {name: "a"}, CHANGES) == []  # a new example
    assert fnmatchcase(name, "examples/*")
