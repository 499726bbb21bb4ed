from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.data import Columns, Labels, PairFile, read_jsonl, read_tsv, read_xnli
from crosscast.messages.codes import CODES
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, render
from property_settings import examples

HERE = Path(__file__).parent / "data"
XNLI = HERE / "pairs_xnli.tsv"
JSONL = HERE / "pairs.jsonl"
NUMBERS = Labels.of(["0", "1", "2"])
NLI_FIELDS = Columns("premise", "hypothesis", "label")


def tsv(tmp_path: Path, content: str | bytes, **options: object) -> PairFile:
    path = tmp_path / "rows.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_tsv(path, Columns("a", "b", "y"), **options)  # type: ignore[arg-type]


def jsonl(tmp_path: Path, content: str | bytes) -> PairFile:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_jsonl(path, Columns("a", "b", "y"))


def places(caught: pytest.ExceptionInfo[DiagnosticError]) -> list[tuple[str, int]]:
    found = caught.value.diagnostics
    assert {diagnostic.code for diagnostic in found} <= set(CODES)
    assert render(found)
    return [(d.code, d.span.line if d.span else 0) for d in found]


def first(caught: pytest.ExceptionInfo[DiagnosticError]) -> Diagnostic:
    return caught.value.diagnostics[0]


def test_xnli_keeps_one_language_and_takes_quotes_as_text() -> None:
    read = read_xnli(XNLI)
    assert [(pair.label, pair.line) for pair in read.pairs] == [(0, 2), (2, 3), (1, 5)]
    assert read.pairs[1].first == 'She said "wait" and went on.'
    assert read.notes == ()


def test_xnli_other_languages() -> None:
    assert [pair.second for pair in read_xnli(XNLI, language="de").pairs] == ["Das Boot war rot."]
    assert len(read_xnli(XNLI, language=None).pairs) == 4


def test_xnli_language_that_is_not_there() -> None:
    with pytest.raises(DiagnosticError, match="no rows of language 'sw'") as caught:
        read_xnli(XNLI, language="sw")
    assert places(caught) == [("CC626", 0)]


def test_xnli_without_its_columns_names_all_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("premise\thypo\tlabel\na\tb\tneutral\n")
    with pytest.raises(DiagnosticError) as caught:
        read_xnli(path)
    assert places(caught) == [("CC622", 1)] * 4
    assert "premise, hypo, label" in first(caught).hint


def test_tsv_by_name_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("y\tx\ta\tb\ncontradictory\t-\tp\th\n")
    by_name = read_tsv(path, Columns("a", "b", "y"))
    assert by_name == read_tsv(path, Columns(2, 3, 0))
    assert by_name.pairs[0].label == 2
    path.write_text("neutral\t-\tp\th\n")
    assert read_tsv(path, Columns(2, 3, 0), header=False).pairs[0].line == 1


def test_tsv_names_need_a_header(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="no column 'a'") as caught:
        tsv(tmp_path, "p\th\tneutral\n", header=False)
    assert "column numbers" in first(caught).hint


@pytest.mark.parametrize("number", [3, -1, 99])
def test_tsv_number_outside_the_row(tmp_path: Path, number: int) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("p\th\tneutral\n")
    with pytest.raises(DiagnosticError) as caught:
        read_tsv(path, Columns(0, 1, number), header=False)
    assert places(caught) == [("CC622", 1)]
    assert first(caught).hint == "3 columns"


def test_tsv_column_named_twice_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="2 columns 'a'") as caught:
        tsv(tmp_path, "a\ta\tb\ty\n1\t2\t3\tneutral\n")
    assert places(caught) == [("CC622", 1)]


def test_all_wrong_rows_are_told_with_their_lines(tmp_path: Path) -> None:
    content = (
        b"a\tb\ty\n"
        b"p\th\tneutral\n"
        b"p\th\n"
        b"p\th\tmaybe\n"
        b"p\t \tneutral\n"
        b"p\tcaf\xe9\tneutral\n"
        b"p\th\t\n"
        b"p\th\tneutral\tmore\n"
    )
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, content)
    assert places(caught) == [
        ("CC621", 3),
        ("CC623", 4),
        ("CC624", 5),
        ("CC620", 6),
        ("CC623", 7),
        ("CC621", 8),
    ]


def test_places_point_at_the_fault(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, "a\tb\ty\nmaybe\tit is\tmaybe\n")
    span = first(caught).span
    assert span is not None
    assert (span.column, span.end_column) == (13, 18)
    assert span.text[span.column - 1 :] == "maybe"
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, "a\tb\ty\né€\t".encode() + b"\xff\tneutral\n")
    span = first(caught).span
    assert span is not None
    assert (span.line, span.column) == (2, 4)


