"""Score `lift` and `lint` on a folder of labelled files.

    python benchmarks/lift_corpus LABELS.json FILES [--show] [--only ID,...] [--run A|B]

FILES holds OWNER+NAME@COMMIT8/PATH. The folder `labels` beside this file labels public files;
those named `aside_*`, if there are any, judge the next result, and whoever changes readers or rules
must not look at them. A set that has judged once gets a number and is material of the next round.
Run A reads every file alone, run B with its companions.
Present: a feature is there at all. Value: the word or number is the labelled one, where both say
that the feature is there; precision counts what was said, recall what could be said. Over-claims:
something concrete where the labels say that the file does not show it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from corpus import Entry, load
from defects import Defects, Found, score_defects
from predicted import Prediction, own_view
from recipes import VERDICTS, recipe_verdicts
from score import Totals, presence_rows, ratio, score

from crosscast.messages.text_tables import layout


def read(entry: Entry, *, companions: bool) -> Prediction:
    """Lift and lint one entry; what the product raises is a crash."""
    from crosscast_reading.lift.analysis import analyse, together
    from crosscast_reading.lint.engine import lint_sources

    try:
        sources = together(entry.sources(companions=companions))
        analysis = analyse(sources)
        results = lint_sources(sources)
    except Exception as error:
        return Prediction({}, entry.path, crashed=f"{type(error).__name__}: {error}")
    failed = [d.message for d in (*analysis.diagnostics, *results) if d.code == "CC950"]
    settled = own_view(analysis.subject.profile, entry.path)
    prediction = Prediction(settled, entry.path, crashed="; ".join(dict.fromkeys(failed)))
    prediction.findings = [
        Found(
            r.code,
            str(r.severity),
            r.file,
            r.span.line,
            r.message,
            tuple((place.file, place.line) for place in r.related),
        )
        for r in results
        if r.is_finding and r.span is not None
    ]
    prediction.findings += [
        Found("SYNTAX_ERROR", "error", d.span.file, d.span.line, d.message)
        for d in analysis.subject.unread
        if d.span is not None and d.severity == "error"
    ]
    return prediction


def run(entries: list[Entry], *, companions: bool, jobs: int, show: str) -> dict[str, Any]:
    """Score all entries once and print the tables."""
    started = time.perf_counter()
    work = partial(read, companions=companions)
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            predictions = list(pool.map(work, entries, chunksize=4))
    else:
        predictions = [work(entry) for entry in entries]
    seconds = time.perf_counter() - started
    totals, defects = Totals(), Defects()
    for entry, answer in zip(entries, predictions, strict=True):
        score(entry, answer, totals, alone=not companions)
        score_defects(entry, answer, defects)
    title = "B (with companions)" if companions else "A (the file alone)"
    print(f"\n== run {title}: {len(entries)} files in {seconds:.1f} s")
    result = _print(entries, predictions, totals, defects)
    _recipes([e for e in entries if "recipe" in e.data], companions=companions, show=show)
    if show:
        _show(totals, defects, show)
    return result


def _print(
    entries: list[Entry], predictions: list[Prediction], totals: Totals, defects: Defects
) -> dict[str, Any]:
    crashes = [(e.id, p.crashed) for e, p in zip(entries, predictions, strict=True) if p.crashed]
    for identity, reason in crashes:
        print(f"crash {identity}: {reason}")
    rows = list(presence_rows(totals))
    _table(
        ("present", "tp", "fp", "fn", "precision", "recall", "F1"),
        [
            (n, str(a), str(b), str(c), f"{p:.3f}", f"{r:.3f}", f"{f:.3f}")
            for n, a, b, c, p, r, f in rows
        ],
    )
    names = list(dict.fromkeys(name for name, _ in totals.values))
    total: Counter[str] = Counter()
    table = []
    for name in names:
        counts = {k: totals.values[name, k] for k in ("decidable", "said", "right")}
        if not name.endswith("present"):
            total.update(counts)
        table.append(_value_row(name, counts))
    table.append(_value_row("all values", dict(total)))
    _table(("value", "decidable", "said", "right", "precision", "recall"), table)
    tp, fp, fn = (totals.optimizers[k] for k in ("tp", "fp", "fn"))
    print(f"\noptimizers: precision {ratio(tp, tp + fp):.3f}, recall {ratio(tp, tp + fn):.3f}")
    evidence = []
    for section in dict.fromkeys(s for s, _ in totals.evidence):
        near, far = (totals.evidence[section, kind] for kind in ("right", "wrong"))
        evidence.append(f"{section} {near}/{near + far}")
    print("lines near a labelled one:", ", ".join(evidence))
    hundred = 100 / max(1, len(entries))
    print(f"over-claims: {totals.overclaims} ({totals.overclaims * hundred:.1f} per 100 files)")
    counts = defects.counts
    for severity in ("error", "warn"):
        found, all_ = counts[f"{severity} found"], counts[f"{severity} total"]
        print(f"defects, {severity}: {found} of {all_} found ({ratio(found, all_):.3f})")
    both_found = counts["error found"] + counts["warn found"]
    both = counts["error total"] + counts["warn total"]
    print(f"defects, error or warn: {both_found} of {both} found ({ratio(both_found, both):.3f})")
    alarms = counts["false alarms"]
    print(
        f"false alarms: {alarms} ({alarms * hundred:.1f} per 100 files), {defects.clean_alarms} in"
        f" {defects.clean_files} clean files; to be judged by a person: {counts['to be judged']}"
    )
    wrong = totals.wrong_negatives | {
        e.id
        for e in entries
        if e.id in defects.alarmed
        and (e.data["category"] == "negative" or e.data["difficulty"] == "hard_negative")
    }
    negatives = sum(
        e.data["category"] == "negative" or e.data["difficulty"] == "hard_negative" for e in entries
    )
    print(f"negatives with anything wrong: {len(wrong)} of {negatives} {sorted(wrong)}")
    parsed = ratio(len(entries) - len(crashes), len(entries))
    print(f"parsed: {parsed:.3f}")
    macro = _macro(totals)
    print(f"macro over categories: presence F1 {macro[0]:.3f}, values right {macro[1]:.3f}")
    headline = {row[0]: row[6] for row in rows}
    return {
        "presence_f1": headline["all"],
        "overclaims_per_100": totals.overclaims * hundred,
        "precision": ratio(total["right"], total["said"]),
        "recall": ratio(total["right"], total["decidable"]),
        "defect_recall": ratio(both_found, both),
        "false_alarms": alarms,
        "clean_files": defects.clean_files,
        "clean_alarms": defects.clean_alarms,
        "parsed": parsed,
        "macro_f1": macro[0],
        "macro_right": macro[1],
    }


def _recipes(entries: list[Entry], *, companions: bool, show: str) -> None:
    """Print how many fields of the recipes are right, left open, and wrong in silence."""
    counts: Counter[str] = Counter()
    for entry in entries:
        for path, verdict, said, true in recipe_verdicts(entry, companions=companions):
            counts[verdict] += 1
            if verdict in ("wrong", "unjudged") and show in ("all", entry.id):
                print(f"{entry.id:9} recipe {verdict}: {path} is {said}, true {true}")
    if entries:
        print("fields of recipes:", ", ".join(f"{counts[each]} {each}" for each in VERDICTS))


def _value_row(name: str, counts: dict[str, int]) -> tuple[str, ...]:
    precision = ratio(counts.get("right", 0), counts.get("said", 0))
    recall = ratio(counts.get("right", 0), counts.get("decidable", 0))
    shown = [str(counts.get(k, 0)) for k in ("decidable", "said", "right")]
    return (name, *shown, f"{precision:.3f}", f"{recall:.3f}")


def _macro(totals: Totals) -> tuple[float, float]:
    f1, right = [], []
    for counts in totals.by_category.values():
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        f1.append(ratio(2 * tp, 2 * tp + fp + fn))
        right.append(ratio(counts["right"], counts["decidable"]))
    return sum(f1) / max(1, len(f1)), sum(right) / max(1, len(right))


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = layout(columns, rows)
    print()
    print(*table.head, *table.rows, sep="\n")


def _show(totals: Totals, defects: Defects, wanted: str) -> None:
    print()
    for identity, what, ours, label, lines in sorted(totals.shown):
        if wanted in ("all", identity) or wanted in what:
            print(f"{identity:9} {what:34} ours {ours} | label {label} | lines {lines}")
    for identity, kind, text in sorted(defects.shown):
        if wanted in ("all", identity) or wanted in kind:
            print(f"{identity:9} {kind}: {text}")


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("files", type=Path)
    parser.add_argument("--run", choices=("A", "B", "AB"), default="AB")
    parser.add_argument(
        "--show",
        nargs="?",
        const="all",
        default="",
        help="disagreements: all, of an id, of a field",
    )
    parser.add_argument("--only", default="", help="ids, separated by commas")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="the headline as JSON, last")
    args = parser.parse_args()
    entries = load(args.labels, args.files)
    if args.only:
        entries = [e for e in entries if e.id in args.only.split(",")]
    results = {
        name: run(entries, companions=name == "B", jobs=args.jobs, show=args.show)
        for name in args.run
    }
    if args.json:
        json.dump(results, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
