"""Descriptions of arguments, and those that several functions share.

A public function carries them in its annotations, `windows: Annotated[int, Parameter(...)]`. From
there come its checks, its documentation, and the options of the command of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LARGEST = 2**31 - 1
"""The largest number that any argument takes."""


Format = Literal["text", "json", "sarif", "github", "gitlab"]
"""The formats of a report of lint."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What an argument means and which values it takes."""

    help: str
    """Other arguments stand in backticks, for which a command prints their options."""
    metavar: str = ""
    """What stands for the value in the help of a command; empty for the name of its type."""
    names: tuple[str, ...] = ()
    """Names of the option, if not `--` and the name of the argument. An argument that may be given
    by position, and has none, is an argument of the command, too."""
    least: float | None = None
    most: float = LARGEST
    positive: bool = False
    """Whether a number must be more than 0, however little."""
    words: str = ""
    """What the shell completes: a key of `crosscast.cli.completion.WORDS`."""
    default: str = ""
    """What the help shows as the default, where the signature has None for it."""

    @property
    def sentences(self) -> str:
        """The help, and what the help of a command shows beside it: syntax, limits, default."""
        sentences = [self.help]
        if set(self.metavar) & set("=-'"):
            sentences.append(f"As `{self.metavar}`.")
        if self.positive:
            sentences.append("More than 0.")
        elif self.most != LARGEST:
            sentences.append(f"From {self.least:.12g} to {self.most:.12g}.")
        elif self.least:
            sentences.append(f"At least {self.least:.12g}.")
        if self.default:
            sentences.append(f"Default: {self.default}.")
        return " ".join(sentences)


def targets(help: str) -> Parameter:
    """Describe an argument that takes targets."""
    return Parameter(help, "TARGET,...", ("--to",), words="targets")


def rules(help: str) -> Parameter:
    """Describe an argument that takes rules of lint."""
    return Parameter(help, "CODE,...", words="rules")


RECIPE = Parameter("A recipe file, or - for stdin.", "RECIPE")
RECIPES = Parameter("Recipe files.", "RECIPE...")
TARGETS = targets("Targets: NAME, NAME@VERSION or NAME@DIALECT.")
STRICT = Parameter("Reject every field whose verdict is not exact.")
ALLOW_FILL_IN = Parameter("Accept values that are still marked FILL IN, with a warning.")
ONLY = Parameter("Only fields with this verdict.")
FIELDS = Parameter("Only these fields, or all fields of a section.", "FIELD,...", words="fields")
FORCE = Parameter("Overwrite files that crosscast did not write.")
VERSIONS = Parameter("Version of a package, such as torch=2.1.", "NAME=V")
JOBS = Parameter("Maximum number of processes; 0 chooses automatically.", least=0)
INTERPRETERS = Parameter("Python interpreter for a target.", "TARGET=PATH")
DEVICE = Parameter("Device to train on.")
RUN_PYTHON = Parameter("With `run`: the interpreter; default: the current one.", "PATH")
RUN_DEVICE = Parameter("With `run`: cpu hides the GPUs from the script.")
RUN_UPDATES = Parameter("With `run`: number of updates after which a run ends.", least=1)
RUN_TIMEOUT = Parameter("With `run`: time limit of a run in seconds.", positive=True)
RUN_MEMORY = Parameter("With `run`: memory limit of a run in GiB; 0 for none.", least=0)
