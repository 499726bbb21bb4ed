"""Made-up opinions: rows of 3 to 9 words; the words of good ones have even numbers."""

import numpy as np


def word_dict():
    return {**{f"w{place}": place for place in range(60)}, "<unk>": 60}


def _rows(count, seed):
    def reader():
        random = np.random.RandomState(seed)
        for place in range(count):
            label = place % 2
            words = random.randint(0, 30, random.randint(3, 10)) * 2 + label
            yield words.tolist(), label

    return reader


def train(word_idx):
    return _rows(2800, 0)


def test(word_idx):
    return _rows(200, 1)
