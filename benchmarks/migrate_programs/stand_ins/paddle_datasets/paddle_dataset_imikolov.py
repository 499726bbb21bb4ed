"""Made-up words: 2107 of them, in which one follows another."""

import numpy as np


class DataType:
    NGRAM = 1
    SEQ = 2


def build_dict(min_word_freq=50):
    words = ["<s>", "<e>", "<unk>", "among", "a", "group", "of"] + [f"w{n}" for n in range(2100)]
    return {word: place for place, word in enumerate(words)}


def _rows(count, seed, n):
    def reader():
        random = np.random.RandomState(seed)
        for _ in range(count):
            first = int(random.randint(2000))
            yield tuple((first + place) % 2000 for place in range(n))

    return reader


def train(word_idx, n, *data_type):
    return _rows(2400, 0, n)


def test(word_idx, n, *data_type):
    return _rows(200, 1, n)
