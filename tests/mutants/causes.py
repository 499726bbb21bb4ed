"""Whether the cause of a bug is named, from the command line: `make causes`.

Plants every bug of the catalogue that is another value of one recipe field, and looks at which
fields `--bisect` blames; then the bugs that act late, and looks at the cause that the toy gives.
Finished bugs stay in the output folder, as those of `make mutants` do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from crosscast_parity.checks.check import failures
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.judge.verdict import place
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options, make_options
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import toy_stages
from crosscast_parity.self_test.mutation import Mutation
from mutants.bugs import bugs_of
from mutants.catalogue import BUGS
from mutants.emitted import compile_to
from mutants.journal import Journal
from mutants.run import FRAMEWORKS
from mutants.shared_late import CAUSES
from mutants.spelling import written
from mutants.trials import AT_ONCE, REFERENCE, Plant, load_recipe, quick_stages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "bisection-score.md"
LATE: tuple[Level, ...] = ("L2", "L3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """A bug, its field, the fields that were blamed, and whether L2 sees it."""

    name: str
    field: str
    blamed: tuple[str, ...]
    late: bool
    wording: str

    @property
    def right(self) -> bool:
        """Whether exactly the planted field, or one number of it, was blamed."""
        return len(self.blamed) == 1 and self.blamed[0].partition("[")[0] == self.field


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A bug that acts late, and what the first check of the toy that fails says of its cause."""

    name: str
    check: str
    cause: str

    @property
    def right(self) -> bool:
        """Whether the cause is the one that is expected."""
        return self.cause.startswith(CAUSES[self.name])


