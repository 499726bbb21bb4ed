"""Functional models, defaults and embeddings compute in Keras 3 what they did in Keras 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import older, run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

HERE = Path(__file__).parent
TENSORFLOW_2_5 = "needs TensorFlow 2.5: let CROSSCAST_TENSORFLOW_2_5 name its Python"
OLD_ALONE = pytest.mark.skipif("tensorflow@2.5" not in older("tensorflow"), reason=TENSORFLOW_2_5)


@exhaustive("programs beside TensorFlow 2.5")
@OLD_ALONE
@pytest.mark.parametrize("name", ["keras_functional", "keras_meanings"])
def test_a_program_computes_what_it_did_in_keras_2(name: str, tmp_path: Path) -> None:
    text = (HERE / f"{name}.txt").read_text()
    result = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
    assert not result.refusals, [refusal.message for refusal in result.refusals]
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(result.texts["train.py"])
    runner = HERE / "run_keras_program.py"
    old = run_python(runner, "tensorflow@2.5", tmp_path / "old.py", fork=False)
    new = run_python(runner, "tensorflow", tmp_path / "new.py")
    assert len(old) == len(new)
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-5, err_msg=str(number))


def test_the_tables_hold_in_keras_3() -> None:
    assert run_python(HERE / "run_keras_tables.py", "tensorflow") == []
