"""What stays of a run in the process of TensorFlow: what AutoGraph made of functions, by code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from crosscast_tensorflow.inside.cleanup import clean_up

SCRIPT = "def step(x):\n    return [x for _ in range(COUNT)]\n"


def step_of(path: str, count: int) -> Callable[..., Any]:
    space: dict[str, Any] = {"COUNT": count}
    exec(compile(SCRIPT, path, "exec"), space)
    step: Callable[..., Any] = space["step"]
    return step


class Callback:
    """Something without code, which AutoGraph remembers as it is."""


def test_what_was_made_of_a_function_serves_the_next_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
    transpiler = SimpleNamespace(_cache=SimpleNamespace(_cache=known))
    autograph = SimpleNamespace(_TRANSPILER=transpiler)
    monkeypatch.setitem(sys.modules, "tensorflow.python.autograph.impl.api", autograph)
    monkeypatch.setitem(sys.modules, "keras", None)
    step, callback = step_of("a/train.py", 1), Callback()
    known[step.__code__], known[callback] = "converted", "held"
    clean_up()
    del step, callback
    gc.collect()
    assert list(known.values()) == ["converted"]
    assert step_of("b/train.py", 2).__code__ in known


@pytest.mark.parametrize("api", [None, SimpleNamespace(), SimpleNamespace(_TRANSPILER=None)])
def test_another_version_of_tensorflow_is_left_alone(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow.python.autograph.impl.api", api)
    monkeypatch.setitem(sys.modules, "keras", None)
    clean_up()


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
