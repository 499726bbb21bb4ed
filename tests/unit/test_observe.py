"""The observer on a script without a framework, and the names of operations."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from crosscast_parity.inside import observe
from crosscast_parity.inside.manifest import CLASSES, Patches, Recorder, canonical
from crosscast_parity.inside.watcher import Blind
from crosscast_parity.recordings.type_manifest import read_manifest


def script(**others: Any) -> Any:
    """A script that adds 1 to its only weight in every window; its third loss is NaN."""

    def micro_batch_loss(model: Any, batch: Any) -> float:
        return float(batch["x"].sum())

    def train_window(state: Any, micro_batches: Any) -> dict[str, Any]:
        losses = [module.micro_batch_loss(state.model, batch) for batch in micro_batches]
        state.model["weight"] += 1.0
        state.windows += 1
        return {"window": state.windows - 1, "loss": sum(losses), "skipped": False}

    module = SimpleNamespace(
        micro_batch_loss=micro_batch_loss,
        train_window=train_window,
        named_parameters=dict,
        exchange_layout=lambda name, array: array.T,
    )
    vars(module).update(others)
    return module


def state_of(windows: int = 0) -> Any:
    return SimpleNamespace(windows=windows, model={"weight": np.zeros((2, 3))})


def window_of(*values: float) -> list[dict[str, np.ndarray]]:
    return [{"x": np.array([value, value])} for value in values]


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with safe_open(path, framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["observation"]), arrays


def test_a_script_of_no_framework(tmp_path: Path) -> None:
    module, state = script(), state_of(5)
    seams = module.train_window, module.micro_batch_loss
    stop = observe.install("", module, tmp_path / "observed", [5, 6], True)
    for _ in range(3):
        module.train_window(state, window_of(1.0, np.nan))
    stop()
    assert (module.train_window, module.micro_batch_loss) == seams
    names = sorted(path.name for path in (tmp_path / "observed").iterdir())
    assert names == ["window-0005.safetensors", "window-0006.safetensors"]
    facts, arrays = read(tmp_path / "observed" / names[1])
    assert facts["losses"] == [2.0, None]
    assert facts["factors"] == [None, None]
    assert facts["micro_rows"] == [2, 2]
    assert facts["row"] == {"window": 6, "loss": None, "skipped": False}
    assert set(arrays) == {"before/weight", "after/weight"}
    assert arrays["before/weight"].tolist() == [[1.0, 1.0]] * 3
    assert arrays["after/weight"].tolist() == [[2.0, 2.0]] * 3


def test_windows_are_chosen_by_number(tmp_path: Path) -> None:
    """After a gap, and where a run begins late, moments and averages from before are recorded."""
    held = {"m/weight": np.zeros(2, np.float32)}  # the script goes on changing it

    def train_window(state: Any, micro_batches: Any) -> dict[str, Any]:
        state.model["weight"] += 1.0
        held["m/weight"] += 1.0
        return {"window": 0, "skipped": False}

    module = script(
        train_window=train_window,
        optimizer_arrays=lambda state: held,
        ema_arrays=lambda state: {"weight": state.model["weight"].T},
    )
    stop = observe.install("", module, tmp_path, [0, 1, 4, 7, 8, 30], False)
    state = state_of()
    for _ in range(10):
        module.train_window(state, window_of(1.0))
    stop()
    found = {path.name.partition(".")[0] for path in tmp_path.iterdir()}
    assert {name for name in found if name.startswith("window")} == {
        f"window-000{n}" for n in (0, 1, 4, 7, 8)
    }
    assert {name for name in found if name.startswith("state")} == {"state-0004", "state-0007"}
    _, window = read(tmp_path / "window-0004.safetensors")
    assert window["before/weight"].tolist() == [[4.0, 4.0]] * 3
    with safe_open(tmp_path / "state-0004.safetensors", framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert {name: array.flat[0] for name, array in arrays.items()} == {
        "moments/m/weight": 4.0,
        "average/weight": 4.0,
    }
    late = script(optimizer_arrays=lambda state: {})
    observe.install("", late, tmp_path, [5], False)
    late.train_window(state_of(5), window_of(1.0))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["state-0005.safetensors", "window-0005.safetensors"]


def test_a_window_that_is_not_recorded_is_watched_up_to_the_last(tmp_path: Path) -> None:
    """TensorFlow runs in a recorded window what it traced in another one."""
    seen: list[bool | None] = []

    class Watching(Blind):
        def begin(self, state: Any, models: Any, small: bool, active: bool) -> None:
            seen.append(active)

        def close(self) -> None:
            seen.append(None)

    module = script()
    observer = observe.Observer(module, tmp_path, [0, 2], Watching())
    observer.install(None, keep=False)
    for _ in range(5):
        module.train_window(state_of(), window_of(1.0))
    assert seen == [True, False, True, None]


def test_the_scripts_own_arrays_come_first(tmp_path: Path) -> None:
    masters = np.full((1,), 0.1, np.float32)
    module = script(model_arrays=lambda state: {"weight": masters})
    observe.install("", module, tmp_path, [0], False)
    module.train_window(state_of(), window_of(1.0))
    _, arrays = read(tmp_path / "window-0000.safetensors")
    assert arrays["before/weight"].tolist() == masters.tolist()


def test_what_an_earlier_run_left_is_removed(tmp_path: Path) -> None:
    kinds = ("window", "average", "state")
    for name in (*(f"{kind}-0009.safetensors" for kind in kinds), "manifest.json", "mine"):
        (tmp_path / name).touch()
    observe.install("", script(), tmp_path, [0], False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_nothing_asked_changes_nothing(tmp_path: Path) -> None:
    module = script()
    seams = module.train_window, module.micro_batch_loss
    observe.install("", module, tmp_path / "observed", [], False)()
    assert (module.train_window, module.micro_batch_loss) == seams
    assert not (tmp_path / "observed").exists()


def test_a_script_without_parameters_leaves_no_file(tmp_path: Path) -> None:
    module = script(named_parameters=None)
    observe.install("", module, tmp_path, [0], False)
    module.train_window(state_of(), window_of(1.0))
    assert list(tmp_path.iterdir()) == []


def test_a_window_that_fails_leaves_no_file_and_its_error_passes(tmp_path: Path) -> None:
    def train_window(state: Any, micro_batches: Any) -> None:
        raise RuntimeError("broken")

    module = script(train_window=train_window)
    stop = observe.install("", module, tmp_path, [0], False)
    with pytest.raises(RuntimeError, match="broken"):
        module.train_window(state_of(), window_of(1.0))
    stop()
    assert list(tmp_path.iterdir()) == []
    assert module.train_window is train_window


def test_a_wrapper_around_it_is_left_alone(tmp_path: Path) -> None:
    module = script()
    stop = observe.install("", module, tmp_path, [0], False)
    inner = module.train_window

    def around(*args: Any) -> Any:
        return inner(*args)

    module.train_window = around
    stop()
    assert module.train_window is around
    module.train_window(state_of(), window_of(1.0))
    assert list(tmp_path.iterdir()) == [], "it must record nothing any more"


@pytest.mark.parametrize(("weights", "small"), [(1_999_999, True), (2_000_000, False)])
def test_large_models_go_without_the_first_gradients(
    tmp_path: Path, weights: int, small: bool
) -> None:
    found = []

    class Watching(Blind):
        def begin(self, state: Any, models: Any, small: bool, active: bool) -> None:
            found.append(small)

    module = script(model_arrays=lambda state: {"weight": np.zeros(weights, np.float32)})
    observe.Observer(module, tmp_path, [0], Watching()).install(None, keep=False)
    module.train_window(state_of(), window_of(1.0))
    assert found == [small]


class FakeTap:
    """Notes which recorder is on."""

    def __init__(self) -> None:
        self.on: Recorder | None = None
        self.model: Any = None

    def start(self, recorder: Recorder, model: Any) -> None:
        self.on, self.model = recorder, model

    def stop(self) -> None:
        self.on = None

    def call(self, name: str, dtype: str) -> None:
        if self.on:
            self.on.call(lambda value: value, name, lambda x: x, (dtype,), {})


def test_types_of_the_first_forward_pass_and_of_every_evaluation(tmp_path: Path) -> None:
    tap, state = FakeTap(), state_of()

    def loss(model: Any, batch: Any) -> float:
        tap.call("matmul", "float16")
        return 0.0

    def evaluate(state: Any, rows: Any) -> None:
        module.micro_batch_loss(state.model, rows)
        tap.call("cross_entropy", f"float{rows}")

    module = script(micro_batch_loss=loss, evaluate=evaluate)
    observer = observe.Observer(module, tmp_path, [0], Blind())
    observer.install(tap, keep=False)
    module.evaluate(state, 32)
    for _ in range(3):
        module.train_window(state, window_of(1.0, 2.0))
    assert tap.model is state.model
    module.evaluate(state, 16)
    tap.call("matmul", "bfloat16")
    observer.stop()
    assert module.evaluate is evaluate
    module.evaluate(state, 64)
    found = read_manifest(tmp_path / "manifest.json")
    (product,) = found.operations["matmul"]
    assert (product.output, product.count) == ("float16", 1)
    assert found.operations["losses"] == ()
    assert [(o.output, o.count) for o in found.evaluation["matmul"]] == [("float16", 2)]
    assert [o.output for o in found.evaluation["losses"]] == ["float16", "float32"]


def test_types_of_the_first_backward_pass(tmp_path: Path) -> None:
    tap, state = FakeTap(), state_of()

    def train_window(state: Any, batches: Any) -> dict[str, Any]:
        for number, batch in enumerate(batches):
            module.micro_batch_loss(state.model, batch)
            tap.call("sum", "float32" if number else "float16")
        return {}

    def loss(model: Any, batch: Any) -> float:
        tap.call("matmul", "float16")
        return 0.0

    module = script(micro_batch_loss=loss, train_window=train_window)
    observer = observe.Observer(module, tmp_path, [0], Blind())
    observer.install(tap, keep=False)
    for _ in range(2):
        module.train_window(state, window_of(1.0, 2.0))
    observer.stop()
    manifest = read_manifest(tmp_path / "manifest.json")
    assert manifest.operations["reductions"] == ()
    (total,) = manifest.backward["reductions"]
    assert (total.name, total.output, total.count) == ("sum", "float16", 1)
    assert tap.on is None


def test_what_a_program_composes_is_one_operation_whose_parts_are_counted() -> None:
    recorder = Recorder()

    def kind(value: Any) -> str | None:
        return value if isinstance(value, str) else None

    def norm(x: str) -> Any:
        recorder.call(kind, "mean", lambda y: y, (x,), {})
        return recorder.compose(kind, "layer_norm", lambda y: y, (x,), {})

    recorder.compose(kind, "layer_norm", norm, ("float16",), {}, others=("float32",))
    recorder.call(kind, "softmax", norm, ("float16",), {})
    assert [call["name"] for call in recorder.sequence()["order"]] == ["layer_norm", "softmax"]
    counts = recorder.facts()["operations"]["reductions"]
    assert {name: len(found) for name, found in counts.items()} == {
        "layer_norm": 2,
        "mean": 1,
        "softmax": 1,
    }


def test_a_cast_to_the_same_type_is_none() -> None:
    recorder = Recorder()
    for output in ("float32", "float16"):
        recorder.call(lambda value: value, "cast", lambda x, to=output: to, ("float32",), {})
    (cast,) = recorder.facts()["operations"]["casts"]["cast"]
    assert cast == {"in": ["float32"], "out": "float16", "count": 1}


def test_numbers_that_were_cast_to_half_and_back_are_told_from_others() -> None:
    def dtype(value: Any) -> str | None:
        return str(value.dtype) if isinstance(value, np.ndarray) else None

    recorder = Recorder()
    wide, half = (np.ones(3, dtype) for dtype in ("float32", "float16"))
    for start, through in ((wide, ("float16", "float32")), (half, ("float32",)), (wide, ())):
        value = start
        for to in through:
            value = recorder.call(dtype, "cast", np.ndarray.astype, (value, to), {})
        recorder.call(dtype, "mean", np.mean, (value,), {"keepdims": True})
    means = [call for call in recorder.sequence()["order"] if call["name"] == "mean"]
    assert [call["in"] for call in means] == [["float32"]] * 3
    assert [call["narrowed"] for call in means] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__radd__", "add"),
        ("__rtruediv__", "div"),
        ("__rdiv__", "div"),
        ("__iadd__", "add"),
        ("__rsub__", "sub"),
        ("__matmul__", "matmul"),
        ("add_", "add"),
        ("subtract", "sub"),
        ("relu", "relu"),
        ("rsqrt", "rsqrt"),
        ("linear_v2", "linear"),
        ("cross_entropy_with_softmax", "cross_entropy"),
        ("reshape", None),
        ("__getitem__", None),
        ("____", None),
        ("", None),
    ],
)
def test_canonical_names(name: str, expected: str | None) -> None:
    assert canonical(name) == expected


def test_no_operation_is_in_two_classes() -> None:
    names = [name for found in CLASSES.values() for name in found]
    assert len(names) == len(set(names))


def test_an_operation_within_another_is_not_counted() -> None:
    recorder = Recorder()

    def kind(value: Any) -> str | None:
        return value if isinstance(value, str) else None

    def softmax(x: str) -> str:
        recorder.call(kind, "exp", lambda y: y, (x,), {})
        return "float16"

    recorder.call(kind, "softmax", softmax, ("float32",), {}, others=("float16", None))
    assert recorder.facts()["operations"] == {
        "matmul": {},
        "pointwise": {},
        "reductions": {"softmax": [{"in": ["float16", "float32"], "out": "float16", "count": 1}]},
        "embeddings": {},
        "losses": {},
        "casts": {},
    }


def test_patches_put_back_what_was_inherited() -> None:
    class Base:
        value = 1

    class Child(Base):
        pass

    patches = Patches()
    patches.replace(Child, "value", 2)
    patches.replace(Base, "value", 3)
    assert (Child.value, Base.value) == (2, 3)
    patches.undo()
    assert "value" not in vars(Child)
    assert (Child.value, Base.value) == (1, 1)
    assert not patches.made