def test_more_than_twenty_problems_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, "a\tb\ty\n" + "p\th\tmaybe\n" * 33)
    found = caught.value.diagnostics
    assert len(found) == 21
    assert found[-1].code == "CC629"
    assert found[-1].severity is Severity.NOTE
    assert found[-1].message.startswith("13 more")
    assert "13 more" in render(found).splitlines()[-1]


def test_unlabelled_rows_are_refused_or_left_out(tmp_path: Path) -> None:
    content = "a\tb\ty\np\th\t-\np\th\tneutral\np\th\t\n"
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, content)
    assert places(caught) == [("CC623", 2), ("CC623", 4)]
    assert "--skip-unlabelled" in first(caught).hint
    read = tsv(tmp_path, content, labels=Labels.of(["neutral", "x"], skip_unlabelled=True))
    assert (len(read.pairs), read.unlabelled) == (1, 2)


def test_byte_order_mark_and_crlf_are_left_out_and_told(tmp_path: Path) -> None:
    read = tsv(tmp_path, b"\xef\xbb\xbfa\tb\ty\r\np\th\tneutral\r\n")
    assert [(p.first, p.second, p.label) for p in read.pairs] == [("p", "h", 1)]
    assert [note.code for note in read.notes] == ["CC628", "CC628"]
    assert {note.severity for note in read.notes} == {Severity.NOTE}


def test_a_last_line_without_its_end_counts(tmp_path: Path) -> None:
    assert len(tsv(tmp_path, "a\tb\ty\np\th\tneutral").pairs) == 1


def test_odd_line_separators_are_text(tmp_path: Path) -> None:
    read = tsv(tmp_path, "a\tb\ty\np\u2028q\x0cr\rs\th\tneutral\n")
    assert read.pairs[0].first == "p\u2028q\x0cr\rs"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"a\tb\ty\n"])
def test_files_without_rows(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, content)
    assert places(caught) == [("CC626", 0)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(DiagnosticError, match="UTF-16 or UTF-32") as caught:
        tsv(tmp_path, "a\tb\ty\n".encode(encoding))
    assert places(caught) == [("CC620", 1)]


def test_a_damaged_header_is_the_only_complaint(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tsv(tmp_path, b"a\tb\ty\xff\np\th\tneutral\n")
    assert places(caught) == [("CC620", 1)]


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(DiagnosticError, match="cannot be read") as caught:
            read_xnli(path)
        assert places(caught) == [("CC601", 0)]


def test_jsonl_reads_numbers_as_label_words() -> None:
    read = read_jsonl(JSONL, NLI_FIELDS, labels=NUMBERS)
    assert [(pair.label, pair.line) for pair in read.pairs] == [(0, 1), (1, 2), (2, 4)]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        "null",
        '"text"',
        '{"a": "p", "y": "neutral"}',
        '{"a": "p", "b": 3, "y": "neutral"}',
        '{"a": "p", "b": null, "y": "neutral"}',
        '{"a": "p", "b": "h", "y": true}',
        '{"a": "p", "b": "h", "y": 1.0}',
        '{"a": "p", "b": "\\ud800", "y": "neutral"}',
        "[" * 200_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_lines_that_are_no_json_row(tmp_path: Path, line: str) -> None:
    good = json.dumps({"a": "p", "b": "h", "y": "neutral"})
    with pytest.raises(DiagnosticError) as caught:
        jsonl(tmp_path, f"{good}\n{line}\n")
    assert places(caught) == [("CC625", 2)]


@pytest.mark.parametrize("label", ["null", '"maybe"', '""', "7"])
def test_jsonl_labels_that_are_none(tmp_path: Path, label: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        jsonl(tmp_path, f'{{"a": "p", "b": "h", "y": {label}}}\n')
    assert places(caught) == [("CC623", 1)]


@pytest.mark.parametrize("words", [[], ["a"], ["a", "a"], ["a", ""]])
def test_label_words_that_make_no_classes(words: list[str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        Labels.of(words)
    assert places(caught) == [("CC623", 0)]


SENTENCE = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1, max_size=20
).filter(str.strip)
ROWS = st.lists(
    st.tuples(SENTENCE, SENTENCE, st.sampled_from(["entailment", "neutral", "contradiction"])),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(25))
@given(rows=ROWS)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    wanted = [(a, b) for a, b, _ in rows]
    lines = "".join("\t".join(row) + "\n" for row in rows)
    assert [(p.first, p.second) for p in tsv(folder, "a\tb\ty\n" + lines).pairs] == wanted
    objects = "".join(json.dumps(dict(zip("aby", row, strict=True))) + "\n" for row in rows)
    assert [(p.first, p.second) for p in jsonl(folder, objects).pairs] == wanted


@settings(max_examples=examples(100))
@given(content=st.binary(max_size=200))
def test_any_bytes_give_pairs_or_diagnostics(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for read in (tsv, jsonl):
        with pytest.raises(DiagnosticError) as caught:
            read(folder, content)
        assert places(caught)
