"""The language of messages on the console: English, or Chinese if an option or the locale asks.

What programs read (JSON, SARIF, GitLab, GitHub, exit codes) is the same in every language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TextIO

Language = Literal["en", "zh"]
VARIABLES = ("CROSSCAST_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""Environment variables that name a language; the first that is set decides."""
_CHOSEN: ContextVar[Language] = ContextVar("language", default="en")


@dataclass(frozen=True, slots=True)
class Wording:
    """The fixed words around a diagnostic."""

    severities: Mapping[str, str]
    hint: str
    help: str
    see_also: str
    fix: str
    wrong: str
    right: str
    fixable: str
    sources: str
    ignore: str


WORDINGS: Mapping[Language, Wording] = {
    "en": Wording(
        severities={"error": "error", "warning": "warning", "note": "note"},
        hint="Hint",
        help="Help",
        see_also="See also",
        fix="Fix available: --fix applies it, --diff shows it",
        wrong="Wrong",
        right="Right",
        fixable="`crosscast lint --fix` fixes it.",
        sources="Sources",
        ignore="To ignore one finding, add a comment",
    ),
    "zh": Wording(
        severities={"error": "错误", "warning": "警告", "note": "提示"},
        hint="建议",
        help="帮助",
        see_also="另见",
        fix="可自动修复：--fix 应用修改，--diff 显示修改",
        wrong="错误写法",
        right="正确写法",
        fixable="`crosscast lint --fix` 可自动修复。",
        sources="来源",
        ignore="如需忽略某一处，请添加注释",
    ),
}


def choose(language: Language) -> None:
    """Print messages in a language until another one is chosen."""
    _CHOSEN.set(language)


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for: any Chinese locale gives Chinese."""
    wanted = next((value for name in VARIABLES if (value := environment.get(name))), "")
    return "zh" if re.split(r"[-_.@]", wanted.lower())[0] == "zh" else "en"


def spoken(stream: TextIO | None = None) -> Language:
    """Return the chosen language; English for a stream whose encoding has no Chinese characters."""
    language = _CHOSEN.get()
    if stream is not None and language == "zh":
        try:
            WORDINGS["zh"].fix.encode(getattr(stream, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return "en"
    return language
