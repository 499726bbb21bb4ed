"""Bring every Python file of folders to the present API, in memory: nothing may break.

    python benchmarks/migrate_corpus.py FOLDER... [--show]

Each file goes through the codemods of all APIs, one after the other. A file that parsed must parse
afterwards, a second run must change nothing, no comment may be lost. Prints the counts, and exits
with 1 if anything broke.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import time
import tokenize
import warnings
from collections import Counter
from pathlib import Path

from crosscast.messages.source import Source
from crosscast_migrate.codemod import APIS
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_reading.sources.files import Text, read_text


class Looked:
    """What became of one file."""

    def __init__(self, source: Source) -> None:
        self.before = source.text
        self.after, self.changes, self.refusals, self.problems = _migrated(source)
        again = _migrated(Source(source.name, self.after)) if self.changes else None
        self.second = bool(again and again[0] != self.after)
        self.parsed, self.parses = _parses(self.before), _parses(self.after)

    def lost(self) -> Counter[str]:
        """Return the comments that are no longer there."""
        return _comments(self.before) - _comments(self.after) if self.changes else Counter()


def _migrated(source: Source) -> tuple[str, list[str], list[str], list[str]]:
    changes: list[str] = []
    refusals: list[str] = []
    problems: list[str] = []
    for api in APIS:
        found = migrate_in_place([source], codemods_to(api))
        source = Source(source.name, found.texts.get(source.name, source.text))
        changes += [change.code for change in found.changes]
        refusals += [
            f"{refusal.span} {refusal.code} {refusal.message}" for refusal in found.refusals
        ]
        problems += [f"{problem.code} {problem.message}" for problem in found.problems]
    return source.text, changes, refusals, problems


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def main() -> int:
    """Look, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--show", action="store_true", help="print every change and refusal")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    by_code: Counter[str] = Counter()
    start = time.process_time()
    for path in sorted(script for folder in options.folders for script in folder.rglob("*.py")):
        text = read_text(path, named=False)
        if not isinstance(text, Text):
            continue
        looked = Looked(text.source)
        lost = looked.lost()
        what = "changed" if looked.changes else "refused" if looked.refusals else "unchanged"
        counts[what] += 1
        counts["changed, something refused"] += bool(looked.changes and looked.refusals)
        counts["files"] += 1
        counts["parsed"] += looked.parsed
        counts["broken"] += looked.parsed and not looked.parses
        counts["second_run"] += looked.second
        counts["comments_lost"] += lost.total()
        counts["failures"] += len(looked.problems) if looked.parsed else 0
        by_code.update(looked.changes)
        bad = looked.second or lost or (looked.parsed and (looked.problems or not looked.parses))
        if bad:
            print(f"BAD {path}: {looked.problems} second={looked.second} lost={dict(lost)}")
        if options.show and (looked.changes or looked.refusals):
            print(f"{path}: {dict(Counter(looked.changes))} {looked.refusals}")
    seconds = time.process_time() - start
    share = 100 * (1 - counts["broken"] / max(1, counts["parsed"]))
    found = {key: counts[key] for key in ("files", "changed", "refused", "unchanged")}
    found |= {"outputs_parse": f"{share:.0f} %", "second_run": counts["second_run"]}
    found |= {key: counts[key] for key in ("comments_lost", "failures")}
    found |= {"files_a_second": round(counts["files"] / max(seconds, 1e-9))}
    print(json.dumps(found), dict(sorted(by_code.items())))
    print(counts["changed, something refused"], "changed and something of it refused")
    return 1 if counts["broken"] or counts["second_run"] or counts["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
