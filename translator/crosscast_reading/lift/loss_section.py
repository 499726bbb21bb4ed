"""Facts to the section of a recipe about the loss."""

from __future__ import annotations

from dataclasses import replace

from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.lift.step_sections import Look, number, word

_WRITE = "write its kind, or custom with your function"
_SHOWN = 60
"""Letters of an expression in a note."""


def loss(look: Look, draft: Draft) -> None:
    """Fill `loss`; what was filled from an emitted script stays."""
    if draft.has("loss."):
        return
    fact = look("loss.kind")
    smoothed = look("loss.trainer_smoothing")
    if fact is None and smoothed is not None and number(smoothed) != 0:
        _of_trainer(look, smoothed, draft)
        return
    kind = word(fact)
    if kind is None:
        shown = fact.expression if fact is not None else ""
        note = f"{shown[:_SHOWN] or 'it is not seen'}: {_WRITE}"
        draft.assume("loss.kind", "cross_entropy", note, fact)
        return
    if kind != "cross_entropy" and draft.value("model.kind") == "bert":
        message = f"the loss is {kind}; the shipped BERT is a classifier"
        draft.note("CC911", "loss.kind", message, fact, "write a custom model")
        draft.assume("loss.kind", "cross_entropy", f"in place of {kind}", fact)
        return
    draft.put("loss.kind", kind, fact)
    if kind == "cross_entropy":
        _of_classes(look, draft)


def _of_trainer(look: Look, smoothing: Fact, draft: Draft) -> None:
    """Fill the loss of Hugging Face's Trainer, cross-entropy in place of the model's loss."""
    share = number(smoothing)
    if share is not None and word(look("loss.smoothed_by")) == "trainer":
        draft.put("loss.kind", "cross_entropy", smoothing)
        draft.put("loss.class_weights", [], smoothing, note="the Trainer has none", nothing=True)
    else:
        shown = smoothing.expression if share is None else f"{share:g}"
        note = f"label_smoothing_factor {shown}: {_WRITE}"
        draft.assume("loss.kind", "cross_entropy", note, smoothing)
    _smoothing(smoothing, draft)


def _of_classes(look: Look, draft: Draft) -> None:
    smoothing, weights = look("loss.label_smoothing"), look("loss.class_weights")
    if smoothing is not None:
        _smoothing(smoothing, draft)
    for path, value in (("loss.label_smoothing", 0.0), ("loss.class_weights", [])):
        if path not in draft.fields:
            kind = draft.fields["loss.kind"]
            draft.fields[path] = replace(kind, value=value, note="none in its call", nothing=True)
    if weights is not None:
        message = "a mean is divided by the weights of its labels; that of a recipe by their number"
        hint = "write loss.class_weights, or kind: custom with your function for the same numbers"
        draft.note("CC911", "loss.class_weights", message, weights, hint)
        note = "the weights of the source"
        draft.assume("loss.class_weights", [], note, weights)
    ignored = look("loss.ignore_index")
    if ignored is not None:
        label = number(ignored)
        shown = ignored.expression if label is None else f"{label:g}"
        message = f"labels of {shown} count for nothing; in a recipe those of -100 do"
        hint = "write -100 in your rows, and normalize_by: token"
        draft.note("CC911", "loss.target", message, ignored, hint)
    counted = look("loss.mean_over")
    if counted is not None:
        message = "Paddle 3 divides this mean by all labels; a recipe by those that count"
        hint = "losses with ignored labels are larger in the recipe, as in Paddle 2 and PyTorch"
        draft.note("CC911", "accumulation.normalize_by", message, counted, hint)


def _smoothing(fact: Fact, draft: Draft) -> None:
    share = number(fact)
    if share is not None and 0 <= share < 1:
        draft.put("loss.label_smoothing", float(share), fact)
        return
    note = f"{fact.expression or fact.value} is not known"
    draft.assume("loss.label_smoothing", 0.0, note, fact)
