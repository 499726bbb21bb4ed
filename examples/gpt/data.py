"""Sentences of an invented language, made by NumPy.

A sentence begins with its topic. Which words may follow a word depends on the topic, so a model
has to look back at the first token. Sentences have different lengths; what is behind their end
and the first word, which nothing announces, have the label -100.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SEED, LENGTH, PADDING = 18, 32, 0
TOPICS, WORDS, SUCCESSORS = 3, 60, 3
VOCABULARY = 1 + TOPICS + WORDS  # padding, topics, words
TRAIN_ROWS, EVAL_ROWS = 8192, 512
# The words that may follow a word, by topic.
GRAMMAR = np.random.default_rng(SEED).integers(WORDS, size=(TOPICS, WORDS, SUCCESSORS))


class Sentences:
    """Rows that are made when they are asked for; a row depends on its number alone."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: Sequence[int]) -> dict[str, np.ndarray]:
        """Return `tokens` and `labels`, both [rows, LENGTH]: a label is the next token."""
        made = np.stack([sentence(self.first + int(index)) for index in indices])
        tokens, labels = made[:, :-1], made[:, 1:].copy()
        labels[labels == PADDING] = -100
        labels[:, 0] = -100
        return {"tokens": tokens, "labels": labels}


def sentence(number: int) -> np.ndarray:
    """Make a sentence of LENGTH + 1 tokens, padded."""
    rng = np.random.default_rng([SEED, number])
    topic, word = int(rng.integers(TOPICS)), int(rng.integers(WORDS))
    tokens = np.full(LENGTH + 1, PADDING, np.int64)
    tokens[0] = 1 + topic
    for position in range(1, int(rng.integers(LENGTH // 2, LENGTH + 2))):
        tokens[position] = 1 + TOPICS + word
        word = GRAMMAR[topic, word, rng.integers(SUCCESSORS)]
    return tokens


def train_rows() -> Sentences:
    """Return the rows to train on."""
    return Sentences(0, TRAIN_ROWS)


def eval_rows() -> Sentences:
    """Return the rows to evaluate on."""
    return Sentences(TRAIN_ROWS, EVAL_ROWS)
