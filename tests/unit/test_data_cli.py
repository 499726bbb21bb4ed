from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.data import Dataset, nli_synthetic

HERE = Path(__file__).parent / "data"
VOCAB = str(HERE / "vocab.txt")
SMALL = ("--train-rows", "40", "--eval-rows", "10", "--sequence-length", "16", "--vocab-size", "64")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def codes(result: Result) -> list[str]:
    assert result.exit_code in (1, 2, 3)
    return re.findall(r"error (CC\d+)", result.stderr)


def test_synthetic_writes_both_splits_and_says_what_they_are(tmp_path: Path) -> None:
    result = run("nli-synthetic", "-o", tmp_path / "d", *SMALL, "--seed", "3")
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == [
        "dataset.json",
        "eval.npz",
        "train.npz",
    ]
    described = json.loads((tmp_path / "d" / "dataset.json").read_text())
    train = Dataset.load(tmp_path / "d" / "train.npz")
    assert train.sha256() == nli_synthetic(40, 16, 64, 3).sha256()
    assert described["splits"]["train"] == {
        "file": "train.npz",
        "rows": 40,
        "sha256": train.sha256(),
    }
    assert described["splits"]["eval"]["rows"] == 10
    assert described["vocab_size"] == 64
    assert described["labels"] == ["entailment", "neutral", "contradiction"]
    assert str(tmp_path) not in json.dumps(described)


def test_synthetic_files_are_the_same_every_time(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert run("nli-synthetic", "-o", tmp_path / folder, *SMALL).exit_code == 0
    for name in ("train.npz", "eval.npz", "dataset.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_synthetic_refuses_to_replace_anything_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "eval.npz").write_text("mine")
    assert codes(run("nli-synthetic", "-o", tmp_path, *SMALL)) == ["CC501"]
    assert [p.name for p in tmp_path.iterdir()] == ["eval.npz"]
    assert run("nli-synthetic", "-o", tmp_path, *SMALL, "--force").exit_code == 0
    assert len(Dataset.load(tmp_path / "eval.npz")) == 10


def test_synthetic_bad_sizes_write_nothing(tmp_path: Path) -> None:
    result = run("nli-synthetic", "-o", tmp_path / "d", "--eval-rows", "0")
    assert (result.exit_code, "--eval-rows" in result.output) == (2, True)
    assert not (tmp_path / "d").exists()


def test_xnli(tmp_path: Path) -> None:
    output = tmp_path / "dev.npz"
    result = run(
        "xnli", HERE / "pairs_xnli.tsv", "--vocab", VOCAB, "-o", output, "--sequence-length", "16"
    )
    assert result.exit_code == 0, result.output
    assert Dataset.load(output).labels.tolist() == [0, 2, 1]
    assert "3 rows of 16 ids, vocabulary 19" in result.output


def test_xnli_all_languages(tmp_path: Path) -> None:
    output = tmp_path / "dev.npz"
    options = ("--vocab", VOCAB, "-o", output, "--language", "all", "--cased")
    assert run("xnli", HERE / "pairs_xnli.tsv", *options).exit_code == 0
    assert Dataset.load(output).input_ids.shape == (4, 128)


def test_tsv_by_numbers_without_header(tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_text("yes\the went\tshe went\nno\the\tshe\n-\ta\tb\n")
    options = ("--first", "1", "--second", "2", "--label", "0", "--label-words", "no,yes")
    result = run(
        "tsv",
        tmp_path / "rows.tsv",
        *options,
        "--no-header",
        "--skip-unlabelled",
        "--vocab",
        VOCAB,
        "-o",
        tmp_path / "a.npz",
    )
    assert result.exit_code == 0, result.output
    assert Dataset.load(tmp_path / "a.npz").labels.tolist() == [1, 0]
    assert "1 unlabelled skipped" in result.output


def test_jsonl(tmp_path: Path) -> None:
    options = ("--first", "premise", "--second", "hypothesis", "--label-words", "0,1,2")
    result = run(
        "jsonl", HERE / "pairs.jsonl", *options, "--vocab", VOCAB, "-o", tmp_path / "a.npz"
    )
    assert result.exit_code == 0, result.output
    data = Dataset.load(tmp_path / "a.npz")
    assert np.array_equal(data.labels, [0, 1, 2])


def test_notes_are_shown(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_bytes(b"sentence1\tsentence2\tlabel\r\nhe\tshe\tneutral\r\n")
    result = run("tsv", tmp_path / "r.tsv", "--vocab", VOCAB, "-o", tmp_path / "a.npz")
    assert result.exit_code == 0
    assert "CC628" in result.stderr


@pytest.mark.parametrize("command", ["xnli", "tsv", "jsonl"])
def test_a_bad_file_writes_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "rows").write_text("\n")
    result = run(command, tmp_path / "rows", "--vocab", VOCAB, "-o", tmp_path / "a.npz")
    assert codes(result) == ["CC626"]
    assert [p.name for p in tmp_path.iterdir()] == ["rows"]


def test_an_existing_output_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("mine")
    result = run("xnli", HERE / "pairs_xnli.tsv", "--vocab", VOCAB, "-o", tmp_path / "a.npz")
    assert codes(result) == ["CC501"]
    assert (tmp_path / "a.npz").read_text() == "mine"


def test_without_numpy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("nli-synthetic", "-o", "never")
    assert codes(result) == ["CC401"]


def test_importing_the_commands_loads_neither_numpy_nor_the_readers() -> None:
    program = (
        "import sys, crosscast.cli.data as c\n"
        "bad = {'numpy', 'tokenizers', 'crosscast.data'} & set(sys.modules)\n"
        "sys.exit(f'loaded {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
