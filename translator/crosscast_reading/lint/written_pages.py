"""The pages of crosscast's own rules, which say everything about a rule but how it is checked."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Severity

_HEAD = re.compile(
    r"# CL\d+ (?P<name>\S+)\n\n\*(?P<title>.+)\*\n\n(?P<why>.+?)\n\n(?=Beside `|Wrong:)", re.S
)
_PROGRAM = re.compile(
    r"^(?:Beside `(?P<file>[^`]+)`|(?P<word>Wrong|Right)):\n\n"
    r"```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_SEVERITY = re.compile(r"^Severity: (\w+)\. Topic: [^.]+\.( `--fix` fixes it\.)?", re.M)
_SOURCES = re.compile(r"^Sources: (.+)$", re.M)


@cache
def pages_folder() -> Path:
    """Return the folder of the pages: inside the wheel, or of the checkout."""
    here = Path(__file__).resolve()
    packaged = here.parent / "pages"
    return packaged if packaged.is_dir() else here.parents[3] / "docs" / "reference" / "rules"


def words_of_page(code: str) -> dict[str, Any]:
    """Return the words of a rule's page, by the fields of `Rule`.

    Raises:
        OSError: if there is no page.
        ValueError: if it lacks the title, the reason, an example or the severity.
    """
    page = (pages_folder() / f"{code}.md").read_text(encoding="utf-8")
    head, programs = _HEAD.match(page), list(_PROGRAM.finditer(page))
    examples = {match["word"]: match for match in programs if match["word"]}
    end = programs[-1].end() if programs else 0
    severity, sources = _SEVERITY.search(page, end), _SOURCES.search(page, end)
    if head is None or severity is None or examples.keys() != {"Wrong", "Right"}:
        raise ValueError(f"the page of {code} lacks a title, a reason, an example or the severity")
    return {
        "name": head["name"],
        "severity": Severity(severity[1]),
        "fixable": severity[2] is not None,
        "title": head["title"],
        "why": "\n\n".join(" ".join(part.split()) for part in head["why"].split("\n\n")),
        "wrong": examples["Wrong"]["text"],
        "right": examples["Right"]["text"],
        "language": examples["Wrong"]["language"],
        "beside": tuple((match["file"], match["text"]) for match in programs if match["file"]),
        "sources": tuple(sources[1].split("; ")) if sources else (),
    }
