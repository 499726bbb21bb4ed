"""The command `crosscast data`. NumPy is imported only when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.messages.console import print_diagnostics, print_screen

if TYPE_CHECKING:
    from crosscast.api.datasets import EncodedData

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
    from crosscast.api.datasets import data_nli_synthetic

    made = data_nli_synthetic(
        train_rows=train_rows,
        eval_rows=eval_rows,
        sequence_length=sequence_length,
        vocab_size=vocab_size,
        seed=seed,
        out=output,
        force=force,
    )
    files = (f"{output / name}.npz" for name in made.splits)
    print_screen(made.head, [f"written: {', '.join(files)}"])


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
    from crosscast.api.datasets import data_xnli

    made = data_xnli(
        file,
        vocab,
        language=language,
        sequence_length=sequence_length,
        lower_case=lower_case,
        skip_unlabelled=skip_unlabelled,
        out=output,
        force=force,
    )
    _print(made, output)


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
    from crosscast.api.datasets import data_tsv

    made = data_tsv(
        file,
        vocab,
        first=first,
        second=second,
        label=label,
        label_words=label_words,
        header=header,
        sequence_length=sequence_length,
        lower_case=lower_case,
        skip_unlabelled=skip_unlabelled,
        out=output,
        force=force,
    )
    _print(made, output)


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
    from crosscast.api.datasets import data_jsonl

    made = data_jsonl(
        file,
        vocab,
        first=first,
        second=second,
        label=label,
        label_words=label_words,
        sequence_length=sequence_length,
        lower_case=lower_case,
        skip_unlabelled=skip_unlabelled,
        out=output,
        force=force,
    )
    _print(made, output)


def _print(made: EncodedData, output: Path) -> None:
    print_screen(made.head, [f"written: {output}"])
    print_diagnostics(made.diagnostics)
