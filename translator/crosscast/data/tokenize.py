"""WordPiece tokenization with a `vocab.txt`, using the `tokenizers` package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.data.lines import Lines
from crosscast.data.npz import Dataset
from crosscast.data.pairs import Pair
from crosscast.data.row_problems import Problems
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MIN_SEQUENCE, MAX_SEQUENCE = 5, 65536
BATCH = 1000


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Word pieces and their ids; the id of a piece is its line number minus one."""

    ids: dict[str, int]
    size: int
    """Number of lines: the minimum for a model's `vocab_size`."""

    @classmethod
    def read(cls, path: str | Path) -> Vocabulary:
        """Read a BERT `vocab.txt`: one piece per line, including the four special pieces.

        Raises:
            DiagnosticError: CC601 (cannot be read), CC620 (not UTF-8), CC640 (duplicate piece or
                missing special piece).
        """
        problems = Problems(str(path))
        ids: dict[str, int] = {}
        size = 0
        for number, piece in Lines(Path(path), problems):
            size = number
            if piece in ids:
                message = f"{piece[:40]!r} is already on line {ids[piece] + 1}"
                problems.add("CC640", message, number, text=piece)
            ids.setdefault(piece, number - 1)
        missing = [piece for piece in SPECIAL if piece not in ids]
        if missing and not problems.kept:
            hint = "pass the vocab.txt of a BERT model: one piece per line"
            problems.add("CC640", f"no {', '.join(missing)} in the vocabulary", 1, hint=hint)
        problems.raise_any()
        return cls(ids, size)


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """A data set and what was lost by encoding."""

    dataset: Dataset
    shortened: int
    """Number of pairs that were truncated."""
    unknown_share: float
    """Share of [UNK] among the word pieces; a high share indicates a wrong vocabulary or case."""


def encode_pairs(
    pairs: Sequence[Pair], vocabulary: Vocabulary, sequence_length: int, *, lower_case: bool = True
) -> EncodedPairs:
    """Encode pairs as `[CLS] first [SEP] second [SEP]`, truncated or padded to `sequence_length`.

    A pair that is too long loses pieces at the end of the longer sentence. Special pieces are not
    recognized in the text: `[SEP]` in a sentence is three ordinary pieces.

    Args:
        pairs: at least one.
        vocabulary: pieces and ids.
        sequence_length: T, 5 to 65536.
        lower_case: lower-case and strip accents first, as uncased models expect.

    Raises:
        DiagnosticError: CC401 (`tokenizers` is not installed), CC641 (sequence length).
    """
    if not MIN_SEQUENCE <= sequence_length <= MAX_SEQUENCE:
        message = (
            f"sequence length is {sequence_length}, allowed is {MIN_SEQUENCE} to {MAX_SEQUENCE}"
        )
        raise DiagnosticError(Diagnostic(code="CC641", message=message))
    tokenizer = _tokenizer(vocabulary, sequence_length, lower_case)
    shape = (len(pairs), sequence_length)
    ids, mask, types = (np.zeros(shape, dtype=np.int32) for _ in range(3))
    shortened = 0
    for row, encoding in enumerate(_encodings(tokenizer, pairs)):
        ids[row] = encoding.ids
        mask[row] = encoding.attention_mask
        types[row] = encoding.type_ids
        shortened += bool(encoding.overflowing)
    labels = np.array([pair.label for pair in pairs], dtype=np.int32)
    unknown = int((ids == vocabulary.ids["[UNK]"]).sum())
    pieces = int(mask.sum()) - 3 * len(pairs)
    return EncodedPairs(Dataset(ids, mask, types, labels), shortened, unknown / max(pieces, 1))


def _encodings(tokenizer: Any, pairs: Sequence[Pair]) -> Iterator[Any]:
    for start in range(0, len(pairs), BATCH):
        batch = [(pair.first, pair.second) for pair in pairs[start : start + BATCH]]
        yield from tokenizer.encode_batch(batch)


def _tokenizer(vocabulary: Vocabulary, sequence_length: int, lower_case: bool) -> Any:
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError as error:
        message = "encoding text needs the package tokenizers"
        hint = 'pip install "crosscast[data]"'
        raise DiagnosticError(Diagnostic(code="CC401", message=message, hint=hint)) from error
    ids = vocabulary.ids
    # The special pieces are not registered, so in a sentence they are plain text.
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower_case)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    )
    tokenizer.enable_truncation(sequence_length, strategy="longest_first")
    tokenizer.enable_padding(length=sequence_length, pad_id=ids["[PAD]"], pad_token="[PAD]")
    return tokenizer
