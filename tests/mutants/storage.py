"""The bugs of storage from the command line: which checks of the first windows see them.

    PYTHONPATH=tests python -m mutants.storage --frameworks torch --dtypes float16,bfloat16

Each is planted in the scripts of a recipe that stores half (`storage.yaml`). What is looked at are
the short recorded runs, the gate and the evaluation of the quick check: whatever they see, the
quick check sees. `--depth start` leaves out the last two, `--depth quick` makes all of its runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import Pair
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options, make_options
from crosscast_parity.planning.runs import Part, Stage
from crosscast_parity.recipes.derived import with_dtype
from crosscast_parity.self_test.mutation import Mutation
from mutants.emitted import compile_to
from mutants.run import FRAMEWORKS
from mutants.storage_catalogue import stored
from mutants.storage_page import merge
from mutants.trials import AT_ONCE, CLEAN, REFERENCE, Plant, quick_stages

RECIPE = Path(__file__).with_name("storage.yaml")
DTYPES = ("float16", "bfloat16")
Depth = Literal["start", "gate", "quick"]
PARTS: Mapping[Depth, frozenset[Part]] = {
    "start": frozenset({"start"}),
    "gate": frozenset({"start", "gate"}),
}
"""What is made of the quick check's first stage; `quick` makes all of its stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What saw a bug: the failed checks of a pair, as `level name: words`; its verdict."""

    framework: str
    dtype: str
    name: str
    verdict: str
    failed: tuple[str, ...]


def bugs_of(framework: str) -> Sequence[Mutation]:
    """Return the bugs of storage as a framework spells them."""
    module = import_module(f"mutants.{framework}_storage")
    return stored(module.MARK, module.STORAGE)


def recipe_in(dtype: str) -> Recipe:
    """Return the recipe in a half type."""
    return with_dtype(load(str(RECIPE)), dtype)


def stages_of(recipe: Recipe, depth: Depth) -> list[Stage]:
    """Return the stages of the quick check, or the first without its long runs."""
    if depth == "quick":
        return quick_stages(recipe, twins=0)
    stage = quick_stages(recipe, twins=0)[0]
    return [replace(stage, parts=PARTS[depth], recorded=2 if depth == "start" else stage.recorded)]


def sights(
    framework: str, dtype: str, bugs: Sequence[Mutation], options: Options, depth: Depth
) -> Iterator[Sight]:
    """Try bugs, a few at a time; the clean script comes first.

    Raises:
        RuntimeError: a bug was planted in no script.
    """
    recipe = recipe_in(dtype)
    program = partial(Contestant, recipe=recipe)
    for start in range(0, max(1, len(bugs)), AT_ONCE):
        plants = [Plant(bug) for bug in bugs[start : start + AT_ONCE]]
        report = compare(
            [
                program(name=REFERENCE, target=REFERENCE),
                program(name=CLEAN, target=framework),
                *(
                    program(name=plant.bug.name, target=framework, edits=(plant,))
                    for plant in plants
                ),
            ],
            options=replace(options, stress=True, reference=REFERENCE),
            compile_to=compile_to,
            stages=stages_of(recipe, depth),
        )
        if report.interrupted:
            raise KeyboardInterrupt
        for plant in plants:
            if not plant.planted:
                raise RuntimeError(f"{framework}: {plant.bug.name} is in no script")
        pairs = {pair.contestant: pair for pair in report.pairs}
        names = [CLEAN] * (start == 0) + [plant.bug.name for plant in plants]
        yield from (_sight(framework, dtype, pairs[name]) for name in names)


def _sight(framework: str, dtype: str, pair: Pair) -> Sight:
    failed = (check for check in pair.checks if check.result in ("fail", "unclear"))
    words = (f"{c.level} {c.name} ({c.run}, {c.result}): {c.wording}" for c in failed)
    return Sight(
        framework=framework,
        dtype=dtype,
        name=pair.contestant,
        verdict=pair.verdict,
        failed=tuple(words),
    )


def row_of(sight: Sight, depth: Depth) -> dict[str, str]:
    """Return what the page says of a bug: the level of the first check that saw it, if any."""
    level = sight.failed[0].partition(" ")[0] if sight.failed else ""
    row = {"framework": sight.framework, "dtype": sight.dtype, "name": sight.name}
    return {**row, "level": level, "depth": depth}


def main(argv: Sequence[str] | None = None) -> int:
    """Try the bugs; return 1 if a clean script is accused."""
    options = _arguments(argv)
    if options.page:
        merge([])
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    accused = False
    for framework in options.frameworks:
        for dtype in options.dtypes:
            folder = options.output / f"{framework}-{dtype}"
            folder.mkdir(exist_ok=True)
            bugs = [bug for bug in bugs_of(framework) if bug.name in (options.only or {bug.name})]
            if dtype == "bfloat16":
                bugs = [bug for bug in bugs if bug.needs != "INIT_SCALE = "]
            setup = make_options(folder, jobs=options.jobs)
            tried = sights(framework, dtype, bugs, setup, options.depth)
            with (options.output / "storage.jsonl").open("a", encoding="utf-8") as journal:
                for sight in tried:
                    if options.docs:
                        merge([row_of(sight, options.depth)])
                    journal.write(json.dumps(asdict(sight)) + "\n")
                    journal.flush()
                    accused |= sight.name == CLEAN and bool(sight.failed)
                    first = sight.failed[0] if sight.failed else "nothing"
                    about = f"{framework:10} {dtype:8} {sight.name:24} {sight.verdict}"
                    print(f"{about} {len(sight.failed)} {first}", file=sys.stderr, flush=True)
    return int(accused)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants.storage", description=__doc__)
    add = parser.add_argument
    add("--frameworks", type=lambda text: text.split(","), default=FRAMEWORKS, metavar="F,...")
    add("--dtypes", type=lambda text: text.split(","), default=DTYPES, metavar="TYPE,...")
    add("--only", type=lambda text: text.split(","), default=[], metavar="BUG,...")
    add("--jobs", type=int, default=1, help="parallel processes")
    add("--depth", choices=("start", "gate", "quick"), default="gate", help="how much is run")
    add("--docs", action="store_true", help="write docs/measurements/storage-bugs.{json,md}")
    add("--page", action="store_true", help="write that page again; try nothing")
    add("--output", type=Path, default=Path("build/storage"))
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
