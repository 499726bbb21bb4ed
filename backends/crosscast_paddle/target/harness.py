"""What the parity harness must know of Paddle."""

from __future__ import annotations

from crosscast.targets.harness import Bugs, Edit, Harness, Pace, SmallEpsilon, Updates

_ENTROPY = "    return F.cross_entropy(logits, labels, reduction="

HARNESS = Harness(
    inside="crosscast_paddle.inside",
    numeric_variables=("FLAGS_",),
    rank_variable="PADDLE_TRAINER_ID",
    pace=Pace(factor=1.6),
    float32_betas=True,
    float32_powers=True,
    bugs=Bugs(
        half_mark="paddle.amp.auto_cast(",
        tanh_gelu=Edit("F.gelu(hidden)", "F.gelu(hidden, approximate=True)", file="model.py"),
        no_autocast=(Edit("auto_cast(state.amp, ", "auto_cast(False, ", times=2, or_more=True),),
        # Without auto_cast, which computes losses in float32 whatever it is given.
        half_loss=(
            Edit(
                '    logits = model(**inputs).astype("float32")\n' + _ENTROPY + '"sum")',
                "    logits = model(**inputs)\n"
                "    with paddle.amp.auto_cast(enable=False):\n"
                "    " + _ENTROPY + '"sum").astype("float32")',
            ),
        ),
    ),
    updates=Updates(
        modules=("paddle",),
        notes=("initial weights were drawn alike: initializers are not compared",),
        forced_scaler="loss scaling",
        stays_on_cpu=True,
        without_gpu=("use wrong place", "No available device found"),
        small_epsilon=SmallEpsilon(
            below=2,
            classes=("Adam", "AdamW"),
            variable="CROSSCAST_SMALL_EPSILON",
            note="Adam of Paddle 1 adds epsilon before the bias correction: for these runs both "
            "sides had a very small epsilon",
        ),
    ),
)
