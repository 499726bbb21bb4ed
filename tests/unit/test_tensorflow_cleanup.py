"""What a run leaves in the process of TensorFlow is given back."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast_tensorflow.inside.cleanup import clean_up


def test_keras_collects_no_garbage_beside_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def clear_3(free_memory: bool = True) -> None:
        asked.append({"free_memory": free_memory})

    def clear_2() -> None:
        asked.append({})

    for clear in (clear_3, clear_2):
        keras = SimpleNamespace(utils=SimpleNamespace(clear_session=clear))
        monkeypatch.setitem(sys.modules, "keras", keras)
        clean_up()
    assert asked == [{"free_memory": False}, {}]
