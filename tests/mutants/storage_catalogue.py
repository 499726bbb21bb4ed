"""The bugs of storage: what a script computes right, or nearly so, and keeps in another type.

One bug has one name in every framework; `torch_storage`, `tensorflow_storage`, `paddle_storage`
and `jax_storage` hold the edits. They are planted into a recipe of version 2 (`storage.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_parity.self_test.mutation import Mutation
from mutants.spelling import Spellings, forms_of

TITLES: Mapping[str, str] = {
    "one_sum_float32": "the second residual sum of every layer is kept in float32",
    "all_sums_float32": "all residual sums are kept in float32",
    "norm_kept_float32": "the LayerNorm of the embeddings is kept in float32, for the next sum",
    "statistics_half": "LayerNorm computes mean and variance in half precision",
    "softmax_sums_half": "the softmax of attention sums its exponentials in half precision",
    "softmax_rounded_twice": "scores are rounded to half precision before the softmax",
    "softmax_float32": "the weights of attention are kept in float32",
    "loss_half": "cross-entropy is computed in half precision",
    "loss_sum_half": "the losses of rows are summed in half precision",
    "window_loss_half": "the losses of micro-batches are summed in half precision",
    "evaluated_loss_half": "the evaluation computes its loss in half precision",
    "embeddings_sum_half": "the embeddings are rounded to half precision and then summed",
    "embeddings_rounded_twice": "the first sum of embeddings is rounded to half precision",
    "table_half": "lookups read a table in half precision",
    "gelu_float32": "one layer's GELU is float32",
    "tanh_float32": "the tanh of the pooler is float32",
    "pooler_float32": "the product of the pooler is float32",
    "classifier_float32": "the product of the classifier is float32",
    "attention_float32": "the products of attention are float32",
    "dropout_scale_half": "dropout multiplies by a scale that was rounded to half precision",
    "dropout_float32": "one dropout of the residual stream is float32",
    "attention_dropout_missing": "attention drops nothing",
    "attention_dropout_twice": "attention drops its weights and its result",
    "attention_scale": "scores are divided by the size of the heads, not its root",
    "attention_unscaled": "scores are not divided",
    "attention_mask_on_queries": "the mask of attention hides queries, not keys",
    "attention_mask_weak": "the mask of attention subtracts 1",
    "stored_other_half": "the results of LayerNorms are rounded to bfloat16",
    "gradients_other_half": "gradients of micro-batches are rounded to bfloat16",
    "masters_rounded": "weights are rounded to half precision after every update",
    "gradients_half": "the gradients of a window are summed in half precision",
    "norm_weights_half": "the weights of LayerNorms are kept in half precision only",
    "copies_stale": "the half copies are those of the first window",
    "copies_late": "the half copies are refreshed after every second window",
    "copies_of_another": "the copies of query and key are swapped",
    "copies_of_biases_stale": "the half copies of biases are not refreshed",
    "copies_stale_on_restore": "restoring a checkpoint makes no half copies",
    "copied_gradients_kept": "gradients of copies are not cleared after they were added",
    "copied_gradients_last": "only the last micro-batch's gradients of copies are used",
    "copied_gradient_missing": "the gradients of LayerNorms' copies are not added",
    "copies_stale_in_evaluation": "the evaluation makes no half copies",
    "softmax_gradient_half": "the gradient of the softmax is computed in half precision",
    "norm_gradient_half": "the gradient of LayerNorm is computed in half precision",
    "decay_of_rounded": "weights decay by their half values",
    "scaled_loss_half": "the loss is scaled in half precision",
}
"""What each bug is, by its name."""
EXEMPT: Mapping[str, str] = {
    "dropout_scale_half": "dropout is of the class `pointwise`, in `half`: what it computes in is"
    " the framework's choice, and so is the type of its scale"
}
"""Why a bug is none by the words of the recipe: it is tried and named, and not counted."""
MISSED: Mapping[tuple[str, str], str] = {
    ("paddle", "copies_stale_in_evaluation"): "the copies are one update old, where the rate is"
    " almost 0: the mean loss stays within what the check allows for bfloat16"
}
"""Why a framework's bug is missed."""


SCALED = ("gradients_other_half", "stored_other_half")
"""Bugs in scripts that scale the loss."""
ANYWHERE = (
    "attention_dropout_missing",
    "attention_dropout_twice",
    "attention_mask_on_queries",
    "attention_mask_weak",
    "attention_scale",
    "attention_unscaled",
)
"""Bugs in all scripts that have their lines; the others are in scripts that store half."""


def stored(mark: str, bugs: Spellings) -> tuple[Mutation, ...]:
    """Return bugs of this catalogue as one framework spells them.

    Args:
        mark: what stands only in scripts that store half.
        bugs: by name.
    """
    return tuple(
        Mutation(
            name=name,
            title=TITLES[name],
            field="",
            expected=(),
            forms=forms_of(spelling),
            needs="" if name in ANYWHERE else "INIT_SCALE = " if name in SCALED else mark,
        )
        for name, spelling in bugs.items()
    )
