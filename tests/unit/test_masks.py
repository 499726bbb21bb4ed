"""The generator of dropout masks, their numbering, and how those of two programs are compared."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.inside.masks import Masked, Masks, Site, install
from crosscast_parity.inside.philox import philox, uniform
from crosscast_parity.levels.masks import compare_masks
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.masks import takes_masks, with_masks
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recordings.masks import DropoutCall, GivenMasks, read_masks
from parity_fakes import make_recipe

# The vectors of the Random123 library (kat_vectors), for `philox 4x32 10`.
ALL = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL,) * 4, (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (*PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]
HERE = Site("encoder", 0.1)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_the_generator_gives_the_words_of_its_authors(
    counter: tuple[int, ...], key: tuple[int, int], words: tuple[int, ...]
) -> None:
    found = philox(np.array(counter, np.uint64)[:, None], key)
    assert tuple(int(word) for word in found[:, 0]) == words


def test_numbers_are_uniform_and_depend_on_seed_and_place_alone() -> None:
    numbers = uniform(7, (3, 1, 2), 100_001)
    assert numbers.dtype == np.float32
    assert numbers.shape == (100_001,)
    assert 0 <= numbers.min() < 1e-4
    assert 1 - 1e-4 < numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 4 * (12 * numbers.size) ** -0.5
    assert np.array_equal(uniform(7, (3, 1, 2), 10), numbers[:10])
    places = [(7, (3, 1, 2)), (8, (3, 1, 2)), (7 + 2**32, (3, 1, 2))]
    places += [(7, (2, 1, 2)), (7, (3, 0, 2)), (7, (3, 1, 1))]
    drawn = {uniform(seed, place, 4).tobytes() for seed, place in places}
    assert len(drawn) == len(places)


def begun(window: int = 0) -> Masks:
    masks = Masks(7)
    masks.begin_window(window)
    return masks


def test_calls_are_numbered_in_their_order_within_a_micro_batch() -> None:
    masks = begun(window=4)
    for micro in range(2):
        assert masks.begin_micro_batch() == micro
        for number in range(2):
            key = bytes([micro, number])
            found = masks.draw(micro, key, (2, 3), HERE)
            assert np.array_equal(found.ravel(), uniform(7, (4, micro, number), 6))
    assert masks.calls == [{"shape": [2, 3], "module": "encoder", "rate": 0.1}] * 2
    assert (masks.masks, masks.drawn) == (4, 4)


def test_a_key_that_comes_back_repeats_its_mask_until_the_window_ends() -> None:
    masks = begun()
    masks.begin_micro_batch()
    first, second = (masks.draw(0, key, (5,), HERE) for key in (b"a", b"b"))
    masks.begin_micro_batch()  # backward, which computes again, may come later
    assert np.array_equal(masks.draw(1, b"a", (5,), HERE), first)
    assert np.array_equal(masks.draw(1, b"c", (5,), HERE), uniform(7, (0, 1, 0), 5))
    assert not np.array_equal(first, second)
    masks.begin_window(1)
    masks.begin_micro_batch()
    assert np.array_equal(masks.draw(0, b"b", (5,), HERE), uniform(7, (1, 0, 0), 5))


def test_what_is_kept_is_scaled_so_that_the_mean_stays() -> None:
    masks, numbers = begun(), uniform(7, (0, 0, 0), 100_000)
    kept = masks.kept(numbers, 0.1)
    assert kept.dtype == np.float32
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.9)}
    assert kept.mean() == pytest.approx(1.0, abs=5e-3)
    assert set(np.unique(masks.kept(numbers, 0.1, upscale=False))) == {0.0, 1.0}


class Listening:
    """Stands in for no framework."""

    def __init__(self) -> None:
        self.entered = 0
        self.undone = False

    def plain(self, function: Any) -> Any:
        return function

    def begin(self, model: Any) -> list[str]:
        return ["lstm"]

    def leave(self) -> None:
        pass

    def enter(self) -> None:
        self.entered += 1

    def undo(self) -> None:
        self.undone = True


def test_windows_have_the_number_of_the_script_also_after_a_resume(tmp_path: Path) -> None:
    masks, dropout, seen = Masks(7), Listening(), []

    def micro_batch_loss(model: Any, batch: Any) -> float:
        return 1.0

    def train_window(state: Any, batches: list[Any]) -> None:
        assert masks.active
        seen.append(masks._window)
        for batch in batches:
            script.micro_batch_loss(state.model, batch)

    script = SimpleNamespace(micro_batch_loss=micro_batch_loss, train_window=train_window)
    masked = Masked(masks, dropout, tmp_path / "masks.json")
    masked.install(script)
    state = SimpleNamespace(windows=3, model=None)
    for _ in range(2):
        script.train_window(state, [1, 2])
        assert not masks.active
    masked.stop()
    assert seen == [3, 4]
    assert (dropout.entered, dropout.undone) == (4, True)
    found = json.loads((tmp_path / "masks.json").read_text())
    assert found == {"calls": [], "out_of_reach": ["lstm"], "masks": 0, "drawn": 0}


def test_a_script_without_the_two_functions_is_left_alone(tmp_path: Path) -> None:
    for inside, script in (("crosscast_torch.inside", SimpleNamespace(main=1)), ("", None)):
        install(inside, script, tmp_path, 7)()
    assert not list(tmp_path.iterdir())
    assert "torch" not in sys.modules


def given(*calls: tuple[tuple[int, ...], float | None], lost: tuple[str, ...] = ()) -> GivenMasks:
    found = tuple(
        DropoutCall(module=f"layer{n}", shape=shape, rate=rate)
        for n, (shape, rate) in enumerate(calls)
    )
    return GivenMasks(calls=found, out_of_reach=lost)


PLAIN = given(((4, 8, 32), 0.1), ((4, 32), 0.1))


@pytest.mark.parametrize(
    ("ours", "result", "words"),
    [
        (PLAIN, "pass", "2 calls with the same masks"),
        (given(((32, 32), None), ((4, 1, 32), None)), "pass", "2 calls"),
        (given(((4, 8, 32), 0.1), ((4, 32), 0.2)), "fail", "call 2: rate 0.2 in layer1"),
        (given(((4, 8, 32), 0.1)), "unclear", "1 calls, reference 2; call 2: none, reference"),
        (given(((4, 32), 0.1), ((4, 8, 32), 0.1)), "unclear", "call 1: [4, 32] in layer0"),
        (given(((4, 32, 8), 0.1), ((4, 32), 0.1)), "unclear", "call 1: [4, 32, 8] in layer0"),
        (given(((8, 4, 32), 0.1), ((4, 32), 0.1)), "unclear", "call 1"),
        (given(((4, 256, 1), 0.1), ((4, 32), 0.1)), "pass", "2 calls"),
        (given(((16, 64), 0.1), ((4, 32), 0.1)), "unclear", "call 1"),
        (given(lost=("lstm",)), "not tested", "lstm"),
        (None, "not tested", "compare it with `model.dropout: 0`"),
    ],
)
def test_dropout_of_two_programs(ours: GivenMasks | None, result: str, words: str) -> None:
    check = compare_masks(ours, PLAIN)
    assert (check.level, check.name, check.result) == ("L0a", "dropout", result)
    assert words in check.wording


def test_what_a_run_was_given_is_read_with_care(tmp_path: Path) -> None:
    path = tmp_path / "masks.json"
    assert read_masks(path) is None
    call = {"module": "a", "shape": [2, 3], "rate": None}
    path.write_text(json.dumps({"calls": [call], "out_of_reach": []}))
    read = read_masks(path)
    assert read is not None
    assert read.calls == (DropoutCall(module="a", shape=(2, 3), rate=None),)
    for broken in ("{", "[]", "{}", '{"calls": [1], "out_of_reach": []}'):
        path.write_text(broken)
        with pytest.raises(DiagnosticError):
            read_masks(path)


def test_dropout_is_on_where_every_program_can_be_given_masks() -> None:
    recipe = make_recipe(model={"dropout": 0.1})
    ours = Contestant(name="ours", target="torch", recipe=recipe)
    others = {
        "masked": Contestant(name="a", target="paddle", recipe=recipe),
        "trainer": Contestant(name="b", target="torch", recipe=recipe, adapter="transformers"),
        "older": Contestant(name="c", target="torch@2.1", recipe=recipe),
    }
    assert {name for name, other in others.items() if takes_masks(other)} == {"masked"}
    stages = make_stages(recipe, "model", windows=None, twins=0)
    for name, other in others.items():
        for stage in with_masks(stages, [ours, other]):
            rate = stage.derive(recipe).model.dropout  # type: ignore[union-attr]
            assert rate == (0.1 if name == "masked" else 0.0), name
