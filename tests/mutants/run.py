"""The mutation score from the command line: `make mutants`, with flags in `MUTANTS="..."`.

Plants every bug of the catalogue in the emitted files of each framework, lets the quick check look
at them, and writes which level caught which. What was tried stays in tests/mutants/results: an
interrupted score goes on where it stopped, as long as neither the scripts nor the checks change.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crosscast_parity.planning.options import make_options
from mutants.bugs import bugs_of
from mutants.emitted import compile_to
from mutants.journal import RESULTS, Journal
from mutants.score import page, survivors, to_json, unexpected
from mutants.trials import CLEAN, REFERENCE, Laboratory, Trial

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "mutation-score.md"
WANTED = 0.99


def main(argv: Sequence[str] | None = None) -> int:
    """Try the bugs; return 1 if too many survive or a clean script is accused."""
    options = _arguments(argv)
    found: dict[str, list[Trial]] = {}
    for framework in options.frameworks:
        found[framework] = _score(framework, options)
    (options.output / "mutation-score.json").write_text(json.dumps(to_json(found), indent=1) + "\n")
    planted = {name: len(bugs_of(name)) for name in found}
    text = page(found, planted, by_parts=options.by_parts)
    (options.output / "mutation-score.md").write_text(text)
    if options.docs:
        _page_of(options.frameworks).write_text(text, encoding="utf-8")
    print(text)
    return max(_judged(name, trials) for name, trials in found.items())


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    add = parser.add_argument
    add("--frameworks", type=_frameworks, default=FRAMEWORKS, metavar="F,...")
    add("--only", type=lambda text: text.split(","), default=[], metavar="BUG,...")
    add("--seeds", type=int, default=0, help="paired seeds of PyTorch, for t-test and L3; slow")
    add("--by-parts", action="store_true", help="a bug ends at the first part that sees it")
    add("--jobs", type=int, default=2, help="parallel processes")
    add("--output", type=Path, default=Path("build/mutants"))
    add("--keep", action="store_true", help="keep the recordings of all runs (gigabytes)")
    add("--no-trials", action="store_true", help="a page of what was tried before")
    add("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}, or that of some")
    return parser.parse_args(argv)


def _page_of(frameworks: tuple[str, ...]) -> Path:
    """Return the page of all frameworks, or one that has the names of some."""
    if frameworks == FRAMEWORKS:
        return PAGE
    return PAGE.with_stem("-".join([PAGE.stem, *frameworks]))


def _frameworks(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not set(names) <= set(FRAMEWORKS):
        raise argparse.ArgumentTypeError(f"not among {', '.join(FRAMEWORKS)}")
    return names


def _score(framework: str, arguments: argparse.Namespace) -> list[Trial]:
    """Try the bugs of one framework that have not been tried before."""
    bugs = [bug for bug in bugs_of(framework) if not arguments.only or bug.name in arguments.only]
    folder = arguments.output / framework
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(RESULTS / f"{framework}.json", [framework])
    options = make_options(folder / "work", jobs=arguments.jobs)
    seeds = arguments.seeds if framework == REFERENCE else 0
    laboratory = Laboratory(
        framework, options, compile_to, seeds=seeds, by_parts=arguments.by_parts
    )
    clean = laboratory.clean()
    _tell(framework, clean)
    partly = {"by_parts": True} if arguments.by_parts else {}
    about = {bug.name: {"bug": repr(bug), "seeds": seeds, **partly} for bug in bugs}
    missing = [bug for bug in bugs if journal.find(about[bug.name]) is None]
    if arguments.no_trials:
        missing = []
    for trial in laboratory.trials(missing, keep=arguments.keep):
        journal.add(about[trial.name], asdict(trial))
        _tell(framework, trial)
    known = (journal.find(key) for key in about.values())
    return [clean, *(_trial(plain) for plain in known if plain)]


def _trial(plain: dict[str, Any]) -> Trial:
    """Return a trial as it was before it became JSON, which knows no tuples."""
    known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()}
    return Trial(**known)


def _tell(framework: str, trial: Trial) -> None:
    seen = ", ".join(trial.levels) or f"nothing ({trial.verdict})"
    print(f"{framework:10} {trial.name:24} {seen}", file=sys.stderr, flush=True)


def _judged(framework: str, trials: Sequence[Trial]) -> int:
    """Say what is wrong with a score; return the exit code."""
    bugs = [trial for trial in trials if trial.name != CLEAN]
    accused = [trial for trial in trials if trial.name == CLEAN and trial.levels]
    lost = survivors(trials)
    for trial in accused:
        print(f"{framework}: FALSE ALARM: {trial.first}", file=sys.stderr)
    for trial in unexpected(trials):
        seen = ", ".join(trial.levels)
        print(f"{framework}: {trial.name}: not all expected levels, only {seen}", file=sys.stderr)
    return int(bool(accused) or len(lost) > (1 - WANTED) * len(bugs))


if __name__ == "__main__":
    sys.exit(main())
