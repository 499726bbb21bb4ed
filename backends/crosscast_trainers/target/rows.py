"""Rows as every layer has them: how they are written, and what no configuration holds."""

from __future__ import annotations

from dataclasses import dataclass

import crosscast_trainers.target.conditions as it
from crosscast.recipe import predicates
from crosscast.targets.capability import Condition, Evidence, Row, Verdict, always

PROBES = "trainers/test_configurations.py::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Writes the rows of one layer.

    `evidence`: how its facts are known unless a row says else. `probe`: the test behind them, or
    why there is none.
    """

    evidence: Evidence
    probe: str

    def exact(self, path: str, how: str, when: Condition = always) -> Row:
        """The setting means the same."""
        return Row(path=path, how=how, evidence=self.evidence, when=when)

    def adapted(self, path: str, how: str, code: str, when: Condition) -> Row:
        """Other settings together mean the same."""
        return self._row(Verdict.ADAPTED, path, how, code, when)

    def near(
        self, path: str, how: str, code: str, when: Condition = always, probe: str = ""
    ) -> Row:
        """It does something else, or your program has to do it; a probe of its own measured it."""
        return self._row(Verdict.APPROXIMATE, path, how, code, when, probe)

    def lacks(self, path: str, how: str, code: str, when: Condition) -> Row:
        """It cannot be said."""
        return self._row(Verdict.UNSUPPORTED, path, how, code, when)

    def _row(
        self, verdict: Verdict, path: str, how: str, code: str, when: Condition, probe: str = ""
    ) -> Row:
        return Row(
            path=path,
            verdict=verdict,
            how=how,
            code=code,
            evidence=Evidence.MEASURED_CPU if probe else self.evidence,
            probe=probe or self.probe,
            when=when,
        )


def common(facts: Facts) -> tuple[Row, ...]:
    """Return the rows that hold for every layer; a row of the layer's own comes before them."""
    return (
        facts.near("model", "your program builds the model", "CC333"),
        facts.near("data", "your program reads the data and feeds it", "CC333"),
        facts.near("loss", "your program computes the loss", "CC333"),
        facts.near("metrics", "your program computes the metrics", "CC333", predicates.own_metrics),
        facts.exact("metrics", "none of your own"),
        facts.lacks("ema", "weights are not averaged", "CC339", predicates.averages),
        facts.exact("ema", "no average of the weights"),
        facts.near(
            "activation_checkpointing",
            "only your model can recompute activations; there is no setting",
            "CC333",
            predicates.recomputes,
        ),
        facts.exact("activation_checkpointing", "activations are kept"),
        facts.near(
            "distributed",
            "the launcher sets the number of processes",
            "CC333",
            predicates.parallel,
        ),
        facts.exact("distributed", "one process"),
        facts.near("tracking", "your program reports to its trackers", "CC333"),
        facts.near("launch", "you start your program; no launcher is emitted", "CC333"),
        facts.exact("batch", "rows of one process, times micro-batches and processes"),
        facts.exact("precision.param_dtype", "float32 weights, or float32 masters"),
        facts.exact("precision.ops", "everything in float32"),
        facts.exact("accumulation", "losses are divided before backward"),
        facts.exact("accumulation.dtype", "gradients of float32 weights are summed in float32"),
    )


def launched(facts: Facts) -> Row:
    """Return the row of arguments that do not hold the number of processes."""
    return facts.near(
        "batch.global_batch_size",
        "times the number of processes that the launcher starts",
        "CC333",
        predicates.parallel,
    )


def torch_precision(facts: Facts) -> tuple[Row, ...]:
    """Return the precision of layers around torch.autocast and GradScaler."""
    return (
        facts.lacks(
            "precision.mode",
            "half weights come without float32 masters: write mode: mixed",
            "CC334",
            predicates.half_weights,
        ),
        facts.near(
            "precision.ops",
            "torch.autocast decides which operations run in half",
            "CC334",
            predicates.half,
        ),
        facts.lacks(
            "loss_scaling.mode",
            "the loss scale is never constant: write mode: dynamic",
            "CC335",
            predicates.static,
        ),
        facts.lacks(
            "loss_scaling.mode",
            "float16 always comes with a loss scale: write mode: dynamic",
            "CC335",
            it.unscaled_float16,
        ),
        facts.near(
            "loss_scaling.min_scale",
            "GradScaler has no floor",
            "CC335",
            it.bounded_below,
            "torch/test_scaler.py::test_scale_falls_below_any_floor",
        ),
        facts.near(
            "loss_scaling.max_scale",
            "GradScaler has no ceiling",
            "CC335",
            it.bounded_above,
            "torch/test_scaler.py::test_scale_grows_above_any_ceiling",
        ),
        *(
            facts.near(
                f"loss_scaling.{name}",
                "GradScaler backs off at the first overflow",
                "CC335",
                predicates.hysteresis,
                "torch/test_scaler.py::test_scaler_backs_off_at_first_overflow",
            )
            for name in ("hysteresis", "hysteresis_mode")
        ),
    )


def clips_by_torch(facts: Facts, *, values: bool) -> tuple[Row, ...]:
    """Return the clipping of layers that call PyTorch's functions on all gradients."""
    kinds = predicates.clips_each if values else it.either(it.clips_values, predicates.clips_each)
    offered = "the norm of all gradients or their values" if values else "the norm of all gradients"
    return (
        facts.lacks("clipping.kind", f"only {offered} can be clipped", "CC338", kinds),
        facts.lacks("clipping.exempt", "all gradients are clipped", "CC338", predicates.clips_some),
        facts.near(
            "clipping.eps",
            "the norm is clipped with an epsilon of 1e-6",
            "CC338",
            it.clip_eps_is_not(1e-6),
            "torch/test_clip.py::test_clip_adds_a_fixed_epsilon",
        ),
    )
