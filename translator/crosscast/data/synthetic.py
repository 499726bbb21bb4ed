"""A synthetic three-class task similar to NLI: two segments, a hidden rule, any number of rows.

It needs no download, is equal on every machine, and is hard enough to reveal a broken training
step. See `nli_synthetic` for the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from crosscast.data.npz import Dataset
from crosscast.messages.diagnostics import Collector, Diagnostic

Split = Literal["train", "eval"]
Words = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

PAD, UNK, CLS, SEP = range(4)
FIRST_WORD = 4
LABELS = ("entailment", "neutral", "contradiction")
"""Class names in the order of the label numbers 0, 1, 2."""

MIN_SEQUENCE, MAX_SEQUENCE = 9, 4096
MIN_VOCAB, MAX_VOCAB = 32, 1_000_000
MAX_ROWS = 10_000_000
WORDS_PER_FLIP_WORD = 64
FLIP_SHARE = 0.5
LEAN = 0.8
LABEL_NOISE = 0.05
CHUNK_IDS = 1 << 17


def nli_synthetic(
    rows: int,
    sequence_length: int,
    vocab_size: int,
    seed: int,
    *,
    split: Split = "train",
    label_noise: float = LABEL_NOISE,
) -> Dataset:
    """Return `rows` labelled pairs `[CLS] premise [SEP] hypothesis [SEP]`, padded.

    The rule, whose hidden part depends on `seed` and `vocab_size` and is shared by both splits:

    1. Ids 0 to 3 are [PAD], [UNK], [CLS], [SEP]. One word in 64 (two at least) is a *flip word*,
       every other word has a hidden stance 0, 1 or 2, equally often. Low ids are frequent: a word's
       rank grows with the cube of a uniform draw.
    2. A segment holds a flip word with probability 0.5, somewhere in its first half. It turns the
       stance s of every word after it in the same segment into (s + 1) mod 3.
    3. Every word votes for its (turned) stance, words of the hypothesis with two votes; flip words
       have none. The label is the stance with most votes, pairs with a tie are not used.
    4. A pair leans to one stance: a vote is for that one with probability 0.8, else uniform.
    5. A share `label_noise` of the labels is replaced by a uniform draw from the three classes.

    The label depends on the meaning of words, their order and the segments; a linear model on word
    counts cannot detect which words a flip word turned. The premise fills a third to two thirds of
    the row, the hypothesis a sixth to a third. The splits cannot share a pair: the ids of a row
    add up to an even number in `train` and to an odd one in `eval`. With equal other arguments,
    fewer rows are the first rows of a larger data set.

    Only the bit stream of PCG64 and its plain doubles are used, which NumPy keeps stable.

    Args:
        rows: number of pairs, 1 to 10 million.
        sequence_length: ids per row including special and padding ids, 9 to 4096.
        vocab_size: number of different ids, 32 to 1 million.
        seed: at least 0.
        split: `train` or `eval`.
        label_noise: share of labels that are redrawn, at least 0 and below 1.

    Raises:
        DiagnosticError: one CC610 for every argument that is out of range.
    """
    _check_arguments(rows, sequence_length, vocab_size, seed, label_noise)
    lexicon = _lexicon(vocab_size, seed)
    number = 0 if split == "train" else 1
    rng = _generator(seed, 1 + number)
    chunk = max(64, CHUNK_IDS // sequence_length)
    parts: list[Dataset] = []
    while sum(map(len, parts)) < rows:
        parts.append(_pairs(rng, lexicon, chunk, sequence_length, number, label_noise))
    return Dataset(
        **{
            name: np.concatenate([part.arrays()[name] for part in parts])[:rows]
            for name in parts[0].arrays()
        }
    )


def _check_arguments(
    rows: int, sequence_length: int, vocab_size: int, seed: int, label_noise: float
) -> None:
    limits: tuple[tuple[str, float, bool, str], ...] = (
        ("rows", rows, 1 <= rows <= MAX_ROWS, f"1 to {MAX_ROWS}"),
        (
            "sequence_length",
            sequence_length,
            MIN_SEQUENCE <= sequence_length <= MAX_SEQUENCE,
            f"{MIN_SEQUENCE} to {MAX_SEQUENCE}",
        ),
        (
            "vocab_size",
            vocab_size,
            MIN_VOCAB <= vocab_size <= MAX_VOCAB,
            f"{MIN_VOCAB} to {MAX_VOCAB}",
        ),
        ("seed", seed, seed >= 0, "0 or more"),
        ("label_noise", label_noise, 0.0 <= label_noise < 1.0, "at least 0 and below 1"),
    )
    collect = Collector()
    for name, value, fine, allowed in limits:
        if not fine:
            message = f"synthetic data: {name} is {value}, allowed is {allowed}"
            collect.add(Diagnostic(code="CC610", message=message))
    collect.raise_errors()


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, stream])))


def _below(rng: np.random.Generator, shape: int | tuple[int, ...], limit: int) -> Words:
    """Uniform integers from 0 to `limit` - 1.

    Computed from doubles, because NumPy does not guarantee equal integers across versions.
    """
    return np.floor(rng.random(shape) * limit).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The hidden part of the rule: ids of flip words and, one row per stance, of other words."""

    flips: Words
    stances: Words
    sizes: Words
    """Number of words of each stance; `stances` is padded to the longest."""


