"""What the flags of a classic script are for a recipe."""

from __future__ import annotations

from crosscast.recipe import predicates
from crosscast.recipe.document import BertModel, DynamicLossScaling, Recipe, StaticLossScaling
from crosscast.targets.parameter_words import in_words
from crosscast_paddle.target.classic_scripts import LARK, MODELS_BERT, Flag, Script, Value


def flag_values(recipe: Recipe, script: Script) -> dict[str, Value]:
    """Return the flags about which the recipe says something."""
    assert isinstance(recipe.model, BertModel)  # the rows refuse others
    decays = recipe.schedule.name != "inverse_sqrt"
    return {
        "use_cuda": True,
        "do_train": True,
        "verbose": True,
        "num_labels": recipe.model.labels,
        "in_tokens": False,
        "shuffle": recipe.data.shuffle,
        **in_words(
            script.name,
            {
                "batch.micro_batch_size": recipe.batch.micro_batch_size,
                "data.sequence_length": recipe.data.sequence_length,
                "seed": recipe.seed,
                "optimizer.learning_rate": recipe.optimizer.learning_rate,
                "optimizer.weight_decay": recipe.optimizer.weight_decay,
            },
        ),
        "lr_scheduler": "linear_warmup_decay" if decays else "noam_decay",
        "warmup_proportion": warmup_proportion(recipe),
        "use_fp16": predicates.float16(recipe),
        **_scaling_values(recipe, script),
    }


def warmup_proportion(recipe: Recipe) -> float:
    """Return the shortest decimal that gives the warm-up's steps when the script multiplies."""
    schedule = recipe.schedule
    if not schedule.warmup_steps:
        return 0.0
    exact = schedule.warmup_steps / schedule.total_steps
    for digits in range(1, 17):
        # The script rounds the product down.
        short = round(exact, digits)
        if int(schedule.total_steps * short) == schedule.warmup_steps:
            return short
    return (schedule.warmup_steps + 0.5) / schedule.total_steps


def _scaling_values(recipe: Recipe, script: Script) -> dict[str, Value]:
    scaling = recipe.loss_scaling
    fixed = scaling.scale if isinstance(scaling, StaticLossScaling) else 1.0
    if script is LARK:
        return {"loss_scaling": fixed}
    if not isinstance(scaling, DynamicLossScaling):
        return {"use_dynamic_loss_scaling": False, "init_loss_scaling": fixed}
    # ERNIE compares N with count + 1: it grows on clean step N + 1, backs off on bad step N + 1.
    late = 0 if script is MODELS_BERT else 1
    values: dict[str, Value] = {
        "loss_scaling.init_scale": scaling.init_scale,
        "loss_scaling.growth_interval": scaling.growth_interval - late,
        "loss_scaling.hysteresis": scaling.hysteresis - late,
        "loss_scaling.growth_factor": scaling.growth_factor,
        "loss_scaling.backoff_factor": scaling.backoff_factor,
    }
    return {"use_dynamic_loss_scaling": True, **in_words(script.name, values)}


def flag_text(flag: Flag, value: Value) -> str:
    """Return a value as the script's parser reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if flag.kind == "float" else str(value)


def encoder_config(recipe: Recipe) -> dict[str, str | int | float]:
    """Return the encoder's configuration file. Its feed-forward layer is always 4 times wider."""
    model = recipe.model
    assert isinstance(model, BertModel)
    return {
        "attention_probs_dropout_prob": model.dropout,
        "hidden_act": "gelu",
        "hidden_dropout_prob": model.dropout,
        "hidden_size": model.hidden_size,
        "initializer_range": model.init_std,
        "intermediate_size": model.intermediate_size,
        "max_position_embeddings": model.max_positions,
        "num_attention_heads": model.attention_heads,
        "num_hidden_layers": model.layers,
        "type_vocab_size": model.type_vocab_size,
        "vocab_size": model.vocab_size,
    }
