"""Emitted scripts: the optimizer, its groups and the roles without decay.

In scripts for JAX the optimizer is a chain of transformations. One chain may be that of several
recipes that mean the same: AdamW without decay is Adam, and LAMB without a trust ratio, too.
Then it has the plainer name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.script import Script

_NAMES = (
    ("scale_by_adafactor(", "adafactor"),
    ("scale_by_lion(", "lion"),
    ("scale_by_trust_ratio(", "lamb"),
)
_KNOWN = frozenset(
    {
        *("chain", "identity", "trace", "masked", "add_decayed_weights", "scale_by_trust_ratio"),
        *("scale_by_adam", "scale_by_lion", "scale_by_adafactor", "scale_by_momentum"),
        *("add_decay", "scale_rates", "settings", "decays", "map"),
    }
)
"""What `make_optimizer` calls; a chain with anything else is of no recipe."""
_TRANSFORMATIONS = _KNOWN - {"settings", "decays", "map", "masked", "chain"}
_CALLED = re.compile(r"(?<!\w)(\w{1,60})\(")
_DECAY = re.compile(r"\badd_decay(?:ed_weights)?\(")


@dataclass(frozen=True, slots=True)
class _OptaxChain:
    """The chain that `make_optimizer` returns."""

    body: str
    """Code of that function."""
    own: str
    """Code of the transformations that the script defines itself."""

    @property
    def name(self) -> str:
        """Name of the optimizer in a recipe; empty if it is none of them."""
        called = set(_CALLED.findall(self.body))
        if not called <= _KNOWN or not called & _TRANSFORMATIONS:
            return ""
        known = next((name for mark, name in _NAMES if mark in self.body), "")
        if known or "scale_by_adam(" not in self.body:
            return known or "sgd"
        decay = _DECAY.search(self.body)
        behind = decay is not None and decay.start() > self.body.index("scale_by_adam(")
        return "adamw" if behind else "adam"

    @property
    def rate_inside(self) -> bool:
        """Whether the momentum holds the learning rate."""
        return "scale_by_momentum(" in self.body

    @property
    def nesterov(self) -> bool:
        """Whether the momentum looks ahead."""
        return "nesterov=True" in self.body or "MOMENTUM * b - s, trace" in self.own

    @property
    def corrected(self) -> bool:
        """Whether the bias of moments is corrected."""
        return "def scale_by_adam" not in self.own or "correction" in self.own

    @property
    def raw_epsilon(self) -> bool:
        """Whether epsilon is added before the correction."""
        return "root_correction / correction * m" in self.own

    @property
    def always_adapts(self) -> bool:
        """Whether the trust ratio is also for weights without decay."""
        every = "scale_by_trust_ratio(" in self.body and "optax.masked(" not in self.body
        differ = "decays(model)" in self.body or "(amounts)" in self.body
        return every and (differ or not _DECAY.search(self.body))


_CLASSES = (
    (r"MomentumSGD|MomentumOfSteps|optim\w*\.(?:SGD|Momentum)\b|\b(?:SGD|Momentum)\(", "sgd"),
    (r"AdamW\b", "adamw"),
    (r"Adam\b", "adam"),
    (r"(?i:lamb)\(|UncorrectedLamb|\bLAMB\b", "lamb"),
    (r"\bLion\b", "lion"),
    (r"\bAdafactor\b", "adafactor"),
)
"""Class that the function creating the optimizer calls, and its name in a recipe."""
_NUMBERED = ("adam", "adamw", "lamb")
_ROLES = {
    "bias": ("'bias'", "'.bias'"),
    "layer_norm": ("LayerNorm", "'gamma'"),
    "embedding": ("nn.Embedding", "nnx.Embed", "'embeddings'", "_embeddings.weight"),
}


def optimizer(script: Script) -> Iterator[Fact]:
    """Yield the facts about the optimizer."""
    here = "make_optimizer"
    body = script.text(here).partition("\n")[2]
    chain = _OptaxChain(body, script.text("scale_by_adam", "scale_by_momentum"))
    name = next((n for pattern, n in _CLASSES if re.search(pattern, body)), "") or chain.name
    if not name:
        return
    yield script.fact("optimizer.name", name, here)
    constants = script.constants
    decay = float(constants.get("WEIGHT_DECAY", 0.0))
    yield script.fact("optimizer.weight_decay", decay, "WEIGHT_DECAY")
    if name in (*_NUMBERED, "lion"):
        yield from script.constant("optimizer.betas", "BETAS")
    if name in (*_NUMBERED, "adafactor"):
        yield from script.constant("optimizer.eps", "EPS")
    if name == "adafactor":
        yield from script.constant("optimizer.beta2_decay", "BETA2_DECAY")
        for constant in ("CLIP_THRESHOLD", "THRESHOLD"):
            yield from script.constant("optimizer.clip_threshold", constant)
    if name == "sgd":
        yield from _momentum(script, body, chain)
    if name in _NUMBERED:
        yield from _corrections(script, name, body, chain)
    if name == "lamb":
        always = chain.always_adapts or _always_adapts(script, body)
        yield script.fact("optimizer.always_adapt", always, here)
    without = script.text("decays") or repr(constants.get("NO_DECAY", ""))
    yield script.fact("optimizer.no_decay", list(_without(without)), "decays", "NO_DECAY", here)
    yield from _groups(script)


def _momentum(script: Script, made: str, chain: _OptaxChain) -> Iterator[Fact]:
    momentum = float(script.constants.get("MOMENTUM", 0.0))
    yield script.fact("optimizer.momentum", momentum, "MOMENTUM")
    if not momentum:
        return
    text = f"{made}\n{script.text('MomentumSGD', 'MomentumOfSteps', 'Momentum')}"
    inside = re.search(
        r"\bMomentum(?:SGD|OfSteps)\(|keras\.optimizers\.SGD\(|MOMENTUM \* buffer - ", text
    )
    yield script.fact(
        "optimizer.rate_in_momentum", bool(inside) or chain.rate_inside, "make_optimizer"
    )
    nesterov = re.search(
        r"nesterov=(?:True|NESTEROV)|weight\.\w*(?:add|sub)\w*\(.*"
        r"(?:MOMENTUM|group\['momentum'\]) \* ",
        text,
    )
    yield script.fact("optimizer.nesterov", bool(nesterov) or chain.nesterov, "make_optimizer")


def _corrections(script: Script, name: str, made: str, chain: _OptaxChain) -> Iterator[Fact]:
    """Yield bias correction and the position of epsilon."""
    own = script.text("AdamW", "Adam", "Lamb", "LAMB")
    text = f"{made}\n{own}\n{script.text('train_window')}"
    uncorrected = re.search(r"Uncorrected|group\['lr'\] = .*first / second", text)
    corrected = not own or re.search(r"correction|beta2 \*\* t", own)
    before = re.search(
        r"EpsilonHat|step \* mean / \(tf\.sqrt\(square\) \+ EPS\)|group\['eps'\] = EPS / second"
        r"|keras\.optimizers\.AdamW?\(",
        text,
    )
    corrects = bool(corrected) and not uncorrected and chain.corrected
    yield script.fact("optimizer.bias_correction", corrects, "make_optimizer")
    if name != "lamb":
        placement = "before_correction" if before or chain.raw_epsilon else "after_correction"
        yield script.fact("optimizer.eps_placement", placement, "make_optimizer")


def _always_adapts(script: Script, made: str) -> bool:
    """Whether the trust ratio also applies to weights without decay."""
    own = script.text("Lamb", "LAMB", "UncorrectedLamb")
    always = (
        r"always_adapt=True|\n        ratio = torch\.where\(adapts"
        r"|\n            direction = adapted\(|\n        rate = rate \* trust_ratio\("
    )
    return re.search(always, f"{made}\n{own}") is not None


def _without(text: str) -> Iterator[str]:
    """Yield the roles that a function of weights excludes."""
    for role, marks in _ROLES.items():
        if any(mark in text for mark in marks):
            yield role


def _groups(script: Script) -> Iterator[Fact]:
    groups = script.constants.get("GROUPS", [])
    if not groups:
        yield script.fact("optimizer.groups", [], "make_optimizer")
    order = script.text("settings", "settings_of", "make_optimizer")
    factor_first = bool(re.search(r"for patterns, factor, (?:own|\w*decay\w*) in GROUPS", order))
    for index, group in enumerate(groups):
        patterns, first, two = group
        factor, decay = (first, two) if factor_first else (two, first)
        path = f"optimizer.groups.{index}"
        yield script.fact(f"{path}.parameters", list(patterns), "GROUPS")
        if decay is not None:
            yield script.fact(f"{path}.weight_decay", float(decay), "GROUPS")
        yield script.fact(f"{path}.rate_factor", float(factor), "GROUPS")


def exempt(script: Script) -> list[str]:
    """Return the roles that are not clipped."""
    return list(_without(script.text("clips")))