def _lexicon(vocab_size: int, seed: int) -> _Lexicon:
    count = vocab_size - FIRST_WORD
    shuffled = np.argsort(_generator(seed, 0).random(count), kind="stable") + FIRST_WORD
    flip_count = max(2, vocab_size // WORDS_PER_FLIP_WORD)
    groups = [np.sort(shuffled[flip_count + stance :: 3]) for stance in range(3)]
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    stances = np.full((3, int(sizes.max())), UNK, dtype=np.int64)
    for stance, group in enumerate(groups):
        stances[stance, : len(group)] = group
    return _Lexicon(np.sort(shuffled[:flip_count]), stances, sizes)


def _pairs(
    rng: np.random.Generator,
    lexicon: _Lexicon,
    count: int,
    sequence_length: int,
    parity: int,
    label_noise: float,
) -> Dataset:
    """Draw `count` pairs and keep those without a tie whose ids add up to `parity` mod 2."""
    room = sequence_length - 3
    premise_length = room // 3 + _below(rng, count, room * 2 // 3 - room // 3 + 1)
    shortest = max(2, room // 6)
    hypothesis_length = shortest + _below(rng, count, room // 3 - shortest + 1)

    place = np.arange(sequence_length)[None, :]
    first_end = (1 + premise_length)[:, None]
    last_end = first_end + 1 + hypothesis_length[:, None]
    premise = (place >= 1) & (place < first_end)
    hypothesis = (place > first_end) & (place < last_end)

    flip_premise, turned_premise = _flips(rng, place, 1, premise_length)
    flip_hypothesis, turned_hypothesis = _flips(rng, place, premise_length + 2, hypothesis_length)
    flip = flip_premise | flip_hypothesis
    turned = (turned_premise & premise) | (turned_hypothesis & hypothesis)

    shape = (count, sequence_length)
    leaning = _below(rng, count, 3)[:, None]
    vote = np.where(rng.random(shape) < LEAN, leaning, _below(rng, shape, 3))
    votes = np.where(flip, 0, premise + 2 * hypothesis)
    label, clear = _majority(vote, votes)

    # The written words have the stance before the turn.
    written = np.where(turned, (vote + 2) % 3, vote)
    draw = rng.random(shape)
    draw = draw * draw * draw
    words = lexicon.stances[written, np.floor(draw * lexicon.sizes[written]).astype(np.int64)]
    flip_words = lexicon.flips[np.floor(draw * len(lexicon.flips)).astype(np.int64)]
    ids = np.where(premise | hypothesis, np.where(flip, flip_words, words), PAD)
    ids[:, 0] = CLS
    ids = np.where((place == first_end) | (place == last_end), SEP, ids)

    renamed = rng.random(count) < label_noise
    label = np.where(renamed, _below(rng, count, 3), label)
    keep = clear & (ids.sum(axis=1) % 2 == parity)
    return Dataset(
        input_ids=ids[keep].astype(np.int32),
        attention_mask=(place <= last_end)[keep].astype(np.int32),
        token_type_ids=((place > first_end) & (place <= last_end))[keep].astype(np.int32),
        labels=label[keep].astype(np.int32),
    )


def _flips(
    rng: np.random.Generator, place: Words, start: int | Words, length: Words
) -> tuple[Marks, Marks]:
    """Mark the flip word of a segment, if it has one, and every position after it."""
    offset = np.floor(rng.random(len(length)) * np.maximum(length // 2, 1)).astype(np.int64)
    has_flip = (rng.random(len(length)) < FLIP_SHARE)[:, None]
    at = (start + offset)[:, None]
    return has_flip & (place == at), has_flip & (place > at)


def _majority(vote: Words, votes: Words) -> tuple[Words, Marks]:
    """Return the stance with most votes of each row, and whether it is unique."""
    tally = np.stack([np.where(vote == stance, votes, 0).sum(axis=1) for stance in range(3)], 1)
    ordered = np.sort(tally, axis=1)
    return np.argmax(tally, axis=1), ordered[:, 2] > ordered[:, 1]
