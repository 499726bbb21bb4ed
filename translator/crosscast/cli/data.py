"""The command `crosscast data`. NumPy is imported only when a command runs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crosscast.data import Columns, Dataset, Labels, PairFile

data_app = typer.Typer(no_args_is_help=True, help="Write the .npz data sets that scripts train on.")

TextFile = Annotated[Path, typer.Argument(metavar="FILE", help="The text file, UTF-8.")]
Vocab = Annotated[Path, typer.Option("--vocab", help="The vocab.txt of a BERT model.")]
OutputFile = Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")]
Length = Annotated[int, typer.Option(min=1, help="Tokens per row; longer pairs are truncated.")]
LowerCase = Annotated[
    bool, typer.Option("--lower-case/--cased", help="Whether the vocabulary is lower-case.")
]
Skip = Annotated[bool, typer.Option(help="Skip rows whose label is empty or '-'.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
First = Annotated[
    str, typer.Option(help="Column of the first sentence: its name, or its number from 0.")
]
Second = Annotated[str, typer.Option(help="Column of the second sentence.")]
Label = Annotated[str, typer.Option(help="Column of the label.")]
LabelWords = Annotated[
    str, typer.Option(help="Label words in numerical order, separated by commas; default: NLI.")
]


@data_app.command("nli-synthetic")
def synthetic_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")],
    train_rows: Annotated[int, typer.Option(min=1, help="Number of training pairs.")] = 4096,
    eval_rows: Annotated[int, typer.Option(min=1, help="Number of evaluation pairs.")] = 1024,
    sequence_length: Annotated[int, typer.Option(min=1, help="Tokens per row.")] = 32,
    vocab_size: Annotated[int, typer.Option(min=1, help="Size of the vocabulary.")] = 2048,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for the labeling rule and the rows.")
    ] = 0,
    force: Force = False,
) -> None:
    """Write a learnable three-class task: train.npz, eval.npz and dataset.json."""
    _require_numpy()
    from crosscast.data import nli_synthetic
    from crosscast.data.files import write_files
    from crosscast.data.synthetic import LABEL_NOISE, LABELS

    splits = {
        "train": nli_synthetic(train_rows, sequence_length, vocab_size, seed, split="train"),
        "eval": nli_synthetic(eval_rows, sequence_length, vocab_size, seed, split="eval"),
    }
    described = {
        "format": 1,
        "generator": "nli-synthetic",
        "seed": seed,
        "label_noise": LABEL_NOISE,
        "vocab_size": vocab_size,
        "sequence_length": sequence_length,
        "labels": list(LABELS),
        "splits": {name: _described(f"{name}.npz", part) for name, part in splits.items()},
    }
    contents = {output / f"{name}.npz": part.to_bytes() for name, part in splits.items()}
    contents[output / "dataset.json"] = (json.dumps(described, indent=2) + "\n").encode()
    write_files(contents, force=force)
    for name, part in splits.items():
        typer.echo(f"{output / name}.npz: {len(part)} rows of {sequence_length} ids")


@data_app.command("xnli")
def xnli_command(
    file: TextFile,
    vocab: Vocab,
    output: OutputFile,
    language: Annotated[
        str, typer.Option(help="Language of the rows to keep, such as 'en', or 'all'.")
    ] = "en",
    sequence_length: Length = 128,
    lower_case: LowerCase = True,
    skip_unlabelled: Skip = False,
    force: Force = False,
) -> None:
    """Encode an XNLI file such as xnli.dev.tsv."""
    _require_numpy()
    from crosscast.data import read_xnli

    chosen = None if language == "all" else language
    pairs = read_xnli(file, language=chosen, skip_unlabelled=skip_unlabelled)
    _encode(pairs, vocab, output, sequence_length, lower_case, force)


@data_app.command("tsv")
def tsv_command(
    file: TextFile,
    vocab: Vocab,
    output: OutputFile,
    first: First = "sentence1",
    second: Second = "sentence2",
    label: Label = "label",
    label_words: LabelWords = "",
    header: Annotated[
        bool, typer.Option(help="Whether the first line contains the column names.")
    ] = True,
    sequence_length: Length = 128,
    lower_case: LowerCase = True,
    skip_unlabelled: Skip = False,
    force: Force = False,
) -> None:
    """Encode a tab-separated file of sentence pairs; quotes have no special meaning."""
    _require_numpy()
    from crosscast.data import read_tsv

    columns = _columns(first, second, label)
    pairs = read_tsv(file, columns, labels=_labels(label_words, skip_unlabelled), header=header)
    _encode(pairs, vocab, output, sequence_length, lower_case, force)


@data_app.command("jsonl")
def jsonl_command(
    file: TextFile,
    vocab: Vocab,
    output: OutputFile,
    first: First = "sentence1",
    second: Second = "sentence2",
    label: Label = "label",
    label_words: LabelWords = "",
    sequence_length: Length = 128,
    lower_case: LowerCase = True,
    skip_unlabelled: Skip = False,
    force: Force = False,
) -> None:
    """Encode a file with one JSON object per line."""
    _require_numpy()
    from crosscast.data import Columns, read_jsonl

    columns = Columns(first, second, label)
    pairs = read_jsonl(file, columns, labels=_labels(label_words, skip_unlabelled))
    _encode(pairs, vocab, output, sequence_length, lower_case, force)


def _require_numpy() -> None:
    from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

    if importlib.util.find_spec("numpy") is None:
        message = "writing data sets needs the package numpy"
        hint = 'pip install "crosscast[data]"'
        raise DiagnosticError(Diagnostic(code="CC401", message=message, hint=hint))


def _columns(first: str, second: str, label: str) -> Columns:
    from crosscast.data import Columns

    def place(given: str) -> str | int:
        return int(given) if given.isascii() and given.isdigit() else given

    return Columns(place(first), place(second), place(label))


def _labels(words: str, skip_unlabelled: bool) -> Labels:
    from crosscast.data import Labels
    from crosscast.data.pairs import NLI_LABELS

    if not words:
        return Labels(NLI_LABELS, skip_unlabelled)
    return Labels.of(words.split(","), skip_unlabelled=skip_unlabelled)


def _encode(
    read: PairFile,
    vocab: Path,
    output: Path,
    sequence_length: int,
    lower_case: bool,
    force: bool,
) -> None:
    from crosscast.data import Vocabulary, encode_pairs
    from crosscast.messages.diagnostics import render

    if read.notes:
        typer.echo(render(read.notes), err=True)
    vocabulary = Vocabulary.read(vocab)
    encoded = encode_pairs(read.pairs, vocabulary, sequence_length, lower_case=lower_case)
    encoded.dataset.save(output, force=force)
    typer.echo(
        f"{output}: {len(encoded.dataset)} rows of {sequence_length} ids, "
        f"vocabulary {vocabulary.size}, {encoded.shortened} truncated, "
        f"{encoded.unknown_share:.1%} unknown pieces, {read.unlabelled} unlabelled skipped"
    )


def _described(file: str, part: Dataset) -> dict[str, Any]:
    return {"file": file, "rows": len(part), "sha256": part.sha256()}
