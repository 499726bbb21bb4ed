"""The pages of the documentation site, made from the pages of the repository.

The pages of the repository are read on GitHub too, so they link to each other and to files beside
the documentation by relative paths. The site has only its own pages: a linked file of the
repository becomes a page that shows it, and an example has a page of the explorer, too.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from website.explorers import explored_by, explorer_of, explorer_text

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).parent / "assets"
LANGUAGES = ("en", "zh")
SOURCES = "source"
"""The folder of the site with pages that show files of the repository."""
FENCES = {".json": "json", ".py": "python", ".sh": "bash", ".toml": "toml", ".yaml": "yaml"}
PICTURES = (".png", ".svg")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_HAN = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"  # with its punctuation
_BREAK = re.compile(rf"(?<={_HAN})\n(?={_HAN})")
_TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- /tabs -->\n", re.MULTILINE | re.DOTALL)
_TAB = re.compile(r"^\*\*(.+?)\*\*\n\n(```.*?^```\n)", re.MULTILINE | re.DOTALL)


class MissingFileError(Exception):
    """A page links to a file that the repository does not have."""


def stage(language: str, folder: Path, version: str) -> None:
    """Write the sources of the site in a language; they replace what is in the folder.

    Raises:
        MissingFileError: A page links to a file that is not there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ASSETS, folder / "assets")
    waiting = pages(language)
    done = set(waiting)
    while waiting:
        path = waiting.pop()
        shown = place(path)

        def follow(target: PurePosixPath, shown: PurePosixPath = shown) -> str:
            if (other := language_of(target)) != language:
                up = [".."] * (len(shown.parts) + 1)
                return posixpath.join(*up, other, version, html(place(target)))
            if target not in done:
                done.add(target)
                waiting.append(target)
            return posixpath.relpath(place(target), shown.parent)

        if shown.suffix in PICTURES:
            (folder / shown).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / shown)
            continue
        content = text(path)
        if shown.suffix == ".md" and (path.suffix == ".md" or (ROOT / path).is_dir()):
            content = tabbed(joined(relinked(path, content, follow)))
        _write(folder / shown, content)


def pages(language: str) -> list[PurePosixPath]:
    """Return the paths of the pages in a language, from the root of the repository."""
    found = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return [path for path in sorted(map(PurePosixPath, found)) if language_of(path) == language]


def language_of(path: PurePosixPath) -> str:
    """Return the language of what shows a file of the repository.

    The pages of a language other than English are in a folder of docs/ with its name, under the
    paths of the English pages that they translate; a page elsewhere, such as README.zh.md, has the
    language in its name. Files without a page are shown in English.
    """
    if path.parts[0] == "docs":
        named = path.parts[1] if len(path.parts) > 2 else ""
    else:
        named = path.with_suffix("").suffix[1:] if path.suffix == ".md" else ""
    return named if named in LANGUAGES else "en"


def place(path: PurePosixPath) -> PurePosixPath:
    """Return where the site in its language shows a file or folder, as a source of a page."""
    if explored_by(path, ROOT):
        return path
    language = language_of(path)
    if path.suffix in (".md", ".json", *PICTURES) and path.is_relative_to("docs"):
        return path.relative_to("docs" if language == "en" else f"docs/{language}")
    if (ROOT / path).is_dir():
        return PurePosixPath(SOURCES, path, "index.md")
    if language != "en":
        path = path.with_suffix("").with_suffix(path.suffix)
    return PurePosixPath(SOURCES, path if path.suffix == ".md" else f"{path}.md")


def html(path: PurePosixPath) -> str:
    """Return where the page of a source is."""
    if path.name == "README.md":
        return str(path.with_name("index.html"))
    return str(path.with_suffix(".html") if path.suffix == ".md" else path)


def text(path: PurePosixPath) -> str:
    """Return the page that shows a file or folder of the repository.

    Raises:
        MissingFileError: It is not there.
    """
    file = ROOT / path
    if explored := explored_by(path, ROOT):
        return explorer_text(explored, ROOT)
    if file.is_dir():
        names = [f"- [`{name}`]({name})" for name in sorted(_tracked(path))]
        return "\n".join([f"# `{path}`", "", *names, ""])
    if not file.is_file():
        raise MissingFileError(f"{path} is linked but does not exist")
    content = file.read_text(encoding="utf-8")
    if place(path).suffix == path.suffix:
        return content
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", content)), default=0))
    kind = FENCES.get(path.suffix, "text")
    return f"# `{path}`\n\n{fence}{kind}\n{content.rstrip()}\n{fence}\n"


def relinked(path: PurePosixPath, page: str, follow: Callable[[PurePosixPath], str]) -> str:
    """Return a page with what `follow` says for the target of each of its relative links.

    An example is linked to its page of the explorer, too.
    """

    def link(match: re.Match[str]) -> str:
        here = path if (ROOT / path).is_dir() else path.parent
        target = PurePosixPath(posixpath.normpath(here / match[2]))
        explorer = explorer_of(target)
        more = f" ([explorer]({follow(explorer)}))" if explorer else ""
        return f"{match[1]}{follow(target)}{match[3] or ''}){more}"

    parts = _parts(page)
    return "".join(part if code else _LINK.sub(link, part) for code, part in parts)


def joined(page: str) -> str:
    """Return a page without line breaks within Chinese sentences, which would show as spaces."""
    return "".join(part if code else _BREAK.sub("", part) for code, part in _parts(page))


def tabbed(page: str) -> str:
    """Return a page with tabs for the titled blocks between the comments `tabs` and `/tabs`."""

    def tabs(match: re.Match[str]) -> str:
        found = _TAB.findall(match[1])
        return "\n".join(f'=== "{title}"\n\n{_indented(block)}' for title, block in found) + "\n"

    return _TABS.sub(tabs, page)


def _parts(page: str) -> Iterator[tuple[bool, str]]:
    """Return the page in parts, each with whether it is code."""
    position = 0
    for match in _CODE.finditer(page):
        yield False, page[position : match.start()]
        yield True, match[0]
        position = match.end()
    yield False, page[position:]


def _indented(block: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in block.splitlines(True))


def _tracked(folder: PurePosixPath) -> set[str]:
    """Return the files below a folder that belong to the repository."""
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(words, cwd=ROOT / folder, capture_output=True, text=True, check=True)
    return {os.fspath(name) for name in done.stdout.split("\0") if name}


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
