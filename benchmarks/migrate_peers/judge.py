"""What became of an input: does it parse, run, train the same, and what does it no longer say."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path

from cases import Case
from tools import HERE, Interpreters, Made, call, crosscast

LOSSES = 50
"""How many losses are compared."""

WORDS = {
    "precision": ("autocast", "precision", "half", "fp16", "float16", "amp.initialize"),
    "loss_scaling": ("scal",),
    "accumulation": ("accumul",),
    "clipping": ("clip",),
    "optimizer": ("optim", "sgd", "adam"),
}
"""A tool told of a field if a line of its warnings has one of these words."""


def source_curve(case: Case, folder: Path, given: Interpreters) -> list[float] | str:
    """Return the losses of the source where it still runs, or why there are none."""
    needed = "tensorflow-2.5" if case.framework == "tensorflow" else "here"
    if needed not in given:
        return f"{needed}: not installed"
    flags = ["--v1"] if case.runs_in.endswith("v1") else []
    stand_in = {"PYTHONPATH": str(HERE / "stand_in")} if "apex" in case.runs_in else {}
    command = [given[needed], str(HERE / "run_script.py"), *flags, str(case.path)]
    done = call(command, folder, **stand_in)
    return _printed(done.stdout) if not done.returncode else _error(done.stderr)


def judge(
    case: Case, made: Made, curve: list[float] | str, folder: Path, given: Interpreters
) -> dict[str, object]:
    """Return the row of a tool and an input."""
    if made.script is None:
        answer = "refused" if made.refused else "failed"
        return {"answer": answer, "why": made.refused or made.failed, "said": list(made.said)}
    text = made.script.read_text(encoding="utf-8")
    row: dict[str, object] = {
        "answer": "changed" if made.changed else "unchanged",
        "said": list(made.said),
        "comments": _comments_kept(case, text) if made.losses == "loss %" else None,
        "parses": _parses(text),
    }
    if not row["parses"]:
        return row
    command = [given["here"], str(HERE / "run_script.py"), str(made.script), *made.arguments]
    done = call(command, folder)
    row["runs"] = not done.returncode
    if done.returncode:
        row["why"] = _error(done.stderr)
    else:
        losses = _printed(done.stdout) if made.losses == "loss %" else _traced(Path(made.losses))
        row |= compared(losses, curve, case.bound)
    row |= facts(case, made) if made.changed else {"facts": len(case.facts), "told": [], "lost": []}
    if case.half_when_run and row["runs"] and "half yes" not in done.stdout:
        row["lost"] = [*row.get("lost", []), "half precision when run"]  # type: ignore[misc]
    return row


def compared(losses: Sequence[float], curve: list[float] | str, bound: float) -> dict[str, object]:
    """Return the largest relative deviation of the first losses, and whether it is none."""
    if isinstance(curve, str):
        return {"curve": None}
    pairs = list(zip(losses[:LOSSES], curve[:LOSSES], strict=False))
    if len(pairs) < min(LOSSES, len(curve)):
        return {"curve": None, "why": f"{len(pairs)} losses"}
    # Of the largest loss too, because a loss that has become small is all rounding.
    most = max(curve)
    worst = max(abs(a - b) / max(abs(b), 0.01 * most) for a, b in pairs)
    same = math.isfinite(worst) and worst <= bound
    return {"curve": worst if math.isfinite(worst) else None, "same": same}


def facts(case: Case, made: Made) -> dict[str, object]:
    """Compare what the output says, as `crosscast lift` reads it, with what was there."""
    assert made.script is not None
    recipe = _lifted(made.script)
    different = [name for name, value in case.facts.items() if _at(recipe, name) != value]
    if made.losses == "loss %":  # a line that stayed is not lost because lift cannot read it
        read = _lifted(case.path)
        different = [one for one in different if _at(recipe, one) != _at(read, one)]
    said = "\n".join(made.said).lower()
    told = [one for one in different if any(w in said for w in WORDS[one.partition(".")[0]])]
    return {
        "facts": len(case.facts),
        "told": [_became(recipe, one) for one in different if one in told],
        "lost": [_became(recipe, one) for one in different if one not in told],
    }


def _lifted(script: Path) -> Mapping[str, object]:
    done = crosscast(["lift", str(script), "--json"], script.parent)
    groups = json.loads(done.stdout).get("groups", []) if done.stdout.startswith("{") else []
    return (groups[0].get("recipe") or {}) if groups else {}


def _became(recipe: Mapping[str, object], name: str) -> str:
    return f"{name} -> {_at(recipe, name)}"


def _at(recipe: Mapping[str, object], name: str) -> object:
    value: object = recipe
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _printed(output: str) -> list[float]:
    lines = [one.split() for one in output.splitlines()]
    return [float(words[1]) for words in lines if len(words) == 2 and words[0] == "loss"]


def _traced(path: Path) -> list[float]:
    rows = [json.loads(one) for one in path.read_text(encoding="utf-8").splitlines()]
    return [math.nan if row["loss"] is None else row["loss"] for row in rows]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def comments(text: str) -> list[str]:
    """Return the comments of a program."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [one.string for one in tokens if one.type == tokenize.COMMENT]


def _comments_kept(case: Case, text: str) -> list[int]:
    before = comments(case.text)
    return [sum(one in text for one in before), len(before)]


def _error(stderr: str) -> str:
    lines = [one.strip() for one in stderr.splitlines() if one.strip()]
    told = [one for one in lines if not one.startswith(("WARNING", "W0", "I0", "E0"))]
    errors = [one for one in told if one.partition(":")[0].endswith(("Error", "Exception"))]
    message = (errors or told or ["no message"])[-1]
    return re.sub(r" ?\(/[^)]*\)?", "", message)[:240]  # files of this machine
