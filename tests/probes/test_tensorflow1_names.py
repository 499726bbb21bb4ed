"""The tables of names of TensorFlow 1 agree with the installed TensorFlow and with 1.15."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from crosscast_tensorflow.migration.experimental.codemods_tensorflow1.tf1_numpy import (
    BUILTINS,
    RENAMED,
)
from crosscast_tensorflow.migration.experimental.keras_names.scope import ONLY_KERAS_3
from crosscast_tensorflow.migration.experimental.tensorflow1.helper_files import helper_text
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import (
    HELPERS,
    MOVED,
    PLAIN_INITIALIZERS,
    gone,
    needs_legacy_keras,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.private_names import LOST, OLDER
from crosscast_tensorflow.migration.experimental.tensorflow1.slim_names import SLIM_NAMES
from crosscast_tensorflow.migration.experimental.tensorflow1.v1_names import V1_NAMES
from crosscast_tensorflow.migration.experimental.tensorflow1.v2_names import V2_NAMES
from frameworks.subprocesses import run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

PROGRAM = Path(__file__).parent / "resolve_names.py"
NEW = sorted({*MOVED.values(), *PLAIN_INITIALIZERS.values()})


def missing(names: list[str], framework: str, folder: Path, **options: bool) -> list[str]:
    """Return the names that do not exist in a release; the helper modules are in the folder."""
    (folder / "names.json").write_text(json.dumps(names))
    for helper in HELPERS:
        (folder / f"{helper}.py").write_text(helper_text(helper))
    found: list[str] = run_python(PROGRAM, framework, folder / "names.json", folder, **options)
    return found


V1 = [
    *NEW,
    *(f"tensorflow.compat.v1.{name}" for name in sorted(V1_NAMES)),
    *("tensorflow.compat.v1.layers.dense", "tensorflow.compat.v1.nn.rnn_cell.GRUCell"),
]
SLIM = [f"{module}.{name}" for module, names in SLIM_NAMES.items() for name in names]
SLIM = sorted({*SLIM_NAMES, *SLIM})
OF_KERAS_3 = [name.rstrip(".") for name in ONLY_KERAS_3]
NOT_IN_KERAS_2 = [f"tf_{name}" for name in OF_KERAS_3]


@pytest.fixture(scope="module")
def not_with_keras_2(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names that are not there beside Keras 2: one process is asked for those of all tests."""
    names = [*V1, *SLIM, *NOT_IN_KERAS_2]
    return missing(names, "tf_keras", tmp_path_factory.mktemp("names"), fork=False)


def test_new_names_exist(not_with_keras_2: list[str]) -> None:
    assert [name for name in V1 if name in not_with_keras_2] == []


def test_names_of_slim_exist(not_with_keras_2: list[str]) -> None:
    assert [name for name in SLIM if name in not_with_keras_2] == []


@exhaustive("starts TensorFlow once more")
def test_names_of_tensorflow_2_exist(tmp_path: Path) -> None:
    names = [f"tensorflow.{name}" for name in sorted(V2_NAMES)]
    assert missing(names, "tensorflow", tmp_path) == []


@exhaustive("starts TensorFlow once more")
def test_names_of_tensorflow_1_are_not_in_tensorflow(tmp_path: Path) -> None:
    names = [f"tensorflow.{name}" for name in sorted(V1_NAMES)]
    assert missing(names, "tensorflow", tmp_path) == names
    old = [f"tensorflow.compat.v1.{name}" for name in sorted(MOVED)]
    old = [name for name in old if "pywrap" not in name and ".python." not in name]
    assert missing(old, "tensorflow", tmp_path) == old


@exhaustive("starts TensorFlow once more")
def test_private_names_are_gone(tmp_path: Path) -> None:
    old = [f"tensorflow.{name}" for name in sorted(LOST)]
    old += [f"tensorflow.{name}" for name in sorted(MOVED) if name.startswith("python.")]
    assert missing(old, "tensorflow", tmp_path) == old


@exhaustive("starts TensorFlow once more")
def test_layers_need_keras_2(tmp_path: Path) -> None:
    assert needs_legacy_keras("layers.dense")
    names = ["tensorflow.compat.v1.layers.dense"]
    assert missing(names, "tensorflow", tmp_path) == names


def test_what_only_keras_3_has(tmp_path: Path, not_with_keras_2: list[str]) -> None:
    assert missing(OF_KERAS_3, "tensorflow", tmp_path) == []
    assert [name for name in NOT_IN_KERAS_2 if name not in not_with_keras_2] == []


def test_names_of_numpy_moved(tmp_path: Path) -> None:
    new = [
        f"builtins.{name}" if old in BUILTINS else f"numpy.{name}" for old, name in RENAMED.items()
    ]
    assert missing(new, "tensorflow", tmp_path) == []
    # NumPy 2 has a type of its own with the names bool and long.
    old = [f"numpy.{name}" for name in RENAMED if name not in ("bool", "long")]
    assert missing(old, "tensorflow", tmp_path) == old


@pytest.mark.skipif(
    "CROSSCAST_TENSORFLOW_1_15" not in os.environ,
    reason="needs TensorFlow 1.15: let CROSSCAST_TENSORFLOW_1_15 name its Python (docs/testing.md)",
)
@exhaustive("needs TensorFlow 1.15")
def test_old_names_existed(tmp_path: Path) -> None:
    older = {f"python.{name}" for name in OLDER}
    existed = {*MOVED, *V1_NAMES, *PLAIN_INITIALIZERS, *LOST} - older
    names = [f"tensorflow.{name}" for name in sorted(existed)]
    assert missing(names, "tensorflow@1.15", tmp_path) == []
    new = [f"tensorflow.{name}" for name in sorted(V2_NAMES)]
    assert missing(new, "tensorflow@1.15", tmp_path) == new


def test_what_moved_is_not_gone_by_a_longer_name() -> None:
    for name in MOVED:
        head, hint = gone(name)
        assert head != name
        assert bool(head) == bool(hint)
