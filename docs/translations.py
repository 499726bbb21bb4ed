"""The Chinese pages, and what of them fell behind: `python docs/translations.py --behind`.

A page and its translation have the same headings, paragraphs, list items, table rows and code
blocks in the same order. docs/zh/translated.json has, for each section of an English page, the
digests of the blocks that the Chinese page says; `--accept PAGE` records the present ones. Code has
no digest: docs/generate.py copies it from the English page, and lets links lead to Chinese pages.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import posixpath
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "zh" / "translated.json"
PROMISED = ("README.md", "docs/index.md", "docs/tutorial/*.md", "docs/how-to/*.md")
HISTORY = 40
"""How many versions of a page are searched for the English text that was translated."""
MARK = "\uff08英文\uff09"
"""Follows a link from a Chinese page to an English one."""
_CODE = re.compile(r"`[^`]+`")
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]+)?\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"- |(\d+)\. ")


@dataclass
class Block:
    """What is translated as a whole; of code only the language is text."""

    kind: str
    line: int
    lines: list[str]
    code: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text in a single line, so that wrapping does not matter."""
        return " ".join(" ".join(self.lines).split())

    @property
    def digest(self) -> str:
        """What the record keeps of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Change:
    """English text that the Chinese page does not say yet, or says no more."""

    page: str
    section: str
    before: list[str]
    english: list[Block]
    chinese: list[Block]

    def __str__(self) -> str:
        lines = [f"{self.page}: {self.section}"]
        lines += [f"  was: {text}" for text in self.before]
        lines += [f"  now: {block.text}" for block in self.english]
        name = translation(self.page)
        lines += [f"  zh:  {name}:{block.line}: {block.text}" for block in self.chinese]
        return "\n".join(lines)


def promised() -> list[str]:
    """Return the English pages that have or must get a translation."""
    found = (path for pattern in PROMISED for path in ROOT.glob(pattern))
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def translation(page: str) -> str:
    """Return where the translation of an English page belongs."""
    path = PurePosixPath(page)
    if path.parts[0] != "docs":
        return str(path.with_suffix(f".zh{path.suffix}"))
    return str(PurePosixPath("docs", "zh", *path.parts[1:]))


def counterpart(page: str) -> str:
    """Return the same page in the other language; a page without translation is its own."""
    for english in (page.replace("docs/zh/", "docs/", 1), page.replace(".zh.", ".")):
        if english != page:
            return english
    other = translation(page)
    return other if page.endswith(".md") and (ROOT / other).is_file() else page


def sections(page: str) -> dict[str, list[Block]]:
    """Return the blocks of a page below each of its headings, by the heading."""
    found: dict[str, list[Block]] = {}
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.kind.startswith("heading"):
            if block.text.lstrip("# ") in found:
                raise ValueError(f"{page}:{block.line}: two sections have this heading")
            found[block.text.lstrip("# ")] = []
        else:
            next(reversed(found.values())).append(block)
    return found


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    block: Block | None = None
    for number, line in enumerate(page.splitlines(), start=1):
        if block and block.kind == "code":
            if line != "```":
                block.code.append(line)
                continue
            yield block
            block = None
        elif line.startswith("```"):
            yield from _finished(block)
            block = Block("code", number, [line])
        elif line.startswith(("#", "|")):
            yield from _finished(block)
            level = len(line) - len(line.lstrip("#"))
            yield Block(f"heading {level}" if level else "row", number, [line])
            block = None
        elif not line.strip():
            yield from _finished(block)
            block = None
        elif _is_item(line, block) or block is None:
            yield from _finished(block)
            block = Block("item" if _is_item(line, block) else "paragraph", number, [line])
        else:
            block.lines.append(line)
    yield from _finished(block)


def _finished(block: Block | None) -> Iterator[Block]:
    if block:
        yield block


def _is_item(line: str, block: Block | None) -> bool:
    """Whether a line starts an item of a list; within a paragraph `2019. ` does not."""
    found = _ITEM.match(line)
    within = block is not None and block.kind == "paragraph"
    return found is not None and not (within and found[1] not in (None, "1"))


def updated(page: str, english: str) -> str:
    """Return the translation of a page with the code of its English text and links to its like.

    The code stays as it is if there are not as many blocks. A link to a page that is now there in
    Chinese is no longer marked as English.
    """
    here = translation(page)
    chinese = (ROOT / here).read_text(encoding="utf-8")
    code = _FENCED.findall(english)
    own = _FENCED.findall(chinese)
    copied = iter(code if len(code) == len(own) else own)

    def led(match: re.Match[str]) -> str:
        path = posixpath.normpath(PurePosixPath(here).parent / match[1]) if match[1] else here
        other = counterpart(path)
        if path == page or _is_chinese(path) or other == path:
            return match[0]
        return f"]({posixpath.relpath(other, PurePosixPath(here).parent)})"

    parts = _FENCED.split(chinese)
    prose = [re.sub(_LINK.pattern + f"(?:{MARK})?", led, part) for part in parts]
    return prose[0] + "".join(block + part for block, part in zip(copied, prose[1:], strict=True))


def behind(page: str, record: dict[str, dict[str, str]]) -> Iterator[Change]:
    """Yield what changed in an English page since its translation was recorded."""
    english = sections(page)
    if not (ROOT / translation(page)).is_file():
        yield Change(page, "no translation", [], [*chain(*english.values())], [])
        return
    chinese = list(sections(translation(page)).values())
    recorded = {title: digests.split() for title, digests in record.get(page, {}).items()}
    places = {title: place for place, title in enumerate(recorded)}
    for title in dict.fromkeys([*english, *recorded]):
        here, old = english.get(title, []), recorded.get(title, [])
        place = places.get(title, len(chinese))
        there = chinese[place] if place < len(chinese) else []
        if (title in english) != (title in recorded):
            what = "new section" if title in english else "removed section"
            yield Change(page, f"{title} ({what})", _earlier(page, old), here, there)
            continue
        new = [block.digest for block in here]
        for word, start, end, first, last in difflib.SequenceMatcher(a=old, b=new).get_opcodes():
            if word != "equal":
                before = _earlier(page, old[start:end])
                yield Change(page, title, before, here[first:last], there[start:end])


def _earlier(page: str, digests: Sequence[str]) -> list[str]:
    """Return the texts of blocks that a page had, as far as recent commits have them."""
    found: dict[str, str] = {}
    for commit in _git("log", f"-{HISTORY}", "--format=%H", "--", page).split() if digests else ():
        for block in blocks(_git("show", f"{commit}:{page}")):
            found.setdefault(block.digest, block.text)
        if found.keys() >= set(digests):
            break
    return [found[digest] for digest in digests if digest in found]


def _git(*words: str) -> str:
    done = subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout


def differences(page: str) -> Iterator[str]:
    """Yield how a translation differs from its page in form, code or links, with the place."""
    other = translation(page)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in (page, other)]
    english, chinese = (list(blocks(text)) for text in texts)
    for here, there in zip(english, chinese, strict=False):
        place = f"{other}:{there.line} ({page}:{here.line})"
        if here.kind != there.kind:
            yield f"{place}: {there.kind} for {here.kind}"
            return
        if (here.kind, here.text, here.code) != (here.kind, there.text, there.code):
            if here.kind == "code":
                yield f"{place}: the code differs"
            if wrong := _unequal(_CODE.findall(here.text), _CODE.findall(there.text)):
                yield f"{place}: words of code: {wrong}"
            if wrong := _unequal(map(_same, _links(page, here)), _links(other, there)):
                yield f"{place}: links: {wrong}"
    if len(english) != len(chinese):
        yield f"{other}: {len(chinese)} blocks for {len(english)}"


def _unequal(wanted: Iterator[str] | list[str], found: Iterator[str] | list[str]) -> str:
    expected, seen = Counter(wanted), Counter(found)
    missing, extra = (", ".join(more) for more in (expected - seen, seen - expected))
    return " and ".join(filter(None, (missing and f"{missing} missing", extra and f"{extra} new")))


def _links(page: str, block: Block) -> Iterator[str]:
    """Yield the targets of the relative links in a block, from the root of the repository."""
    for target, anchor in _LINK.findall(_CODE.sub("", block.text)):
        path = posixpath.normpath(PurePosixPath(page).parent / target) if target else page
        yield path + ("" if _is_chinese(path) else anchor)


def _same(link: str) -> str:
    """Return what a translation links to in place of what its page links to."""
    path = link.partition("#")[0]
    other = counterpart(path)
    return link if other == path else other


def _is_chinese(path: str) -> bool:
    return path.startswith("docs/zh/") or ".zh." in path


def read_record() -> dict[str, dict[str, str]]:
    """Return the digests of what is translated: by page, by section, a word for each block."""
    found: dict[str, dict[str, str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def accept(page: str, record: dict[str, dict[str, str]]) -> None:
    """Record that a translation says what its page says now."""
    found = {
        title: " ".join(block.digest for block in here) for title, here in sections(page).items()
    }
    merged = dict(sorted({**record, page: found}.items()))
    text = json.dumps(merged, indent=1, ensure_ascii=False)
    RECORD.write_text(text + "\n", encoding="utf-8")


def main(words: Sequence[str]) -> int:
    """Print what fell behind, or record pages; return the exit code."""
    if words == ["--behind"]:
        record = read_record()
        found = [str(change) for page in promised() for change in behind(page, record)]
        print("\n\n".join(found) or "Nothing fell behind.")
        return 1 if found else 0
    if words[:1] == ["--accept"] and words[1:]:
        known = {name: page for page in promised() for name in (page, translation(page))}
        for word in words[1:]:
            if word not in known:
                print(f"{word}: not a page that is translated", file=sys.stderr)
                return 2
            if wrong := list(differences(known[word])):
                print("\n".join(wrong), file=sys.stderr)
                return 1
            accept(known[word], read_record())
        return 0
    print("usage: translations.py --behind | --accept PAGE...", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
