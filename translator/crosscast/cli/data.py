"""The command `crosscast data`. NumPy is imported only when a command runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.api.parameters import Parameter
from crosscast.cli.options import options_of
from crosscast.messages.console import print_diagnostics, print_screen

if TYPE_CHECKING:
    from crosscast.api.datasets import EncodedData, SyntheticData

data_app = typer.Typer(no_args_is_help=True, help="Write the .npz data sets that scripts train on.")

OUTPUT_NAMES = ("--output", "-o")
OUTPUT = Parameter("The .npz file to write.", names=OUTPUT_NAMES)


@data_app.command("nli-synthetic")
@options_of("datasets.data_nli_synthetic")
def synthetic_command(
    data_nli_synthetic: Callable[..., SyntheticData],
    *,
    output: Annotated[Path, Parameter("Folder for the files.", names=OUTPUT_NAMES)],
) -> None:
    """Write a learnable three-class task: train.npz, eval.npz and dataset.json."""
    made = data_nli_synthetic(out=output)
    files = (f"{output / name}.npz" for name in made.splits)
    print_screen(made.head, [f"written: {', '.join(files)}"])


@data_app.command("xnli")
@options_of("datasets.data_xnli")
def xnli_command(data_xnli: Callable[..., EncodedData], *, output: Annotated[Path, OUTPUT]) -> None:
    """Encode an XNLI file such as xnli.dev.tsv."""
    _print(data_xnli(out=output), output)


@data_app.command("tsv")
@options_of("datasets.data_tsv")
def tsv_command(data_tsv: Callable[..., EncodedData], *, output: Annotated[Path, OUTPUT]) -> None:
    """Encode a tab-separated file of sentence pairs; quotes have no special meaning."""
    _print(data_tsv(out=output), output)


@data_app.command("jsonl")
@options_of("datasets.data_jsonl")
def jsonl_command(
    data_jsonl: Callable[..., EncodedData], *, output: Annotated[Path, OUTPUT]
) -> None:
    """Encode a file with one JSON object per line."""
    _print(data_jsonl(out=output), output)


def _print(made: EncodedData, output: Path) -> None:
    print_screen(made.head, [f"written: {output}"])
    print_diagnostics(made.diagnostics)