def main(argv: Sequence[str] | None = None) -> int:
    """Try the bugs; return 1 if one that L2 sees, or a late one, is blamed on something else."""
    parser = argparse.ArgumentParser(prog="make causes", description=__doc__)
    add = parser.add_argument
    add("--framework", default="torch", choices=FRAMEWORKS)
    add("--only", type=lambda text: text.split(","), default=[], metavar="BUG,...")
    add("--jobs", type=int, default=2, help="parallel processes")
    add("--output", type=Path, default=Path("build/causes"))
    add("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    work = make_options(options.output / "work", jobs=options.jobs)
    found = list(_all(options.framework, options.only, options.output, work))
    late = list(_explained(options.framework, options.only, options.output, work))
    text = page(options.framework, found, late)
    if options.docs:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    wrong = [trial.late and not trial.right for trial in found]
    return int(any(wrong) or not all(bug.right for bug in late))


def _all(framework: str, only: Sequence[str], output: Path, options: Options) -> Iterator[Blamed]:
    """Yield the bugs of one field with what was blamed for them."""
    bugs = [
        trial
        for trial in bugs_of(framework)
        if BUGS[trial.name].field and (not only or trial.name in only)
    ]
    journal = Journal(output / f"{framework}.json", [framework])
    about = {bug.name: {"bug": repr(bug)} for bug in bugs}
    missing = [bug for bug in bugs if journal.find(about[bug.name]) is None]
    options = replace(options, bisect=True)
    for start in range(0, len(missing), AT_ONCE):
        for trial in _blamed(framework, missing[start : start + AT_ONCE], options):
            journal.add(about[trial.name], asdict(trial))
            _tell(trial)
    for key in about.values():
        known = journal.find(key)
        if known:
            yield _of_plain(known)


def _of_plain(plain: dict[str, Any]) -> Blamed:
    return Blamed(**{**plain, "blamed": tuple(plain["blamed"])})


def _explained(
    framework: str, only: Sequence[str], output: Path, options: Options
) -> Iterator[Explained]:
    """Yield the bugs that act late with what the toy says of them."""
    late = written(import_module(f"mutants.{framework}_late").LATE)
    bugs = [bug for bug in late if bug.name in CAUSES and (not only or bug.name in only)]
    journal = Journal(output / f"{framework}-late.json", [framework])
    about = {bug.name: {"bug": repr(bug)} for bug in bugs}
    missing = [bug for bug in bugs if journal.find(about[bug.name]) is None]
    for start in range(0, len(missing), AT_ONCE):
        planted = missing[start : start + AT_ONCE]
        report = _compare(framework, planted, options, toy_stages())
        for bug in planted:
            first = next(failures(report.entrant(bug.name).checks), None)
            check = place(first) if first else ""
            cause = first.wording.partition("; ")[2] if first else ""
            found = Explained(name=bug.name, check=check, cause=cause)
            journal.add(about[bug.name], asdict(found))
            words = f"{found.name}: {cause or 'not seen'} {'right' if found.right else 'WRONG'}"
            print(words, file=sys.stderr, flush=True)
    for key in about.values():
        known = journal.find(key)
        if known:
            yield Explained(**known)


def _blamed(framework: str, bugs: Sequence[Mutation], options: Options) -> Iterator[Blamed]:
    stages = quick_stages(load_recipe(), options.twins)
    report = _compare(framework, bugs, replace(options, stress=True), stages)
    for bug in bugs:
        yield _record(report, bug.name)


def _compare(
    framework: str, bugs: Sequence[Mutation], options: Options, stages: list[Stage]
) -> ParityReport:
    recipe = load_recipe()
    report = compare(
        [
            Contestant(name=REFERENCE, target="torch", recipe=recipe),
            *(
                Contestant(name=bug.name, target=framework, recipe=recipe, edits=(Plant(bug),))
                for bug in bugs
            ),
        ],
        options=replace(options, reference=REFERENCE),
        compile_to=compile_to,
        stages=stages,
    )
    if report.interrupted:
        raise KeyboardInterrupt
    return report


def _record(report: ParityReport, name: str) -> Blamed:
    pair = next(found for found in report.pairs if found.contestant == name)
    found = next(
        (bisection for bisection in report.bisections if bisection.contestant == name), None
    )
    return Blamed(
        name=name,
        field=BUGS[name].field,
        blamed=found.fields if found else (),
        late=any(check.level in LATE for check in failures(pair.checks)),
        wording=found.wording if found else f"{pair.verdict}: {pair.wording}",
    )


def page(framework: str, found: Sequence[Blamed], explained: Sequence[Explained]) -> str:
    """Return the page."""
    late = [trial for trial in found if trial.late]
    return "\n".join(
        [
            "# Bisection score",
            "",
            "<!-- Written by `make causes`; do not edit. -->",
            "",
            "Bugs of the [catalogue](mutation-score.md) that are another value of one recipe field,"
            f" planted in the script for {framework}, and the fields that `--bisect` blames.",
            "",
            f"- Seen by the trajectory (L2): {len(late)} bugs, the planted field named for"
            f" **{sum(trial.right for trial in late)}**.",
            f"- All: {len(found)} bugs, the planted field named for"
            f" {sum(trial.right for trial in found)}.",
            "",
            "| bug | planted | blamed | L2 sees it |",
            "|---|---|---|---|",
            *(
                f"| `{trial.name}` | `{trial.field}` | {_words(trial)} |"
                f" {'yes' if trial.late else 'no'} |"
                for trial in found
            ),
            "",
            "## Bugs that act late",
            "",
            "The cause that the toy gives to bugs that act only from some window on, or only once."
            f" As expected: **{sum(bug.right for bug in explained)}** of {len(explained)}.",
            "",
            "| bug | | first check that fails | cause |",
            "|---|---|---|---|",
            *(
                f"| `{bug.name}` | {BUGS[bug.name].title} | {bug.check} | {bug.cause} |"
                for bug in explained
            ),
            "",
        ]
    )


def _words(blamed: Blamed) -> str:
    return ", ".join(f"`{name}`" for name in blamed.blamed) or "nothing"


def _tell(blamed: Blamed) -> None:
    result = "right" if blamed.right else "WRONG"
    print(
        f"{blamed.name}: {blamed.field} -> {', '.join(blamed.blamed)} {result}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
