"""Data sets that scripts train on. NumPy is imported when a function is called."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api.calls import Words, public
from crosscast.api.parameters import Parameter
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.diagnostics import Diagnostic, failure

if TYPE_CHECKING:
    from crosscast.data import Columns, Dataset, EncodedPairs, Labels, PairFile

PathLike = str | os.PathLike[str]

TEXT_FILE = Parameter("The text file, UTF-8.", "FILE")
VOCABULARY = Parameter("The vocab.txt of a BERT model.", "PATH", ("--vocab",))
FIRST = Parameter("Column of the first sentence: its name, or its number from 0.")
SECOND = Parameter("Column of the second sentence.")
LABEL = Parameter("Column of the label.")
LABEL_WORDS = Parameter("Label words in numerical order, separated by commas; default: NLI.")
LENGTH = Parameter("Tokens per row; longer pairs are truncated.", least=1)
LOWER_CASE = Parameter("Whether the vocabulary is lower-case.", names=("--lower-case/--cased",))
SKIP_UNLABELLED = Parameter(
    "Skip rows whose label is empty or '-'.",
    names=("--skip-unlabelled/--no-skip-unlabelled",),
)
OVERWRITE = Parameter("Overwrite existing files.")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyntheticData(Result):
    """A learnable three-class task."""

    splits: Mapping[str, Dataset]
    """`train` and `eval`."""
    described: Mapping[str, Any]
    """What dataset.json says: generator, seed, sizes and hashes."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @public
    def write(self, folder: PathLike, *, force: bool = False) -> tuple[Path, ...]:
        """Write train.npz, eval.npz and dataset.json into a folder; return the paths.

        Raises:
            DiagnosticError: CC501 for files that exist, CC502 if they cannot be written.
        """
        from crosscast.data.files import write_files

        root = Path(folder)
        contents = {root / f"{name}.npz": part.to_bytes() for name, part in self.splits.items()}
        contents[root / "dataset.json"] = (json.dumps(self.described, indent=2) + "\n").encode()
        write_files(contents, force=force)
        return tuple(contents)

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The numbers of rows and ids."""
        length = self.described["sequence_length"]
        return "\n".join(
            f"{name}: {len(part)} rows of {length} ids" for name, part in self.splits.items()
        )

    @property
    def _about(self) -> str:
        return f"a made-up task of three classes, seed {self.described['seed']}"

    @property
    def _next(self) -> str:
        return "name train.npz and eval.npz in the recipe: data.train and data.eval"


@public
def data_nli_synthetic(
    *,
    out: PathLike | None = None,
    train_rows: Annotated[int, Parameter("Number of training pairs.", least=1)] = 4096,
    eval_rows: Annotated[int, Parameter("Number of evaluation pairs.", least=1)] = 1024,
    sequence_length: Annotated[int, Parameter("Tokens per row.", least=1)] = 32,
    vocab_size: Annotated[int, Parameter("Size of the vocabulary.", least=1)] = 2048,
    seed: Annotated[int, Parameter("Random seed for the labeling rule and the rows.", least=0)] = 0,
    force: Annotated[bool, OVERWRITE] = False,
) -> SyntheticData:
    """Make a learnable three-class task.

    Args:
        out: Folder to write train.npz, eval.npz and dataset.json to; without it, nothing is
            written.

    Raises:
        DiagnosticError: CC401 without NumPy, CC610 for sizes that make no task, CC501 and CC502 for
            the files.
    """
    _require_numpy()
    from crosscast.data import nli_synthetic
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
        "splits": {
            name: {"file": f"{name}.npz", "rows": len(part), "sha256": part.sha256()}
            for name, part in splits.items()
        },
    }
    made = SyntheticData(splits=splits, described=described)
    if out is not None:
        made.write(out, force=force)
    return made


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EncodedData(Result):
    """Sentence pairs as word ids."""

    encoded: EncodedPairs
    """The data set and what was lost by encoding."""
    sequence_length: int
    vocabulary_size: int
    unlabelled: int
    """Number of rows without a label that were skipped."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def dataset(self) -> Dataset:
        """The rows as arrays."""
        return self.encoded.dataset

    @public
    def write(self, path: PathLike, *, force: bool = False) -> Path:
        """Write the .npz file; return the path.

        Raises:
            DiagnosticError: CC501 if the file exists, CC502 if it cannot be written.
        """
        self.dataset.save(path if isinstance(path, str) else Path(path), force=force)
        return Path(path)

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of rows, and what was lost."""
        return (
            f"{len(self.dataset)} rows of {self.sequence_length} ids, "
            f"vocabulary {self.vocabulary_size}, {self.encoded.shortened} truncated, "
            f"{self.encoded.unknown_share:.1%} unknown pieces, {self.unlabelled} unlabelled skipped"
        )

    @property
    def _about(self) -> str:
        return f"pairs of sentences, at most {self.sequence_length} ids"

    @property
    def _next(self) -> str:
        return "name the .npz file in the recipe: data.train or data.eval"


@public
def data_xnli(
    file: Annotated[PathLike, TEXT_FILE],
    vocab: Annotated[PathLike, VOCABULARY],
    *,
    out: PathLike | None = None,
    language: Annotated[
        str, Parameter("Language of the rows to keep, such as 'en', or 'all'.")
    ] = "en",
    sequence_length: Annotated[int, LENGTH] = 128,
    lower_case: Annotated[bool, LOWER_CASE] = True,
    skip_unlabelled: Annotated[bool, SKIP_UNLABELLED] = False,
    force: Annotated[bool, OVERWRITE] = False,
) -> EncodedData:
    """Encode an XNLI file such as xnli.dev.tsv.

    Args:
        out: The .npz file to write; without it, nothing is written.

    Raises:
        DiagnosticError: CC401 without NumPy, CC6xx for the files.
    """
    _require_numpy()
    from crosscast.data import read_xnli

    chosen = None if language == "all" else language
    pairs = read_xnli(Path(file), language=chosen, skip_unlabelled=skip_unlabelled)
    return _encoded(pairs, vocab, sequence_length, lower_case, out, force)


@public
def data_tsv(
    file: Annotated[PathLike, TEXT_FILE],
    vocab: Annotated[PathLike, VOCABULARY],
    *,
    out: PathLike | None = None,
    first: Annotated[str, FIRST] = "sentence1",
    second: Annotated[str, SECOND] = "sentence2",
    label: Annotated[str, LABEL] = "label",
    label_words: Annotated[Words, LABEL_WORDS] = "",
    header: Annotated[bool, Parameter("Whether the first line contains the column names.")] = True,
    sequence_length: Annotated[int, LENGTH] = 128,
    lower_case: Annotated[bool, LOWER_CASE] = True,
    skip_unlabelled: Annotated[bool, SKIP_UNLABELLED] = False,
    force: Annotated[bool, OVERWRITE] = False,
) -> EncodedData:
    """Encode a tab-separated file of sentence pairs; quotes have no special meaning.

    Args:
        out: The .npz file to write; without it, nothing is written.

    Raises:
        DiagnosticError: CC401 without NumPy, CC6xx for the files.
    """
    _require_numpy()
    from crosscast.data import read_tsv

    columns, labels = _columns(first, second, label), _labels(label_words, skip_unlabelled)
    pairs = read_tsv(Path(file), columns, labels=labels, header=header)
    return _encoded(pairs, vocab, sequence_length, lower_case, out, force)


@public
def data_jsonl(
    file: Annotated[PathLike, TEXT_FILE],
    vocab: Annotated[PathLike, VOCABULARY],
    *,
    out: PathLike | None = None,
    first: Annotated[str, FIRST] = "sentence1",
    second: Annotated[str, SECOND] = "sentence2",
    label: Annotated[str, LABEL] = "label",
    label_words: Annotated[Words, LABEL_WORDS] = "",
    sequence_length: Annotated[int, LENGTH] = 128,
    lower_case: Annotated[bool, LOWER_CASE] = True,
    skip_unlabelled: Annotated[bool, SKIP_UNLABELLED] = False,
    force: Annotated[bool, OVERWRITE] = False,
) -> EncodedData:
    """Encode a file with one JSON object per line. Columns are its keys.

    Args:
        out: The .npz file to write; without it, nothing is written.

    Raises:
        DiagnosticError: CC401 without NumPy, CC6xx for the files.
    """
    _require_numpy()
    from crosscast.data import Columns, read_jsonl

    labels = _labels(label_words, skip_unlabelled)
    pairs = read_jsonl(Path(file), Columns(first, second, label), labels=labels)
    return _encoded(pairs, vocab, sequence_length, lower_case, out, force)


def _require_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        message = "writing data sets needs the package numpy"
        raise failure("CC401", message, 'pip install "crosscast[data]"')


def _columns(first: str, second: str, label: str) -> Columns:
    from crosscast.data import Columns

    def place(given: str) -> str | int:
        return int(given) if given.isascii() and given.isdigit() else given

    return Columns(place(first), place(second), place(label))


def _labels(words: Words, skip_unlabelled: bool) -> Labels:
    from crosscast.data import Labels
    from crosscast.data.pairs import NLI_LABELS

    if not words:
        return Labels(NLI_LABELS, skip_unlabelled)
    listed = words.split(",") if isinstance(words, str) else list(words)
    return Labels.of(listed, skip_unlabelled=skip_unlabelled)


def _encoded(
    read: PairFile,
    vocab: PathLike,
    sequence_length: int,
    lower_case: bool,
    out: PathLike | None,
    force: bool,
) -> EncodedData:
    from crosscast.data import Vocabulary, encode_pairs

    vocabulary = Vocabulary.read(Path(vocab))
    encoded = encode_pairs(read.pairs, vocabulary, sequence_length, lower_case=lower_case)
    made = EncodedData(
        encoded=encoded,
        sequence_length=sequence_length,
        vocabulary_size=vocabulary.size,
        unlabelled=read.unlabelled,
        diagnostics=tuple(read.notes),
    )
    if out is not None:
        made.write(out, force=force)
    return made
