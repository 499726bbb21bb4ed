"""The diagnostic codes of the TensorFlow backend."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC320",
        "loss scale without settings",
        "keras.optimizers.LossScaleOptimizer doubles and halves, without bounds or hysteresis, "
        "and counts micro-batches; the script implements its own loss scale.",
    ),
    Code(
        "CC321",
        "no finite check of a static loss scale",
        "Keras applies infinite gradients under a static scale (loss_scale_factor, or "
        "dynamic=False in Keras 2); the script skips the step.",
    ),
    Code(
        "CC322",
        "epsilon before the bias correction",
        "Adam and AdamW of Keras add epsilon to the raw second moment, which matters for small "
        "gradients and first steps; the script implements the optimizer as in PyTorch. For the "
        "variant of Keras write eps_placement: before_correction.",
    ),
    Code(
        "CC323",
        "weight decay is always decoupled",
        "weight_decay of every Keras optimizer shrinks the weights; the script adds the decay of "
        "SGD and Adam to the gradients.",
    ),
    Code(
        "CC324",
        "learning rate inside the momentum",
        "keras.optimizers.SGD multiplies gradients by the rate before it sums them; this differs "
        "if the rate changes. The script applies the rate after the momentum; for the variant of "
        "Keras write rate_in_momentum: true.",
    ),
    Code(
        "CC325",
        "clip formula differs",
        "Clipping by norm in Keras and TensorFlow has no epsilon and no exempt weights, and "
        "clipping by global norm turns all gradients into nan when the norm overflows; the "
        "script implements clipping.",
    ),
    Code(
        "CC326",
        "accumulation loses micro-batches",
        "With gradient_accumulation_steps Keras checks, scales and counts per micro-batch, and "
        "asks its schedule for the number of the micro-batch. The script sums the gradients of a "
        "window itself.",
    ),
    Code(
        "CC327",
        "gradients are reduced too late",
        "Under a strategy Keras 3 clips and looks for overflows before it sums the gradients of "
        "the processes: one overflow destroys the weights, or the other processes wait forever. "
        "The script averages the gradients of a window first, and has its own optimizer, which "
        "sums nothing.",
    ),
    Code(
        "CC328",
        "no elastic launch",
        "TensorFlow has no launcher. Write launch.rendezvous: static; with SLURM, "
        "launch.max_requeues resumes from a checkpoint.",
    ),
    Code(
        "CC329",
        "layer norms are recognized by name",
        "Keras gives the weights of every normalization layer the names gamma and beta, so the "
        "role layer_norm also means batch and group normalization.",
    ),
    Code(
        "CC368",
        "no fused attention",
        "On TensorFlow keras.ops.dot_product_attention is made of two products and a softmax: it "
        "keeps the scores and drops nothing. The script computes attention in the same way, in "
        "the types of the recipe, and keeps the result of its softmax, one number per pair of "
        "tokens and head; the same is said by model.attention: explicit.",
    ),
    Code(
        "CC370",
        "loss scale of Keras 2 counts skipped steps",
        "tf.keras.mixed_precision.LossScaleOptimizer doubles and halves down to 1, without other "
        "bounds or hysteresis, and counts a skipped step as an update; the script implements its "
        "own loss scale.",
    ),
    Code(
        "CC371",
        "types are TensorFlow's choice",
        "enable_mixed_precision_graph_rewrite lets TensorFlow choose what runs in float16, on "
        "GPUs only. On a CPU everything would silently stay float32, so the script exits with "
        "code 3 there. It does not support bfloat16.",
    ),
    Code(
        "CC372",
        "dropout of Keras 2 cannot be repeated",
        "The random state of Dropout layers in your model cannot be set, so a resumed run draws "
        "different masks. Dropout in the shipped BERT depends only on the window.",
    ),
    Code(
        "CC373",
        "recomputed dropout differs",
        "Under tf.recompute_grad and keras.remat a Dropout layer draws new masks in the backward "
        "pass: every gradient would be wrong although the loss looks right. Dropout in the "
        "shipped BERT draws from a seed that is an input of the layer.",
    ),
    Code(
        "CC374",
        "LAMB applies weight decay outside its step",
        "keras.optimizers.Lamb leaves weight decay out of the step whose length it adapts; the "
        "script implements LAMB as published.",
    ),
    Code(
        "CC375",
        "Adam always corrects its bias",
        "Keras has no Adam without bias correction; the script does.",
    ),
    Code(
        "CC376",
        "Adafactor adds epsilon elsewhere",
        "keras.optimizers.Adafactor adds epsilon to every square; the script uses it as a floor, "
        "as PyTorch does.",
    ),
    Code(
        "CC377",
        "half weights need float32 copies",
        "Under the policies float16 and bfloat16, Keras updates the half weights, which loses "
        "small updates; the script's optimizer keeps float32 copies.",
    ),
    Code(
        "CC378",
        "one learning rate and one decay for all parameters weights",
        "Keras optimizers have no parameter groups; the script's optimizer has a rate and a "
        "decay for every weight.",
    ),
    Code(
        "CC379",
        "average of the weights",
        "use_ema of Keras 3 averages every micro-batch under gradient_accumulation_steps; the "
        "script averages once per update.",
    ),
    Code(
        "CC332",
        "bias correction in float32",
        "Adam and AdamW of Keras compute 1 - beta**t in float32, which is wrong in the sixth "
        "digit at first; the script computes the corrections in float64.",
    ),
    Code(
        "CC330",
        "half weights in normalization layers",
        "The policies float16 and bfloat16 also apply to normalization layers of your model. "
        'Give them dtype="mixed_float16" or dtype="mixed_bfloat16", as the recipe means.',
    ),
    Code(
        "CC331",
        "half weights, products in float32",
        "Dense layers in Keras compute in the dtype of their weights. Choose precision.mode: "
        "mixed, or ops.matmul: half (compute in version 1).",
    ),
    Code(
        "CC380",
        "statistics of normalization layers",
        "Under a strategy, batch normalization in Keras 3 has separate statistics in every "
        "process, and those of the first process are saved. Layers that wait for all processes "
        "(synchronized=True) need windows of equal length: choose accumulation.tail drop or "
        "carry. In Keras 2 all processes must read the statistics at once: use Keras 3.",
    ),
    Code(
        "CC381",
        "a port for every process",
        "TensorFlow has no launcher that lets nodes find each other, and its processes listen on "
        "all addresses of their machine, whatever TF_CONFIG says. launch.sh asks for the addresses "
        "of all nodes (HOSTS; SLURM knows them) and counts ports up from MASTER_PORT, so that "
        "nodes may share a machine.",
    ),
    Code(
        "CC398",
        "betas of Lion close to 1",
        "Lion in Keras computes 1 - beta in float32: the share of a new gradient in the momentum "
        "is 1.3e-5 off at 0.999, 1.7e-4 at 0.9999 and 1.4e-3 at 0.99999. Where it is more than "
        "1e-4 off, the script defines the class.",
    ),
)
