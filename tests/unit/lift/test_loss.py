"""The loss of a lifted recipe: read, or left to the user, and never cross-entropy in silence."""

from __future__ import annotations

from crosscast.messages.diagnostics import Severity
from crosscast.recipe.document import CrossEntropy, MeanSquaredError
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.drafting import Lifted, lift
from reading_helpers.lift_facts import PLAIN, analysis, fact, open_fact


def lifted(*facts: Fact) -> Lifted:
    return lift(analysis((*PLAIN, *facts)))


def warned(found: Lifted) -> dict[str, str]:
    return {d.path: d.code for d in found.diagnostics if d.path.startswith("loss.")}


def test_a_loss_that_is_read_is_certain() -> None:
    found = lifted(fact("loss.kind", "cross_entropy", 9), fact("loss.label_smoothing", 0.1, 3))
    assert found.recipe is not None
    assert found.recipe.loss == CrossEntropy(label_smoothing=0.1)
    assert not {path for path in found.unsaid if path.startswith("loss.")}
    assert warned(found) == {}


def test_squared_errors() -> None:
    found = lifted(fact("loss.kind", "mse", 9))
    assert found.recipe is not None
    assert isinstance(found.recipe.loss, MeanSquaredError)


def test_a_loss_that_is_not_read_is_left_to_the_user() -> None:
    found = lifted()
    assert "loss.kind" in found.unsaid
    line = next(line for line in found.text.splitlines() if "kind: cross_entropy" in line)
    assert "FILL IN: it is not seen: write its kind" in line


def test_a_loss_of_the_program_is_shown() -> None:
    found = lifted(open_fact("loss.kind", "model(**batch).loss", 9))
    assert "loss.kind" in found.unsaid
    line = next(line for line in found.text.splitlines() if "kind: cross_entropy" in line)
    assert "FILL IN: train.py:9 (model(**batch).loss: write its kind" in line


def test_a_smoothing_that_is_not_known_is_left_to_the_user() -> None:
    found = lifted(
        fact("loss.kind", "cross_entropy", 9), open_fact("loss.label_smoothing", "smoothing", 3)
    )
    assert {path for path in found.unsaid if path.startswith("loss.")} == {"loss.label_smoothing"}


def test_the_trainer_smooths_the_labels_of_its_own_loss() -> None:
    by_trainer = fact("loss.smoothed_by", "trainer", 9)
    found = lifted(by_trainer, fact("loss.trainer_smoothing", 0.1, 3))
    assert found.recipe is not None
    assert found.recipe.loss == CrossEntropy(label_smoothing=0.1)
    assert not {path for path in found.unsaid if path.startswith("loss.")}
    # without smoothing the loss is that of the model
    for more in ((), (fact("loss.trainer_smoothing", 0, 3),)):
        found = lifted(by_trainer, *more)
        assert {p for p in found.unsaid if p.startswith("loss.")} == {"loss.kind"}


def test_smoothing_of_a_trainer_that_is_not_seen() -> None:
    found = lifted(fact("loss.trainer_smoothing", 0.1, 3))
    assert {path for path in found.unsaid if path.startswith("loss.")} == {"loss.kind"}
    assert found.recipe is not None
    assert found.recipe.loss == CrossEntropy(label_smoothing=0.1)
    line = next(line for line in found.text.splitlines() if "kind: cross_entropy" in line)
    assert "label_smoothing_factor 0.1" in line


def test_smoothing_of_a_trainer_that_is_not_known() -> None:
    by_trainer = fact("loss.smoothed_by", "trainer", 9)
    found = lifted(by_trainer, open_fact("loss.trainer_smoothing", "args.share", 3))
    unsaid = {path for path in found.unsaid if path.startswith("loss.")}
    assert unsaid == {"loss.kind", "loss.label_smoothing"}


def test_a_loss_of_the_program_is_not_smoothed_by_the_trainer() -> None:
    smoothing = fact("loss.trainer_smoothing", 0.1, 3)
    found = lifted(fact("loss.kind", "cross_entropy", 9), smoothing)
    assert found.recipe is not None
    assert found.recipe.loss == CrossEntropy()
    found = lifted(open_fact("loss.kind", "my_loss(outputs)", 9), smoothing)
    assert found.recipe is not None
    assert found.recipe.loss == CrossEntropy()
    assert {path for path in found.unsaid if path.startswith("loss.")} == {"loss.kind"}


def test_a_weighted_mean_is_not_that_of_a_recipe() -> None:
    found = lifted(
        fact("loss.kind", "cross_entropy", 9),
        fact("loss.class_weights", "weighted_mean", 3),
        fact("loss.ignore_index", 0, 3),
    )
    assert "loss.class_weights" in found.unsaid
    assert warned(found) == {"loss.class_weights": "CC911", "loss.target": "CC911"}
    (told,) = [d.message for d in found.diagnostics if d.path == "loss.class_weights"]
    assert told == (
        "a mean is divided by the weights of its labels; that of a recipe by their number"
    )


def test_a_mean_over_ignored_labels_is_not_that_of_a_recipe() -> None:
    mean = fact("loss.mean_over", "all_labels", 9)
    found = lifted(fact("loss.kind", "cross_entropy", 9), mean)
    (told,) = [d for d in found.diagnostics if d.path == "accumulation.normalize_by"]
    assert (told.code, told.severity) == ("CC911", Severity.WARNING)
    plain = lifted(fact("loss.kind", "cross_entropy", 9))
    assert "accumulation.normalize_by" not in {d.path for d in plain.diagnostics}


def test_the_shipped_model_is_a_classifier() -> None:
    found = lifted(
        fact("loss.kind", "mse", 9),
        *(
            fact(f"recipe.model.{name}", value, 1)
            for name, value in {
                "kind": "bert",
                "layers": 1,
                "hidden_size": 8,
                "attention_heads": 1,
                "intermediate_size": 8,
            }.items()
        ),
    )
    assert "loss.kind" in found.unsaid
    assert warned(found) == {"loss.kind": "CC911"}
