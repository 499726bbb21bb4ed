"""Forms that updates have in JAX programs: what is recorded of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast_parity.reading import observed as reading
from crosscast_parity.reading.observed import Observed
from frameworks.test_reading_jax import seen
from reading_programs import PROGRAMS
from tiers import exhaustive

pytestmark = [pytest.mark.jax, exhaustive("more forms of updates in JAX programs")]


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def observed(folder: Path, text: str) -> Observed:
    ran = seen(folder, text)
    assert not ran.ran.problem, ran.ran.printed
    return ran


def norm(arrays: object) -> float:
    assert isinstance(arrays, dict)
    return float(np.sqrt(sum((array**2).sum() for array in arrays.values())))


def test_steps_outside_of_compiled_functions(tmp_path: Path) -> None:
    plain = observed(tmp_path, PROGRAMS["jax multi steps"].text)
    eager = observed(tmp_path, changed(PROGRAMS["jax multi steps"].text, ("@jax.jit\n", "")))
    ours, theirs = (run.evidence.recording.attempts for run in (plain, eager))
    assert [(a.cls, a.backwards, a.settings) for a in ours] == [
        (a.cls, a.backwards, a.settings) for a in theirs
    ]
    assert len(ours) == 8
    for left, right in zip(
        plain.evidence.program_runs[0].windows, eager.evidence.program_runs[0].windows, strict=True
    ):
        for name, array in left.applied.items():
            assert right.applied[name] == pytest.approx(array, rel=1e-4, abs=1e-7)


def test_a_clip_by_itself(tmp_path: Path) -> None:
    text = changed(
        PROGRAMS["jax chain"].text,
        (
            "optax.chain(optax.clip_by_global_norm(0.3), optax.adamw(schedule, weight_decay=0.01))",
            "optax.adamw(schedule, weight_decay=0.01)\nclip = optax.clip_by_global_norm(0.3)",
        ),
        (
            "    updates, opt_state = tx.update(grads, opt_state, params)\n",
            "    grads, _ = clip.update(updates=grads, state=clip.init(params))\n"
            "    updates, opt_state = tx.update(grads, state=opt_state, params=params)\n",
        ),
    )
    evidence = observed(tmp_path, text).evidence
    for attempt in evidence.recording.attempts:
        assert attempt.cls == "AdamW"
        assert [(clip.kind, clip.limit) for clip in attempt.clips] == [("global_norm", 0.3)]
    assert evidence.optimizers == 1
    window = evidence.program_runs[0].windows[0]
    assert norm(dict(window.total)) > norm(dict(window.applied)) == pytest.approx(0.3, rel=1e-5)


def test_clips_of_micro_batches_are_not_those_of_updates(tmp_path: Path) -> None:
    text = changed(
        PROGRAMS["jax multi steps"].text,
        ("tx = optax.MultiSteps(", "steps = optax.MultiSteps("),
        (
            "every_k_schedule=3)\n",
            "every_k_schedule=3)\ntx = optax.chain(\n    optax.clip_by_global_norm(0.1), "
            "steps.gradient_transformation()\n)\n",
        ),
    )
    run = observed(tmp_path, text)
    attempts = run.evidence.recording.attempts
    assert [(a.cls, a.backwards, a.clips) for a in attempts] == [("AdamW", 3, ())] * 8
    assert "clipped before they are added up" in run.notes[0]
    assert run.evidence.facts["clips_unseen"]


def test_a_scale_is_not_exercised(tmp_path: Path) -> None:
    text = changed(
        PROGRAMS["jax loop"].text,
        ("import optax\n", "import optax\nfrom flax.training.dynamic_scale import DynamicScale\n"),
        ("for step", "scale = DynamicScale()\nfor step"),
        ("loss, grads = jax.value_and_grad(", "scale, _, loss, grads = scale.value_and_grad("),
    )
    evidence = observed(tmp_path, text).evidence
    assert "loss scaling was not exercised" in evidence.facts["unscaled"]
    assert [attempt.backwards for attempt in evidence.recording.attempts] == [1] * 12
    assert "clips_unseen" not in evidence.facts  # the gradients are those that it returns


def test_numbers_are_told_where_tensors_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = observed(tmp_path, PROGRAMS["jax chain"].text).evidence
    monkeypatch.setattr(reading, "MOST_BYTES", 3 * 4 * 4 * 208)
    few = observed(tmp_path, PROGRAMS["jax chain"].text).evidence
    assert len(few.program_runs[0].windows) == 3
    ours, theirs = (each.recording.attempts for each in (whole, few))
    assert [(a.settings, a.micro, a.cls) for a in ours] == [
        (a.settings, a.micro, a.cls) for a in theirs
    ]
    monkeypatch.setattr(reading, "MOST_BYTES", 100)
    none = observed(tmp_path, PROGRAMS["jax chain"].text).evidence
    assert not none.program_runs[0].windows
    assert none.facts["clips_unseen"]
    assert [a.settings for a in none.recording.attempts] == [a.settings for a in ours]
