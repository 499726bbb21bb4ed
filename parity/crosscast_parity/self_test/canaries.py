"""Known bugs that a self-test plants into emitted scripts, each for the level that must see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crosscast.targets.backend import harness_of
from crosscast.targets.harness import Edit
from crosscast_parity.checks.kinds import Level
from crosscast_parity.self_test.mutation import Mutation


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A bug and the level that must see it; other levels may see it, too."""

    level: Level
    bug: Mutation

    @property
    def name(self) -> str:
        """Name of the bug."""
        return self.bug.name


def _canary(
    level: Level,
    name: str,
    title: str,
    field: str,
    *edits: Edit,
    needs: str | tuple[str, ...] = "",
    or_else: tuple[Edit, ...] = (),
) -> Canary:
    forms = (edits, or_else) if or_else else (edits,)
    bug = Mutation(name=name, title=title, field=field, expected=(level,), forms=forms, needs=needs)
    return Canary(level=level, bug=bug)


_ROWS, _RUN = "runtime/rows.py", "runtime/run.py"
_ROUNDED = '{n: a.astype("float16").astype("float32") for n, a in weights.items()}'
SHARED: tuple[Canary, ...] = (
    _canary(
        "gate",
        "unseeded-order",
        "the order of the rows is not seeded",
        "seed",
        Edit("default_rng([seed, epoch])", "default_rng()", file=_ROWS),
    ),
    _canary(
        "L0b",
        "late-growth",
        "the scale grows one window late",
        "loss_scaling.growth_interval",
        Edit("\nGROWTH_INTERVAL = ", "\nGROWTH_INTERVAL = 1 + "),
    ),
    _canary(
        "L0b",
        "skipped-windows-tick",
        "skipped windows advance the schedule",
        "schedule.tick",
        Edit("lr = learning_rate(state.updates)", "lr = learning_rate(state.windows)"),
        needs="INIT_SCALE",
    ),
    _canary(
        "L0a",
        "row-lost",
        "a row of every window is lost",
        "batch.global_batch_size",
        Edit("(index + 1) * size]", "(index + 1) * size - 1]", file=_ROWS),
    ),
    _canary(
        "L0c",
        "norm-too-large",
        "the reported gradient norm is a tenth too large",
        "",
        Edit('"grad_norm": ', '"grad_norm": 1.1 * '),
    ),
    _canary(
        "L1a",
        "layer-norm-epsilon",
        "LayerNorm adds 1e-3",
        "model.layer_norm_eps",
        Edit("\nLAYER_NORM_EPS = ", "\nLAYER_NORM_EPS = 1e-3 + ", file="model.py"),
    ),
    _canary(
        "L1b",
        "more-decay",
        "weights decay by 0.05 more",
        "optimizer.weight_decay",
        Edit("\nWEIGHT_DECAY = ", "\nWEIGHT_DECAY = 0.05 + "),  # it may be 0
    ),
    _canary(
        "L1b",
        "large-epsilon",
        "the optimizer's epsilon is 1e-6 larger",
        "optimizer.eps",
        Edit("\nEPS = ", "\nEPS = 1e-6 + "),
    ),
    _canary(
        "L1d",
        "weights-file-rounded",
        "the weights that a run leaves are rounded to float16",
        "",
        Edit('"model.safetensors", weights', f'"model.safetensors", {_ROUNDED}', file=_RUN),
    ),
    _canary(
        "L1d",
        "rows-again-after-resume",
        "a resumed run begins with the first rows",
        "",
        Edit("len(rows), self.settings, first,", "len(rows), self.settings, 0,", file=_RUN),
    ),
    _canary(
        "L1d",
        "last-batch-not-evaluated",
        "a short last batch is not evaluated",
        "",
        Edit("range(0, n_rows, size)", "range(0, n_rows - size + 1, size)", file=_ROWS),
    ),
    _canary(
        "L2",
        "window-lost",
        "the rows of window 8 are skipped",
        "",
        Edit("divmod(window, per_epoch)", "divmod(window + (window >= 8), per_epoch)", file=_ROWS),
    ),
)

_FILE = Edit(
    "arrays, _ = read_arrays(path)\n    if settings.limits",
    "weights, _ = read_arrays(path)\n"
    '    arrays = {n: a.astype("float16").astype(a.dtype) for n, a in weights.items()}\n'
    "    if settings.limits",
    file="runtime/checkpoint.py",
)
_ATTENTION = Edit("/ HEAD_SIZE**0.5", "/ HIDDEN_SIZE**0.5", file="model.py")
_FUSED_ATTENTION = Edit(
    "q, k, v, attn_mask=mask",
    "q * (HEAD_SIZE / HIDDEN_SIZE) ** 0.5, k, v, attn_mask=mask",
    file="model.py",
)
_COPIES = "COPIED = "
"""What a script has that computes in half with copies of weights."""


def canaries_of(framework: str, *, custom: bool = False) -> tuple[Canary, ...]:
    """Return the canaries for scripts of a framework; empty if none are defined.

    Args:
        framework: Of the scripts.
        custom: Whether their model is the user's, whose code is not changed: other weights stand
            for another model then.
    """
    harness = harness_of(framework)
    if harness is None or harness.bugs is None:
        return ()
    bugs = harness.bugs
    half = (bugs.half_mark, _COPIES)
    types = (custom and bugs.no_autocast_in_own) or bugs.no_autocast
    autocast = _canary(
        "L0d", "autocast-off", "autocast is off", "precision.mode", *types, needs=half
    )
    if custom:
        words = "the initial weights are rounded to float16"
        return (
            *SHARED,
            _canary("L1a", "initial-weights-rounded", words, "", _FILE),
            _canary("L1c", "initial-weights-rounded-half", words, "", _FILE, needs=half),
            autocast,
        )
    return (
        *SHARED,
        _canary("L1a", "tanh-gelu", "GELU is computed by tanh", "", bugs.tanh_gelu),
        _canary(
            "L1c",
            "half-attention",
            "attention is scaled by the hidden size, in half precision only",
            "",
            _ATTENTION,
            needs=half,
            or_else=(_FUSED_ATTENTION,),
        ),
        autocast,
        _canary(
            "L0d",
            "half-loss",
            "the loss is computed in half",
            "precision.ops.losses",
            *bugs.half_loss,
            needs=half,
        ),
    )


def fitting(canaries: Iterable[Canary], scripts: Iterable[Mapping[str, str]]) -> tuple[Canary, ...]:
    """Return the canaries that change at least one of a program's scripts.

    Args:
        canaries: what there is.
        scripts: texts of the files of every variant, by name.
    """
    texts = list(scripts)
    return tuple(canary for canary in canaries if any(canary.bug.mutate(text) for text in texts))
