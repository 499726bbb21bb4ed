from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.data import Pair, Vocabulary, encode_pairs
from crosscast.messages.codes import CODES
from crosscast.messages.diagnostics import DiagnosticError
from property_settings import examples

VOCAB = Path(__file__).parent / "data" / "vocab.txt"


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.read(VOCAB)


def pair(first: str, second: str, label: int = 0) -> Pair:
    return Pair(first, second, label, line=1)


def codes(caught: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    found = [diagnostic.code for diagnostic in caught.value.diagnostics]
    assert set(found) <= set(CODES)
    return found


def pieces(vocabulary: Vocabulary, ids: list[int]) -> str:
    names = {number: piece for piece, number in vocabulary.ids.items()}
    return " ".join(names[number] for number in ids)


def test_pieces_segments_and_padding(vocabulary: Vocabulary) -> None:
    encoded = encode_pairs([pair("The boats left.", "He left", 2)], vocabulary, 12)
    data = encoded.dataset
    assert pieces(vocabulary, data.input_ids[0].tolist()) == (
        "[CLS] the boat ##s left . [SEP] he left [SEP] [PAD] [PAD]"
    )
    assert data.attention_mask[0].tolist() == [1] * 10 + [0] * 2
    assert data.token_type_ids[0].tolist() == [0] * 7 + [1] * 3 + [0] * 2
    assert data.labels.tolist() == [2]
    assert {array.dtype for array in data.arrays().values()} == {np.dtype(np.int32)}
    assert (encoded.shortened, encoded.unknown_share) == (0, 0.0)


def test_the_longer_sentence_is_cut(vocabulary: Vocabulary) -> None:
    encoded = encode_pairs([pair("the boat left at noon", "he went")], vocabulary, 8)
    assert pieces(vocabulary, encoded.dataset.input_ids[0].tolist()) == (
        "[CLS] the boat left [SEP] he went [SEP]"
    )
    assert encoded.shortened == 1


def test_case_and_unknown_words(vocabulary: Vocabulary) -> None:
    lower = encode_pairs([pair("He went", "zzz")], vocabulary, 8)
    cased = encode_pairs([pair("He went", "zzz")], vocabulary, 8, lower_case=False)
    assert lower.unknown_share == pytest.approx(1 / 3)
    assert cased.unknown_share == pytest.approx(2 / 3)


def test_special_pieces_in_a_sentence_are_text(vocabulary: Vocabulary) -> None:
    data = encode_pairs([pair("he [SEP] she", "a")], vocabulary, 12).dataset
    assert pieces(vocabulary, data.input_ids[0].tolist()) == (
        "[CLS] he [ sep ] she [SEP] a [SEP] [PAD] [PAD] [PAD]"
    )


ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(max_examples=examples(60))
@given(
    texts=st.lists(st.tuples(ANY_TEXT, st.text("he lft", max_size=9)), min_size=1, max_size=4),
    length=st.integers(5, 20),
)
def test_any_text_fits(vocabulary: Vocabulary, texts: list[tuple[str, str]], length: int) -> None:
    data = encode_pairs([pair(a, b) for a, b in texts], vocabulary, length).dataset
    assert data.input_ids.shape == (len(texts), length)
    ids = data.input_ids
    assert (ids[:, 0] == vocabulary.ids["[CLS]"]).all()
    assert ((ids == vocabulary.ids["[SEP]"]).sum(axis=1) == 2).all()
    assert ((ids != vocabulary.ids["[PAD]"]) == (data.attention_mask == 1)).all()
    assert data.to_bytes()


@pytest.mark.parametrize("length", [-1, 0, 4, 1_000_000])
def test_sequence_length_out_of_range(vocabulary: Vocabulary, length: int) -> None:
    with pytest.raises(DiagnosticError, match="5 to 65536") as caught:
        encode_pairs([pair("he", "she")], vocabulary, length)
    assert codes(caught) == ["CC641"]


def test_without_the_package_the_extra_is_named(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(DiagnosticError) as caught:
        encode_pairs([pair("he", "she")], vocabulary, 8)
    assert codes(caught) == ["CC401"]
    assert caught.value.diagnostics[0].hint == 'pip install "crosscast[data]"'


def test_ids_are_line_numbers_also_after_an_empty_line(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"[PAD]\r\n[UNK]\r\n\r\n[CLS]\r\n[SEP]\r\nhe\r\n")
    vocabulary = Vocabulary.read(path)
    assert vocabulary.ids == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 3, "[SEP]": 4, "he": 5}
    assert vocabulary.size == 6
    ids = encode_pairs([pair("he", "he")], vocabulary, 6).dataset.input_ids
    assert ids.tolist() == [[3, 5, 4, 5, 4, 0]]


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        (b"", "CC640", "[PAD], [UNK], [CLS], [SEP]"),
        (b"[PAD]\n[UNK]\nhe\n[SEP]\n", "CC640", "no [CLS] in"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nhe\nhe\n", "CC640", "'he' is already on line 5"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n\xff\n", "CC620", "0xff"),
        (b'{"he": 1}\n', "CC640", "[PAD]"),
    ],
)
def test_vocabularies_that_do_not_work(
    tmp_path: Path, content: bytes, code: str, text: str
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(DiagnosticError) as caught:
        Vocabulary.read(path)
    assert codes(caught) == [code]
    assert text in caught.value.diagnostics[0].message


def test_missing_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        Vocabulary.read(tmp_path / "none.txt")
    assert codes(caught) == ["CC601"]
