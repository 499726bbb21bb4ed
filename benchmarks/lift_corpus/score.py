"""Compare readings with labels, entry by entry, and keep every disagreement.

An over-claim is something concrete that is said of the labelled file itself. What is said of a
companion, with its place there, is no claim about the file: `elsewhere` means another file. It
must still be right wherever the labels know the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corpus import Entry, default_steps
from numbers_match import judge
from predicted import FEATURES, MANY, SECTION, Prediction

UNSCORED = ("elsewhere", "caller", "inherit", "unlabelled", "n/a", None)
"""Labels that say nothing which a tool could get right."""
VAGUE = (*UNSCORED, "library", "library_default")
"""Readings that claim nothing."""
_POINTING = ("elsewhere", "caller", "inherit")
"""Readings that point to the place that decides: where the label knows it, no value is said."""
_FILLED_IN = (*_POINTING, "custom", "selectable")
"""Schedules that `lift` leaves to the user, with their warm-up."""
DOCUMENTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("loss_scaling.mode", "framework_default"): ("dynamic",),
    ("loss_scaling.mode", "library"): ("dynamic", "framework_default"),
    ("clip.kind", "library_default"): ("global_norm",),
    ("schedule.decay", "library_default"): ("linear",),
    ("schedule.on_skip", "library"): ("guarded",),
    ("accumulation.loss_divided", "library"): ("yes",),
    **{
        (f"{section}.source", label): (f"{kind}_external", f"{kind}_{inside}")
        for section in ("accumulation", "clip")
        for kind, inside in (("arg", "default"), ("config", "dict"))
        for label in (f"{kind}_external", f"{kind}_{inside}")
    },
}
"""Readings that are as right as the label: default values where the label is the word for `the
library does it`; a flag is a flag, whether its default stands in the file or in another."""
WORDS = {
    "precision.enabled": "mixed precision",
    "precision.dtypes": "mixed precision",
    "precision.default_dtype": "",
    "loss_scaling.mode": "loss scaling",
    "accumulation.source": "accumulation",
    "accumulation.loss_divided": "accumulation",
    "accumulation.tail": "accumulation",
    "accumulation.no_sync": "accumulation",
    "zero_grad.where": "",
    "clip.kind": "clipping",
    "clip.source": "clipping",
    "clip.unscaled_first": "clipping",
    "clip.per": "clipping",
    "scaler_update.status": "",
    "schedule.decay": "schedule",
    "schedule.has_warmup": "schedule",
    "schedule.stepped_per": "schedule",
    "schedule.on_skip": "schedule",
    "activation_checkpointing.mode": "checkpointing",
    "parallel.kind": "data parallel",
    "parallel.backend": "data parallel",
}
"""Fields with enumerated values, and the feature without which they are not scored."""
NUMBERS = {
    "accumulation.steps": "accumulation",
    "clip.value": "clipping",
    "loss_scaling.init": "loss scaling",
    "loss_scaling.min": "loss scaling",
    "loss_scaling.growth_interval": "loss scaling",
    "loss_scaling.growth_factor": "loss scaling",
    "loss_scaling.backoff_factor": "loss scaling",
    "loss_scaling.hysteresis": "loss scaling",
}
OPTIMIZER = ("lr", "betas", "eps", "weight_decay", "l2", "momentum")


@dataclass
class Totals:
    """Counts of one run over all entries, and what they count."""

    presence: Counter[tuple[str, str]] = field(default_factory=Counter)
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    evidence: Counter[tuple[str, str]] = field(default_factory=Counter)
    optimizers: Counter[str] = field(default_factory=Counter)
    by_category: dict[str, Counter[str]] = field(default_factory=dict)
    overclaims: int = 0
    wrong_negatives: set[str] = field(default_factory=set)
    shown: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def show(self, entry: Entry, what: str, ours: Any, label: Any, lines: Any = "") -> None:
        """Keep one disagreement."""
        self.shown.append((entry.id, what, str(ours), str(label), str(lines)))


def labelled(labels: Mapping[str, Any], name: str) -> Any:
    """Return the label of a field, by its dotted name."""
    section, key = name.split(".", 1)
    return labels.get(section, {}).get(key)


def present(labels: Mapping[str, Any], feature: str) -> bool:
    """Whether the labels say that a feature is there."""
    match feature:
        case "mixed precision":
            return bool(labels["precision"]["enabled"] != "never")
        case "accumulation":
            return bool(labels["accumulation"]["present"])
        case "schedule":
            schedule = labels["schedule"]
            return bool(schedule["decay"] != "none" or schedule["has_warmup"])
        case "data parallel":
            return bool(labels["parallel"]["kind"] != ["none"])
    name = FEATURES[feature][0]
    return bool(labelled(labels, name) != "none")


def score(entry: Entry, prediction: Prediction, totals: Totals, *, alone: bool) -> None:
    """Add one entry to the totals."""
    category = totals.by_category.setdefault(entry.data["category"], Counter())
    both: dict[str, bool] = {"": True}
    for feature in FEATURES:
        ours, theirs = prediction.present(feature), present(entry.labels, feature)
        kind = ("tn", "fn", "fp", "tp")[2 * ours + theirs]
        totals.presence[feature, kind] += 1
        category[kind] += 1
        both[feature] = ours and theirs
        lines = prediction.lines(*(f"{SECTION[feature]}.",)) if ours else ""
        if ours != theirs:
            label = entry.labels.get(SECTION[feature], {})
            totals.show(entry, f"presence {feature}", ours, theirs, lines or label.get("lines"))
            if ours and entry.data["difficulty"] == "hard_negative":
                totals.wrong_negatives.add(entry.id)
            if ours and entry.data["category"] == "negative":
                totals.wrong_negatives.add(entry.id)
    _words(entry, prediction, totals, both)
    _numbers(entry, prediction, totals, both, alone)
    _effective(entry, prediction, totals, alone)
    _optimizers(entry, prediction, totals, alone)
    _evidence(entry, prediction, totals, both)
    _lists(entry, prediction, totals)


def _lists(entry: Entry, prediction: Prediction, totals: Totals) -> None:
    ours, theirs = prediction.word("framework"), entry.labels["framework"]
    _count(entry, totals, "framework", ours, theirs, right=ours == theirs, lines="")
    mine = set(prediction.word("api") or ())
    label = set(entry.labels["api"]) - {"none"}
    for api in mine | label:
        kind = "tp" if api in mine & label else "fp" if api in mine else "fn"
        totals.presence["api", kind] += 1
    if mine != label:
        totals.show(entry, "api", sorted(mine), sorted(label))


def _words(entry: Entry, prediction: Prediction, totals: Totals, both: Mapping[str, bool]) -> None:
    for name, feature in WORDS.items():
        label = labelled(entry.labels, name)
        ours = (
            prediction.source(_owner(name)) if name.endswith(".source") else prediction.word(name)
        )
        if isinstance(ours, bool):
            ours = "yes" if ours else "no"
        if name == "schedule.has_warmup":
            label = "yes" if label else "no"
            unseen = prediction.word("schedule.decay") in _FILLED_IN
            ours = ours if ours is not None or unseen else "no"
        lines = prediction.lines(name)
        if name in MANY:
            _set(entry, prediction, totals, name, label, both[feature], lines)
            continue
        if name == "precision.default_dtype" and ours is None:
            ours = (
                "fp32" if not prediction.present("mixed precision") and prediction.settled else None
            )
        if label in UNSCORED:
            claimed = ours not in VAGUE and (
                prediction.claims(name) or prediction.fact(name) is None
            )
            if claimed and both[feature] and not name.endswith(".source"):
                totals.overclaims += 1
                totals.show(entry, f"overclaim {name}", ours, label, lines)
            continue
        if not both[feature]:
            continue
        if ours in _POINTING:
            ours = None
        right = ours == label or ours in DOCUMENTED.get((name, label), ())
        _count(entry, totals, name, ours, label, right=right, lines=lines)


def _owner(name: str) -> str:
    return "accumulation.steps" if name.startswith("accumulation") else "clip.value"


def _set(
    entry: Entry,
    prediction: Prediction,
    totals: Totals,
    name: str,
    label: Any,
    both: bool,
    lines: Any,
) -> None:
    if not both or not label:
        return
    mine = frozenset(prediction.word(name) or ()) - {"fp32"}
    theirs = frozenset(label or ()) - {"fp32"}
    if theirs & {"caller", "inherit"}:
        concrete = mine - set(VAGUE)
        if concrete and prediction.claims(name):
            totals.overclaims += 1
            totals.show(entry, f"overclaim {name}", sorted(concrete), label, lines)
        return
    shown = sorted(mine) or None
    _count(entry, totals, name, shown, sorted(theirs), right=mine == theirs, lines=lines)


def _count(
    entry: Entry, totals: Totals, name: str, ours: Any, label: Any, *, right: bool, lines: Any
) -> None:
    totals.values[name, "decidable"] += 1
    if ours is None:
        totals.values[name, "missed"] += 1
    else:
        totals.values[name, "said"] += 1
        totals.values[name, "right"] += right
    category = totals.by_category.setdefault(entry.data["category"], Counter())
    category["decidable"] += 1
    category["right"] += bool(right and ours is not None)
    if not right or ours is None:
        totals.show(entry, name, ours, label, lines)


def _numbers(
    entry: Entry, prediction: Prediction, totals: Totals, both: Mapping[str, bool], alone: bool
) -> None:
    for name, feature in NUMBERS.items():
        section = entry.labels[name.split(".")[0]]
        label = labelled(entry.labels, name)
        if label is None or not both[feature] or (alone and external(section)):
            continue
        default = section.get("default") if name in ("accumulation.steps", "clip.value") else None
        fact = prediction.fact(name)
        if fact is None and name == "loss_scaling.init":
            fact = prediction.fact("loss_scaling.scale")
        _number(entry, totals, name, fact, label, default, prediction.lines(name))


def external(section: Mapping[str, Any]) -> bool:
    """Whether the value of a section is not in the file itself."""
    return section.get("source") in ("arg_external", "config_external")


def _number(
    entry: Entry, totals: Totals, name: str, fact: Any, label: Any, default: Any, lines: Any
) -> None:
    value = fact.value if fact is not None and fact.known else None
    expression = fact.expression if fact is not None else ""
    verdict = judge(label, value, expression, default)
    if not verdict:
        return
    ours = None if verdict == "missed" else value if value is not None else expression
    right = verdict == "right"
    _count(entry, totals, name, ours if not right else label, label, right=right, lines=lines)
    if not right:
        identity, what, _, theirs, where = totals.shown.pop()
        mine = f"{value} ({expression})" if expression else str(value)
        totals.shown.append((identity, what, mine, theirs, where))


def _effective(entry: Entry, prediction: Prediction, totals: Totals, alone: bool) -> None:
    section = entry.labels["accumulation"]
    if alone and external(section):
        return
    label = default_steps(entry.labels)
    fact = prediction.fact("accumulation.steps")
    there = prediction.present("accumulation")
    ours = fact.value if there and fact is not None and fact.known else None
    if not there and not prediction.crashed:
        ours = 1
    if label is None:
        if ours is not None:
            totals.overclaims += 1
            totals.show(
                entry, "overclaim effective_default", ours, None, prediction.lines("accumulation")
            )
        return
    right = judge(label, ours, "") == "right"
    lines = prediction.lines("accumulation.steps")
    _count(entry, totals, "effective_default", ours, label, right=right, lines=lines)
    if section["present"]:
        totals.values["effective_default where present", "decidable"] += 1
        totals.values["effective_default where present", "said"] += ours is not None
        totals.values["effective_default where present", "right"] += right


def _optimizers(entry: Entry, prediction: Prediction, totals: Totals, alone: bool) -> None:
    left = prediction.optimizers()
    for label in sorted(entry.labels["optimizers"], key=lambda o: o["family"] in UNSCORED):
        decidable = label["family"] not in UNSCORED
        found = _match(prediction, left, label)
        if found is None:
            if decidable:
                totals.optimizers["fn"] += 1
                mine = [prediction.settled["optimizer.family", who].fact.value for who in left]
                totals.show(entry, "optimizer", mine, label["family"], label.get("lines"))
            continue
        left.remove(found)
        family = prediction.settled["optimizer.family", found].fact
        if not decidable:
            right = (*VAGUE, *label.get("family_accept", ()))  # what the caller gives by default
            concrete = family.known and family.value not in right
            if concrete and prediction.claims("optimizer.family", found):
                totals.overclaims += 1
                where = prediction.lines("optimizer.", subject=found)
                totals.show(entry, "overclaim optimizer", family.value, label["family"], where)
            continue
        totals.optimizers["tp"] += 1
        for name in () if alone and external(label) else OPTIMIZER:
            _setting(entry, prediction, totals, found, name, label.get(name))
    for who in left:
        fact = prediction.settled["optimizer.family", who].fact
        if fact.known and fact.value in VAGUE:
            continue
        totals.optimizers["fp"] += 1
        lines = prediction.lines("optimizer.", subject=who)
        totals.show(entry, "optimizer", f"{fact.value} {who}", "none such", lines)


def _match(prediction: Prediction, left: list[str], label: Mapping[str, Any]) -> str | None:
    families = {label["family"], *label.get("family_accept", ())}
    wildcard = label["family"] in UNSCORED
    best: tuple[int, str] | None = None
    for who in left:
        fact = prediction.settled["optimizer.family", who].fact
        default = "library_default" in families and fact.origin == "library_default"
        if fact.value not in families and not wildcard and not default:
            continue
        role = prediction.fact("optimizer.role", who)
        near = bool(set(label.get("lines", ())) & set(prediction.lines("optimizer.", subject=who)))
        points = 2 * bool(role and role.value == label.get("role")) + near
        if best is None or points > best[0]:
            best = (points, who)
    return best[1] if best else None


def _setting(
    entry: Entry, prediction: Prediction, totals: Totals, who: str, name: str, label: Any
) -> None:
    if label is None:
        return
    lines = prediction.lines(f"optimizer.{name}", subject=who)
    if name == "betas":
        for index, beta in enumerate(label):
            fact = prediction.fact(f"optimizer.beta{index + 1}", who)
            _number(entry, totals, f"optimizer.beta{index + 1}", fact, beta, None, lines)
        return
    fact = prediction.fact(f"optimizer.{name}", who)
    if fact is None and name in ("weight_decay", "l2"):
        fact = prediction.fact(
            "optimizer.l2" if name == "weight_decay" else "optimizer.weight_decay", who
        )
    _number(entry, totals, f"optimizer.{name}", fact, label, None, lines)


def _evidence(
    entry: Entry, prediction: Prediction, totals: Totals, both: Mapping[str, bool]
) -> None:
    for feature, section in SECTION.items():
        wanted = entry.labels.get(section, {}).get("lines")
        if not both[feature] or not wanted:
            continue
        ours = prediction.lines(f"{section}.")
        right = any(abs(a - b) <= 2 for a in ours for b in wanted)
        totals.evidence[section, "right" if right else "wrong"] += 1
        if not right:
            totals.show(entry, f"lines {section}", ours, wanted)


def ratio(part: float, whole: float) -> float:
    """Return a share; 1 if both numbers are 0."""
    return part / whole if whole else 1.0


def presence_rows(totals: Totals) -> Iterator[tuple[str, int, int, int, float, float, float]]:
    """Yield feature, tp, fp, fn, precision, recall and F1; the last row is of all features."""
    total: Counter[str] = Counter()
    for feature in (*FEATURES, "all", "api"):
        counts = {k: totals.presence[feature, k] for k in ("tp", "fp", "fn")}
        if feature in FEATURES:
            total.update(counts)
        if feature == "all":
            counts = dict(total)
        tp, fp, fn = (counts.get(k, 0) for k in ("tp", "fp", "fn"))
        precision, recall = ratio(tp, tp + fp), ratio(tp, tp + fn)
        f1 = ratio(2 * precision * recall, precision + recall) if precision + recall else 0.0
        yield feature, tp, fp, fn, precision, recall, f1
