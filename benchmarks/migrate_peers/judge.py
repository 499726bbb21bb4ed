"""Judge a migrated input: whether it parses, runs and trains the same, and which facts are lost."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path

from cases import ROUNDED, Case
from means import HERE, Means, ToolResult, call, crosscast

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


def source_curve(case: Case, folder: Path, means: Means) -> list[float] | str:
    """Return the losses of the source where it still runs, or why there are none."""
    needed = "tensorflow-2.5" if case.framework == "tensorflow" else "here"
    if needed not in means.interpreters:
        return f"{needed}: not installed"
    flags = ["--v1"] if case.runs_in.endswith("v1") else []
    stand_in = {"PYTHONPATH": str(HERE / "stand_in")} if "apex" in case.runs_in else {}
    command = [means[needed], str(HERE / "run_script.py"), *flags, str(case.path)]
    done = call(command, folder, means.limit, **stand_in)
    return _printed(done.stdout) if not done.returncode else _error(done.stderr)


def judge(
    case: Case, made: ToolResult, curve: list[float] | str, folder: Path, means: Means
) -> dict[str, object]:
    """Return the row of a tool and an input."""
    if made.script is None:
        answer = "refused" if made.refused else "failed"
        return {"answer": answer, "why": made.refused or made.failed, "said": list(made.said)}
    text = made.script.read_text(encoding="utf-8")
    row: dict[str, object] = {
        "answer": "changed" if made.changed else "unchanged",
        "said": list(made.said),
        "comments": None if made.trace else _comments_kept(case, text),
        "parses": _parses(text),
    }
    if not row["parses"]:
        return row
    bound = ROUNDED if made.float32 else case.bound
    row |= _ran(case, made, curve, bound, folder, means)
    if made.float32 and row["runs"]:
        row |= _with_float32(row, _ran(case, made.float32, curve, case.bound, folder, means))
    row |= facts(case, made) if made.changed else {"facts": len(case.facts), "told": [], "lost": []}
    if case.beyond and not row.get("same", True):
        what, words = case.beyond
        to = "told" if any(words in line for line in made.said) else "lost"
        row[to] = [*row.get(to, []), what]  # type: ignore[misc]
    if case.half_when_run and not made.trace and row["runs"] and not row["half"]:
        row["lost"] = [*row.get("lost", []), "half precision when run"]  # type: ignore[misc]
    return row


def _ran(
    case: Case, made: ToolResult, curve: list[float] | str, bound: float, folder: Path, means: Means
) -> dict[str, object]:
    """Run an output; return whether it did, and how far it is from the source."""
    if made.script is None:
        return {"runs": False, "why": made.refused or made.failed}
    command = [means["here"], str(HERE / "run_script.py"), str(made.script), *made.arguments]
    done = call(command, folder, means.limit)
    if done.returncode:
        return {"runs": False, "why": _error(done.stderr)}
    if made.trace is None:
        losses = _printed(done.stdout)
    else:
        losses = _means(_traced(made.trace), case.windows_a_loss)
    return {"runs": True, "half": "half yes" in done.stdout} | compared(losses, curve, bound)


def _with_float32(half: Mapping[str, object], plain: Mapping[str, object]) -> dict[str, object]:
    """Return the combined result of both runs: within rounding in float16, equal in float32."""
    same = bool(half.get("same") and plain.get("same"))
    reason = {} if plain["runs"] else {"why": f"in float32: {plain['why']}"}
    return {"rounded": half.get("curve"), "curve": plain.get("curve"), "same": same} | reason


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


def facts(case: Case, made: ToolResult) -> dict[str, object]:
    """Compare the facts that `crosscast lift` reads from the output with those of the input."""
    assert made.script is not None
    recipe = _lifted(made.script)
    different = [name for name, value in case.facts.items() if _at(recipe, name) != value]
    if made.trace is None:  # a line that stayed is not lost because lift cannot read it
        read = _lifted(case.path)
        different = [path for path in different if _at(recipe, path) != _at(read, path)]
    messages = "\n".join(made.said).lower()
    told = [path for path in different if any(w in messages for w in WORDS[path.partition(".")[0]])]
    return {
        "facts": len(case.facts),
        "told": [_became(recipe, path) for path in different if path in told],
        "lost": [_became(recipe, path) for path in different if path not in told],
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
    lines = [line.split() for line in output.splitlines()]
    return [float(words[1]) for words in lines if len(words) == 2 and words[0] == "loss"]


def _traced(path: Path) -> list[float]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [math.nan if row["loss"] is None else row["loss"] for row in rows]


def _means(losses: Sequence[float], several: int) -> list[float]:
    """Return the means of so many losses each, as Keras shows them of an epoch."""
    starts = range(0, len(losses) - several + 1, several)
    return [sum(losses[i : i + several]) / several for i in starts]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def comments(text: str) -> list[str]:
    """Return the comments of a program."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _comments_kept(case: Case, text: str) -> list[int]:
    before = comments(case.text)
    return [sum(comment in text for comment in before), len(before)]


def _error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith(("WARNING", "W0", "I0", "E0"))]
    errors = [line for line in messages if line.partition(":")[0].endswith(("Error", "Exception"))]
    message = (errors or messages or ["no message"])[-1]
    return re.sub(r" ?\(/[^)]*\)?", "", message)[:240]  # files of this machine
