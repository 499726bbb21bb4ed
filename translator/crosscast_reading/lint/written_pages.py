"""The pages of crosscast's own rules, which say everything about a rule but how it is checked."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Severity

_HEAD = re.compile(
    r"# (?P<code>CL\d+) (?P<name>\S+)\n\n\*(?P<title>.+)\*\n\n(?P<why>.+?)\n\n(?=Beside `|Wrong:)",
    re.S,
)
_PROGRAM = re.compile(
    r"^(?:Beside `(?P<file>[^`]+)`|(?P<word>Wrong|Right)):\n\n"
    r"```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_END = re.compile(
    r"\n\n(?:Sources: (?P<sources>.+)\n\n)?"
    r"Severity: (?P<severity>\w+)\. Topic: [^.]+\.(?P<fixable> `--fix` fixes it\.)?"
    r" To ignore a finding,\nadd `# crosscast: ignore\[(?P<code>CL\d+)\]`\. \[All rules\]\(.+\)\n"
)


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
        ValueError: if it lacks the title, the reason, an example or the severity, or has anything
            else.
    """
    page = (pages_folder() / f"{code}.md").read_text(encoding="utf-8")
    head, programs = _HEAD.match(page), list(_PROGRAM.finditer(page))
    examples = {match["word"]: match for match in programs if match["word"]}
    last = programs[-1].end() if programs else 0
    end = _END.fullmatch(page, last)
    if (
        head is None
        or end is None
        or [match["word"] for match in programs if match["word"]] != ["Wrong", "Right"]
        or _PROGRAM.sub("", page[head.end() : last]).strip()
        or {head["code"], end["code"]} != {code}
    ):
        raise ValueError(
            f"the page of {code} lacks a title, a reason, an example or the severity, or has more"
        )
    return {
        "name": head["name"],
        "severity": Severity(end["severity"]),
        "fixable": end["fixable"] is not None,
        "title": head["title"],
        "why": "\n\n".join(" ".join(part.split()) for part in head["why"].split("\n\n")),
        "wrong": examples["Wrong"]["text"],
        "right": examples["Right"]["text"],
        "language": examples["Wrong"]["language"],
        "beside": tuple((match["file"], match["text"]) for match in programs if match["file"]),
        "sources": tuple(end["sources"].split("; ")) if end["sources"] else (),
    }
