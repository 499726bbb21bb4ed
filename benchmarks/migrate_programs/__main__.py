"""Migrate public programs in place, run them with made-up data, and count what works.

    python benchmarks/migrate_programs FILES [--era ERA] [--half HALF] [--run] [--docs]
    python benchmarks/migrate_programs FILES --get REPOSITORIES

The tables beside this file name the programs: repository, commit, files with their digests, a
command, and a judgement by reading: `before` (before the migrations of whole files) and `after`.
Programs of the halves "unseen", "unseen2" and "unseen3" were looked up when the migrations were
there: instead of `before` they have `first`, what came of them at first sight, before anything was
corrected for them; those of each after the corrections for the one before. `labels/` has what must
change in those of "unseen3", as written down before their first sight.
FILES holds ERA/ID/PATH; `--get` writes it from git directories REPOSITORIES/OWNER+NAME. What the
programs need besides (rows, modules that cannot be installed) is made up in `stand_ins/`.

The exit code is 1 if an output does not parse, a second migration changes something, a run fails
that is said to be right, or crosscast itself fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from programs import FRAMEWORKS, HERE, get, programs_of
from trial import Trial, tried

from crosscast.messages.text_tables import layout

PAGE = HERE.parents[1] / "docs" / "measurements" / "migrated-programs.md"
HALVES = {"development": "d", "aside": "a", "unseen": "u", "unseen2": "v", "unseen3": "w"}
"""Half to its letter in the table."""
UNSEEN = ("unseen", "unseen2", "unseen3")
WORKS = ("to its end", "20 updates")


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path)
    parser.add_argument("--era", action="append", choices=list(FRAMEWORKS), default=[])
    parser.add_argument("--half", choices=HALVES, default="")
    parser.add_argument("--only", default="", help="a part of the identifiers")
    parser.add_argument("--run", action="store_true", help="run what is written")
    parser.add_argument("--seconds", type=float, default=300.0, help="of one run")
    parser.add_argument("--show", action="store_true", help="every refusal")
    parser.add_argument("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    parser.add_argument("--get", type=Path, help="git directories to take the files from")
    args = parser.parse_args()
    programs = programs_of(args.files, args.era, args.half, args.only)
    if args.get:
        for program in programs:
            get(program, args.get)
    if absent := [path for program in programs for path in program.missing()]:
        parser.error(f"missing or changed: {', '.join(absent)}")
    trials = []
    for program in programs:
        trial = tried(program, run=args.run, seconds=args.seconds)
        print(f"{program.era}/{program.name}: {trial.outcome}; {trial.ran}", file=sys.stderr)
        if args.show:
            print(*trial.problems, *trial.refusals, sep="\n")
        trials.append(trial)
    table = layout(
        ("program", "outcome", "changed", "left", "run", "before", "after"), rows(trials)
    )
    print(*table.head, *table.rows, sep="\n")
    if args.docs:
        PAGE.write_text(page(trials))
    sys.exit(any(failed(trial) for trial in trials))


def rows(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """Return one row for each program."""
    return [
        (
            trial.program.name,
            trial.outcome,
            str(trial.changes),
            str(len(trial.refusals)),
            trial.ran[:60],
            trial.program.entry.get("before", trial.program.entry.get("first", "")),
            trial.program.entry["after"],
        )
        for trial in trials
    ]


def failed(trial: Trial) -> bool:
    """Whether the result contradicts the table, or is broken."""
    entry = trial.program.entry
    should_run = entry["after"] == "right" and not entry.get("needs")
    return trial.outcome == "broken" or bool(trial.ran and should_run and trial.ran not in WORKS)


def page(trials: Sequence[Trial]) -> str:
    """Return the page."""
    unseen = {
        half: mine
        for half in UNSEEN
        if (mine := [trial for trial in trials if trial.program.entry["half"] == half])
    }
    known = [trial for trial in trials if trial.program.entry["half"] not in UNSEEN]
    parts = [
        f"""\
# Public programs, migrated in place

<!-- Written by `python benchmarks/migrate_programs FILES --run --docs`; do not edit. -->

{len(trials)} public training programs, each migrated in place by one command. *Right*: all that the
command reaches was converted and means what it meant, as judged by reading it; where what it needs
could be made up, it also ran on a CPU with made-up data, up to 20 updates. *Partly*: some of it was
converted, the rest was refused by name. *Wrong*: something changed its meaning, or has to change
and was not named.

{len(known)} of them were used while the migrations were written: half of each era to develop them
("d"), half put aside, looked at last, and corrected then by general rules ("a").

| era | programs | right before | right | of these ran | partly | refused or nothing |
|---|---:|---:|---:|---:|---:|---:|
"""
    ]
    for era, mine in _by_era(known):
        entries = [trial.program.entry for trial in mine]
        after = Counter(entry["after"] for entry in entries)
        before = sum(entry["before"] == "right" for entry in entries)
        ran = sum(trial.ran in WORKS for trial in mine)
        other = len(entries) - after["right"] - after["partly"]
        parts.append(
            f"| {era} | {len(entries)} | {before} | {after['right']} | {ran} "
            f"| {after['partly']} | {other} |\n"
        )
    parts += [_at_first_sight(half, mine) for half, mine in unseen.items()]
    for era, mine in _by_era(trials):
        parts.append(f"\n## {era}, to {mine[0].program.to}\n\n")
        parts.append("| | program | half | before | now | changed, left | run | why |\n")
        parts.append("|---|---|---|---|---|---|---|---|\n")
        parts += [_row(trial) for trial in mine]
    return "".join(parts)


def _by_era(trials: Sequence[Trial]) -> Iterator[tuple[str, list[Trial]]]:
    for era in FRAMEWORKS:
        mine = [trial for trial in trials if trial.program.era == era]
        if mine:
            yield era, mine


_LOOKED_UP = {
    "unseen": 'others ("u") were looked up afterwards and judged by reading what the migrations\n'
    "made of them *at first sight*.",
    "unseen2": 'more ("v") were looked up when those were corrected, and judged in the same way.',
    "unseen3": 'more ("w") were looked up later. What must change in them was written down before\n'
    "the migrations saw them, and they were judged by that.",
}


def _at_first_sight(half: str, trials: Sequence[Trial]) -> str:
    """Return the results of unseen programs at first sight, and now."""
    lines = [
        f"""
{len(trials)} {_LOOKED_UP[half]}
Then the general causes of what was wrong were corrected; "before" below is their result at first
sight. They were not run.

| era | programs | right at first | partly | refused or nothing | wrong | right now | wrong now |
|---|---:|---:|---:|---:|---:|---:|---:|
"""
    ]
    for era, mine in _by_era(trials):
        first, after = (
            Counter(trial.program.entry[key] for trial in mine) for key in ("first", "after")
        )
        other = first["refused"] + first["nothing"]
        lines.append(
            f"| {era} | {len(mine)} | {first['right']} | {first['partly']} | {other} "
            f"| {first['wrong']} | {after['right']} | {after['wrong']} |\n"
        )
    return "".join(lines)


def _row(trial: Trial) -> str:
    entry = trial.program.entry
    at = f"[{entry['repo']}](https://github.com/{entry['repo']}/tree/{entry['commit']})"
    ran = (trial.ran or "not run").replace("|", "/")
    why = str(entry.get("why", "")).replace("|", "/")
    before = entry.get("before", entry.get("first", ""))
    return (
        f"| {entry['id']} | {at} | {HALVES[entry['half']]} | {before} | {entry['after']} "
        f"| {trial.changes}, {len(trial.refusals)} | {ran[:80]} | {why} |\n"
    )


if __name__ == "__main__":
    main()
