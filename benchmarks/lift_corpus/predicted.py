"""What crosscast read, in the words of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.profile import Profile, profile_of
from crosscast_reading.facts.vocabulary import printed_name, printed_value
from crosscast_reading.lift.precedence import Settled, settle, words

SOURCES = {
    "literal": "literal",
    "constant": "constant",
    "derived": "derived",
    "flag": "arg_default",
    "function_argument": "function_argument",
    "config": "config_dict",
    "shell_variable": "shell_variable",
    "library_default": "library_default",
    "presence": "literal",
}
"""The labels' word for the way a value is written."""
EXTERNAL = {"flag": "arg_external", "config": "config_external"}
"""The same where the source shows no value."""
FEATURES = {
    "mixed precision": ("precision.enabled", "precision.dtypes"),
    "loss scaling": ("loss_scaling.mode",),
    "accumulation": ("accumulation.present", "accumulation.steps"),
    "clipping": ("clip.kind",),
    "schedule": ("schedule.decay", "schedule.has_warmup"),
    "checkpointing": ("activation_checkpointing.mode",),
    "data parallel": ("parallel.kind",),
}
SECTION = {
    "mixed precision": "precision",
    "loss scaling": "loss_scaling",
    "accumulation": "accumulation",
    "clipping": "clip",
    "schedule": "schedule",
    "checkpointing": "activation_checkpointing",
    "data parallel": "parallel",
}
_NOTHING = ("none", "no", "never", "fp32", False, None)


@dataclass
class Prediction:
    """All that was read from one entry."""

    settled: Mapping[tuple[str, str], Settled]
    path: str
    crashed: str = ""
    findings: list[Any] = field(default_factory=list)
    diagnostics: list[Any] = field(default_factory=list)

    def fact(self, name: str, subject: str = "") -> Fact | None:
        """Return what counts of a field."""
        found = self.settled.get((name, subject))
        return found.fact if found else None

    def word(self, name: str) -> Any:
        """Return the word that a field has; None if nothing is known of it."""
        fact = self.fact(name)
        if fact is None or not fact.known:
            return None
        return tuple(words(fact.value)) if name in MANY else fact.value

    def claims(self, name: str, subject: str = "") -> bool:
        """Whether the effective fact of a field is in the labelled file itself."""
        fact = self.fact(name, subject)
        return fact is not None and self.path in (fact.files or (self.path,))

    def lines(self, *prefixes: str, subject: str | None = None) -> list[int]:
        """Return the lines of the labelled file where the facts of fields are."""
        return sorted(
            {
                place.line
                for (name, who), answer in self.settled.items()
                if name.startswith(prefixes) and (subject is None or who == subject)
                for place in answer.places
                if place.file == self.path
            }
        )

    def present(self, feature: str) -> bool:
        """Whether a feature is said to be there."""
        for name in FEATURES[feature]:
            fact = self.fact(name)
            if fact is None:
                continue
            if name == "accumulation.steps":
                continue
            if name == "precision.dtypes" and self.fact("precision.enabled") is not None:
                continue
            if not fact.known:
                return True
            if any(word not in _NOTHING for word in words(fact.value)):
                return True
        return False

    def source(self, name: str) -> str | None:
        """Return the kind of a field's value; a value from another file is external."""
        fact = self.fact(name)
        if fact is None:
            return None
        if not self.claims(name):
            return EXTERNAL.get(fact.origin, "config_external")
        if not fact.known and fact.origin in EXTERNAL:
            return EXTERNAL[fact.origin]
        return SOURCES[fact.origin]

    def optimizers(self) -> list[str]:
        """Return the subjects of the optimizers."""
        return [who for name, who in self.settled if name == "optimizer.family"]


def own_view(profile: Profile, path: str) -> dict[tuple[str, str], Settled]:
    """Return the facts about the labelled file: its own, else those of other files.

    What a library decides there counts only where no companion says it.
    """
    own = profile.of_file(path)
    fields = {_group(fact.field) for fact in own if fact.places}
    others = (f for f in profile if _group(f.field) not in fields and f not in own.facts)
    settled = settle(profile_of((*own, *others)))
    return {
        (printed_name(name), who): replace(
            found, fact=replace(found.fact, value=printed_value(name, found.fact.value))
        )
        for (name, who), found in settled.items()
    }


def _group(name: str) -> str:
    """Return what is taken from one file as a whole: a field, or all about optimizers."""
    return "optimizer" if name.startswith("optimizer.") else name


MANY = ("precision.dtypes", "api", "parallel.kind")
