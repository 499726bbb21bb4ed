"""Diagnostic codes of the Paddle backend."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC340",
        "loss scale has no bounds",
        "paddle.amp.GradScaler falls to 0 and grows to inf; the script keeps its own counters.",
    ),
    Code(
        "CC341",
        "loss scaler disables itself",
        "GradScaler.scale() permanently disables the scaler unless the last auto_cast was "
        "float16; the script always calls it after one.",
    ),
    Code(
        "CC342",
        "static loss scale does not report skipped steps",
        "With use_dynamic_loss_scaling=False, skipped steps are not reported; the script uses a "
        "dynamic scaler that never adjusts.",
    ),
    Code(
        "CC345",
        "mixed precision needs a GPU",
        "On a CPU, paddle.amp.auto_cast computes in float32, and half weights have no kernels; the "
        "script refuses to run there.",
    ),
    Code(
        "CC346",
        "epsilon of LayerNorm out of range",
        "Paddle's layer_norm accepts an epsilon of at most 1e-3.",
    ),
    Code(
        "CC347",
        "a disabled scaler has no scale",
        "In Paddle 2, get_init_loss_scaling() of a disabled GradScaler raises AttributeError; "
        "the script does not call it.",
    ),
    Code(
        "CC348",
        "back-off crashes with NumPy 2.4",
        "When Paddle's GradScaler backs off, it prints the scale with a conversion that NumPy "
        "2.4 rejects; in the script, LossScale backs off instead.",
    ),
    Code(
        "CC349",
        "optimizer not in Paddle",
        "Paddle has neither Lion nor Adafactor; the script defines the class.",
    ),
    Code(
        "CC350",
        "learning rate inside the momentum",
        "Paddle's Momentum multiplies by the rate outside the momentum; the script defines its "
        "own.",
    ),
    Code(
        "CC351",
        "another form of Adam or LAMB",
        "Paddle always corrects the bias and adds epsilon after the correction; the script "
        "defines the class.",
    ),
    Code(
        "CC352",
        "norm of large gradients is wrong",
        "On CPU paddle.linalg.norm, and with it clip_grad_norm_, adds up squares one by one in "
        "float32: 0.02 % too low at a million entries, 2 % at twenty million. The script takes the "
        "root of a sum.",
    ),
    Code(
        "CC353",
        "half weights with float32 copies",
        "With amp.decorate, the float32 weights are internal to the optimizer and gradients are "
        "summed in half; the script keeps the weights in float32 and a half copy of the model.",
    ),
    Code(
        "CC354",
        "sum of gradients in half",
        "Paddle sums the gradients of half weights in half; the sum is cast after the last "
        "micro-batch, before unscaling.",
    ),
    Code(
        "CC355",
        "clipping by the norm of every parameter",
        "ClipGradByNorm works inside the optimizer and has no epsilon; the script implements "
        "clipping.",
    ),
    Code(
        "CC356",
        "parameters that are not clipped",
        "clip_grad_norm_ and clip_grad_value_ ignore need_clip; the script passes them only "
        "the parameters to clip.",
    ),
    Code(
        "CC357",
        "types of operation classes",
        "auto_cast takes lists of operation names, not classes; the model casts explicitly.",
    ),
    Code(
        "CC358",
        "dropout is recomputed on GPUs only",
        "In Paddle 2 recompute(use_reentrant=False) raises RuntimeError on CPU when it must draw "
        "dropout masks again; the script refuses to start there.",
    ),
    Code(
        "CC383",
        "betas close to 1",
        "Kernels of Adam, AdamW and Lamb in Paddle hold the betas in float32 and compute 1 - beta "
        "from them: the share of a new gradient in a moment is 1.3e-5 off at 0.999, 1.7e-4 at "
        "0.9999 and 1.4e-3 at 0.99999. Where it is more than 1e-4 off, the script defines the "
        "class and computes 1 - beta and the bias corrections in float64; in a static graph they "
        "stay as they are.",
    ),
    Code(
        "CC384",
        "no elastic launch",
        "paddle.distributed.launch restarts failed nodes only with an etcd server. Write "
        "launch.rendezvous: static; with SLURM, launch.max_requeues resumes from a checkpoint.",
    ),
    Code(
        "CC369",
        "no fused attention",
        "Before Paddle 3, scaled_dot_product_attention with a mask has a kernel for GPUs and half "
        "precision only: the script has two matrix products and a softmax, which keep their "
        "scores. Write model.attention: explicit, or use Paddle 3.",
    ),
    Code(
        "CC382",
        "VisualDL is not TensorBoard",
        "Paddle's own writer is VisualDL's LogWriter, whose files TensorBoard does not read; the "
        "script writes TensorBoard's with tensorboardX.",
    ),
)
