"""Data sets for emitted scripts: a synthetic task, readers for labeled pairs, WordPiece encoding.

Requires NumPy, so `crosscast compile` must not import it.
"""

from __future__ import annotations

from crosscast.data.npz import Dataset
from crosscast.data.pairs import Columns, Labels, Pair, PairFile
from crosscast.data.synthetic import nli_synthetic
from crosscast.data.text import read_jsonl, read_tsv, read_xnli
from crosscast.data.tokenize import EncodedPairs, Vocabulary, encode_pairs

__all__ = [
    "Columns",
    "Dataset",
    "EncodedPairs",
    "Labels",
    "Pair",
    "PairFile",
    "Vocabulary",
    "encode_pairs",
    "nli_synthetic",
    "read_jsonl",
    "read_tsv",
    "read_xnli",
]
