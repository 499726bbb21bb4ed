"""The options of a lint run: which rules apply to which files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crosscast_reading.lint.config import Config
from crosscast_reading.lint.registry import all_rules, expand
from crosscast_reading.lint.rule import Rule
from crosscast_reading.sources.path_patterns import path_matches


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The rules to apply, and to which files."""

    codes: frozenset[str] | None = None
    """Codes of the selected rules; None for all."""
    ignored: frozenset[str] = frozenset()
    """Codes of ignored rules."""
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    """Path patterns with the codes that are ignored there."""
    root: str = ""
    """The folder that the patterns are relative to; empty for the current one."""
    verbose: bool = False
    """Whether to say what could not be followed (CC957)."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Package to version, as given by the user."""

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules to apply, ordered by code."""
        return tuple(rule for rule in all_rules().values() if self.wants(rule.code))

    def wants(self, code: str) -> bool:
        """Whether a rule is enabled."""
        return (self.codes is None or code in self.codes) and code not in self.ignored

    def silent(self, file: str, code: str) -> bool:
        """Whether a rule is ignored in a file."""
        return any(
            code in codes and path_matches(file, pattern, self.root)
            for pattern, codes in self.per_file
        )


def options_of(
    config: Config,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    verbose: bool = False,
) -> Options:
    """Return the options that the settings of a project and the wishes of a user make.

    Args:
        config: the settings.
        select: words for rules, in place of those of the settings.
        ignore: words for rules, beside those of the settings.
        verbose: see `Options`.

    Raises:
        DiagnosticError: a word stands for no rule.
    """
    selected = select or config.select
    return Options(
        codes=expand(selected, "select") if selected else None,
        ignored=expand([*config.ignore, *ignore], "ignore"),
        per_file=tuple(
            (pattern, expand(words, "per-file-ignores"))
            for pattern, words in config.per_file.items()
        ),
        root=config.root,
        verbose=verbose,
    )
