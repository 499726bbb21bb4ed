"""What a stranger looks for beside the code says what is true."""

from __future__ import annotations

import re
import tomllib

from ruamel.yaml import YAML

from crosscast import __version__
from source_trees import ROOT


def test_the_citation_is_of_this_version() -> None:
    cited = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == __version__ == project["version"]
    assert cited["license"] == project["license"]
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in project["authors"]
    ]
    assert re.search(rf"^## {re.escape(__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_what_contributors_are_told_to_run_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M)
    assert named
    assert set(named) <= set(targets)
    links = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(
        r"\]\(([^)#]+)\)", (ROOT / "SECURITY.md").read_text()
    )
    assert links
    assert all((ROOT / link).exists() for link in links)


def test_commands_that_run_programs_are_named() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert {"lift --run", "migrate --run", "plan --trace"} <= set(re.findall(r"`([^`]+)`", text))
