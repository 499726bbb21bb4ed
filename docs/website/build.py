"""Build the documentation site: `python -m website.build [FOLDER]` in docs/, by default build/site.

The site of each language is built in strict mode into FOLDER/LANGUAGE/VERSION. Sites of other
versions that are already there stay and are offered in the selector of versions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosscast import __version__
from website.staging import LANGUAGES, ROOT, stage

HERE = Path(__file__).parent
NAMES = {"en": "English", "zh": "简体中文"}
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_REDIRECT = """\
<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<title>crosscast</title>
<link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url={target}">
<a href="{target}">{name}</a>
</html>
"""


class BuildError(Exception):
    """The generator refused a page; the message is what it printed."""


def build(output: Path) -> None:
    """Build the sites of all languages.

    Raises:
        BuildError: A page has a warning, such as a link that leads nowhere.
        MissingFileError: A page links to a file that is not there.
    """
    version = ".".join(__version__.split(".")[:2])
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as folder:
            made = _generated(language, Path(folder), version)
            target = output / language / version
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made, target)
        _list_versions(output / language)
        _redirect(output / language, version, language)
    _redirect(output, "en", "en")
    _join(output, version)


def _generated(language: str, folder: Path, version: str) -> Path:
    """Return the site of a language, built below a folder."""
    stage(language, folder / "docs", version)
    parts = [(HERE / f"{name}.toml").read_text(encoding="utf-8") for name in (language, "common")]
    for other, name in NAMES.items():
        link = "./index.html" if other == language else f"../../{other}/{version}/index.html"
        parts.append(_ALTERNATE.format(name=name, link=link, language=other))
    config = folder / "zensical.toml"
    config.write_text("\n".join(parts), encoding="utf-8")
    words = (sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(config))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(_COLOR.sub("", done.stdout + done.stderr).partition("Traceback")[0])
    return folder / "site"


def _join(output: Path, version: str) -> None:
    """Let the choice of the language lead to the same page where the other site has it.

    The generator knows one site only, so that its links lead to the start page of the other. What
    it says in the head of a page stays: scripts look for the map of each site beside it.
    """
    for page in (path for name in LANGUAGES for path in (output / name / version).rglob("*.html")):
        place = page.relative_to(output).parts[2:]
        text = page.read_text(encoding="utf-8")
        for language in LANGUAGES:
            other = output.joinpath(language, version, *place)
            if other.is_file() and page.name != "404.html":
                link = f'<a href="{Path(os.path.relpath(other, page.parent)).as_posix()}"'
                text = re.sub(rf'<a href="[^"]*"(?= hreflang="{language}")', link, text)
        page.write_text(text, encoding="utf-8")


_ALTERNATE = """\
[[project.extra.alternate]]
name = "{name}"
link = "{link}"
lang = "{language}"
"""


def _list_versions(folder: Path) -> None:
    """Write the list that the selector of versions reads."""
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    newest = sorted(names, key=lambda name: [*map(int, name.split("."))], reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in newest]
    (folder / "versions.json").write_text(json.dumps(listed), encoding="utf-8")


def _redirect(folder: Path, target: str, language: str) -> None:
    page = _REDIRECT.format(language=language, target=f"{target}/index.html", name="crosscast")
    (folder / "index.html").write_text(page, encoding="utf-8")


def main(words: Sequence[str]) -> int:
    """Build the site; return the exit code."""
    output = Path(words[0]) if words else ROOT / "build" / "site"
    try:
        build(output)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"built {output}: open {output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
