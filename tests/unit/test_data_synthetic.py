from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.data import Dataset, nli_synthetic
from crosscast.data.npz import ARRAYS, check_arrays
from crosscast.data.synthetic import CLS, FIRST_WORD, LABELS, PAD, SEP, _lexicon
from crosscast.messages.diagnostics import DiagnosticError
from property_settings import examples


def told_label(ids: npt.NDArray[np.int32], vocab_size: int, seed: int) -> int:
    """The rule of the docstring, word by word, with nothing of the vectorised code."""
    lexicon = _lexicon(vocab_size, seed)
    flips = set(lexicon.flips.tolist())
    stance = {word: row for row in range(3) for word in lexicon.stances[row, : lexicon.sizes[row]]}
    votes = [0, 0, 0]
    segment, turned = 0, False
    for word in ids.tolist()[1:]:
        if word == SEP:
            segment, turned = segment + 1, False
        elif word in flips:
            turned = True
        elif word != PAD:
            votes[(stance[word] + turned) % 3] += 1 + segment
    assert sorted(votes)[2] > sorted(votes)[1], "ties are not used"
    return votes.index(max(votes))


@pytest.mark.parametrize("split", ["train", "eval"])
def test_every_label_follows_the_rule_when_there_is_no_noise(split: str) -> None:
    data = nli_synthetic(200, 24, 256, 5, split=split, label_noise=0.0)  # type: ignore[arg-type]
    labels = [told_label(row, 256, 5) for row in data.input_ids]
    assert labels == data.labels.tolist()


def test_noise_changes_about_its_share_of_the_labels() -> None:
    data = nli_synthetic(3000, 24, 256, 5, label_noise=0.3)
    wrong = np.mean([told_label(r, 256, 5) for r in data.input_ids] != data.labels)
    assert wrong == pytest.approx(0.2, abs=0.03)  # a third of the redrawn labels stay the same


@settings(max_examples=examples(25))
@given(
    rows=st.integers(1, 40),
    length=st.integers(9, 60),
    vocab_size=st.integers(32, 400),
    seed=st.integers(0, 2**40),
    split=st.sampled_from(["train", "eval"]),
)
def test_every_row_is_a_padded_pair(
    rows: int, length: int, vocab_size: int, seed: int, split: str
) -> None:
    data = nli_synthetic(rows, length, vocab_size, seed, split=split)  # type: ignore[arg-type]
    check_arrays(dict(data.arrays()), "synthetic")
    assert data.input_ids.shape == (rows, length)
    assert set(data.labels.tolist()) <= set(range(len(LABELS)))
    assert data.input_ids.max() < vocab_size
    for ids, mask, types in zip(
        data.input_ids, data.attention_mask, data.token_type_ids, strict=True
    ):
        first, last = np.flatnonzero(ids == SEP)
        assert ids[0] == CLS
        assert first >= 3
        assert last >= first + 3
        words = np.r_[ids[1:first], ids[first + 1 : last]]
        assert words.min() >= FIRST_WORD
        assert mask.tolist() == [1] * (last + 1) + [0] * (length - last - 1)
        assert set(ids[last + 1 :].tolist()) <= {PAD}
        assert types.tolist() == [0] * (first + 1) + [1] * (last - first) + [0] * (
            length - last - 1
        )


def test_the_values_are_the_same_on_every_machine() -> None:
    data = nli_synthetic(64, 32, 2048, 0)
    assert {name: digest[:16] for name, digest in data.sha256().items()} == PINNED


PINNED = {
    "input_ids": "89140f79dda17f97",
    "attention_mask": "ac46392c3339c4d0",
    "token_type_ids": "f1668ea94b3b9e96",
    "labels": "9734b61c80e7a1fb",
}


def test_the_arguments_decide_the_bytes() -> None:
    bytes_of = [
        nli_synthetic(20, 24, 128, 1).to_bytes(),
        nli_synthetic(20, 24, 128, 2).to_bytes(),
        nli_synthetic(20, 24, 128, 1, split="eval").to_bytes(),
        nli_synthetic(20, 24, 129, 1).to_bytes(),
    ]
    assert len(set(bytes_of)) == 4
    assert nli_synthetic(20, 24, 128, 1).to_bytes() == bytes_of[0]


def test_fewer_rows_are_the_first_of_more() -> None:
    many, few = nli_synthetic(6000, 24, 128, 3), nli_synthetic(100, 24, 128, 3)
    for name in ARRAYS:
        assert np.array_equal(many.arrays()[name][:100], few.arrays()[name])


def test_the_splits_share_no_pair_even_where_pairs_are_few() -> None:
    train = nli_synthetic(3000, 9, 32, 0, split="train")
    held_out = nli_synthetic(3000, 9, 32, 0, split="eval")
    assert not {row.tobytes() for row in train.input_ids} & {
        row.tobytes() for row in held_out.input_ids
    }


def test_classes_are_balanced_and_lengths_vary() -> None:
    data = nli_synthetic(4000, 32, 2048, 0)
    assert np.bincount(data.labels, minlength=3).min() > 1200
    assert len(set(data.attention_mask.sum(axis=1).tolist())) > 10


def counted(data: Dataset, vocab_size: int) -> npt.NDArray[np.float64]:
    """Words of each segment counted, as a linear model would see them."""
    counts = np.zeros((len(data), 2 * vocab_size + 1))
    columns = data.input_ids + vocab_size * data.token_type_ids
    np.add.at(counts, (np.arange(len(data))[:, None], columns), data.attention_mask)
    counts[:, -1] = 1.0
    return counts


def test_a_linear_model_on_word_counts_learns_but_does_not_solve_it() -> None:
    train = nli_synthetic(6000, 24, 256, 0, label_noise=0.0)
    held_out = nli_synthetic(1500, 24, 256, 0, split="eval", label_noise=0.0)
    features = counted(train, 256)
    ridge = features.T @ features + 3.0 * np.eye(features.shape[1])
    weights = np.linalg.solve(ridge, features.T @ np.eye(3)[train.labels])
    predicted = np.argmax(counted(held_out, 256) @ weights, axis=1)
    assert 0.6 < np.mean(predicted == held_out.labels) < 0.9


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"rows": 0}, "rows"),
        ({"rows": 10**8}, "rows"),
        ({"sequence_length": 8}, "sequence_length"),
        ({"sequence_length": 5000}, "sequence_length"),
        ({"vocab_size": 31}, "vocab_size"),
        ({"vocab_size": 2**31}, "vocab_size"),
        ({"seed": -1}, "seed"),
        ({"label_noise": 1.0}, "label_noise"),
        ({"label_noise": -0.1}, "label_noise"),
        ({"label_noise": float("nan")}, "label_noise"),
    ],
)
def test_arguments_out_of_range(arguments: dict[str, float], name: str) -> None:
    given_arguments = {"rows": 4, "sequence_length": 16, "vocab_size": 64, "seed": 0, **arguments}
    with pytest.raises(DiagnosticError, match=name) as caught:
        nli_synthetic(**given_arguments)  # type: ignore[arg-type]
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC610"]


def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(DiagnosticError) as caught:
        nli_synthetic(0, 0, 0, -1)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC610"] * 4
