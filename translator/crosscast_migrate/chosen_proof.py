"""Which proof of a migration was to be had, and why not a stronger one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from crosscast_parity.side_by_side.proof import Execution

Level = Literal["both sides", "migrated side", "reading", "none"]
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenProof:
    """The strongest proof that could be had, from both sides run to nothing at all."""

    level: Level
    words: str
    stronger: str
    """Why there is no stronger one, and what would give it; empty if there is none."""

    @property
    def sentence(self) -> str:
        """The proof in one line."""
        return f"{self.words} ({self.stronger})" if self.stronger else self.words

    def to_json(self) -> dict[str, str]:
        """Return it for JSON."""
        return {"level": self.level, "words": self.words, "stronger": self.stronger}


def in_place_proof(
    *,
    verify: bool,
    changed: bool,
    compared: bool,
    execution: Execution | None,
    how: str = "",
    built: str = "",
) -> ChosenProof:
    """Return the proof of a migration in place.

    Args:
        verify: whether one was asked for.
        changed: whether anything changes.
        compared: whether anything that was read could be compared.
        execution: what came of the runs of the command that the user gave.
        how: the command that runs both sides, and why it does not here.
        built: how many models of the migrated side were built past what it misses.
    """
    if not verify:
        return ChosenProof(level="none", words="not verified", stronger=how)
    if not changed:
        return ChosenProof(level="none", words="nothing changes", stronger="")
    if execution is not None and execution.outcome != "cannot be verified here":
        words = f"both sides were run: {execution.outcome}: {execution.wording}"
        return ChosenProof(level="both sides", words=words, stronger="")
    stronger = how if execution is None else execution.wording
    if execution is not None and execution.alone:
        words = "the migrated side alone was run"
        words = f"{words}, and both were compared by reading" if compared else words
        return ChosenProof(level="migrated side", words=words, stronger=stronger)
    past = f"; past what it misses here, the migrated side: {built}" if built else ""
    if not compared:
        words = "not verified: no training was found that could be compared"
        return ChosenProof(level="none", words=f"{words}{past}", stronger=stronger)
    words = "compared by reading only, nothing was executed"
    if execution is not None or built:
        words = "compared by reading only"
    return ChosenProof(level="reading", words=f"{words}{past}", stronger=stronger)


def across_proof(proof: Mapping[str, Any]) -> ChosenProof:
    """Return the proof of the script for one target.

    Args:
        proof: an entry of `targets` of `verification` in a report.
    """
    if proof["outcome"] == "cannot be verified here":
        if any(stage["outcome"] == "same" for stage in proof["stages"]):
            words = "only the training step of the new script was run: it does what the recipe says"
            return ChosenProof(level="migrated side", words=words, stronger=proof["wording"])
        words = "the new script was only read"
        return ChosenProof(level="reading", words=words, stronger=proof["wording"])
    does = "does" if proof["outcome"] == "same" else "does not do"
    words = f"the new script was run: it {does} what the recipe says"
    return ChosenProof(level="migrated side", words=words, stronger="")
