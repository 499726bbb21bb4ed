"""A classifier in a static graph of Paddle 1, in the form of LARK's and ERNIE's scripts.

The model and the optimizer are functions of other modules, the loss comes back in a tuple, half
weights have float32 copies by hand, and the sizes are in a file that the launch script names.
"""

from __future__ import annotations

TRAIN = """\
\"\"\"Trains a classifier of pairs of sentences.\"\"\"

import argparse
import json

import numpy as np
import paddle.fluid as fluid
from network import create_model, sizes_of
from rates import train_with


def boolean(word):
    return word.lower() in ("true", "t", "1")


parser = argparse.ArgumentParser()
parser.add_argument("--bert_config_path", type=str, default=None)
parser.add_argument("--use_fp16", type=boolean, default=False)
parser.add_argument("--loss_scaling", type=float, default=1.0)
parser.add_argument("--learning_rate", type=float, default=5e-5)
parser.add_argument("--weight_decay", type=float, default=0.01)
parser.add_argument("--warmup_proportion", type=float, default=0.1)
parser.add_argument("--epoch", type=int, default=3)
parser.add_argument("--max_seq_len", type=int, default=512)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--in_tokens", type=boolean, default=False)
parser.add_argument("--random_seed", type=int, default=0)
args = parser.parse_args()
LABELS = ["contradiction", "entailment", "neutral"]


def batches(rows, size):
    for _ in range(args.epoch):
        for first in range(0, len(rows["labels"]), size):
            yield {name: array[first : first + size] for name, array in rows.items()}


def main(args):
    sizes = sizes_of(args.bert_config_path)
    rows = dict(np.load("rows.npz"))
    size = args.batch_size // args.max_seq_len if args.in_tokens else args.batch_size
    total_steps = args.epoch * len(rows["labels"]) // size
    warmup_steps = int(total_steps * args.warmup_proportion)
    program, start = fluid.Program(), fluid.Program()
    program.random_seed = start.random_seed = args.random_seed
    with fluid.program_guard(program, start):
        loss, chances, logits = create_model(args, sizes, num_labels=len(LABELS))
        rate = train_with(loss, program, start, args, warmup_steps, total_steps)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    scope = fluid.global_scope()
    names = [weight.name for weight in program.global_block().all_parameters()]
    np.savez("start.npz", **{name: np.array(scope.find_var(name).get_tensor()) for name in names})
    steps = []
    for batch in batches(rows, size):
        value, now = exe.run(program, feed=batch, fetch_list=[loss, rate])
        steps.append([float(np.ravel(value)[0]), float(np.ravel(now)[0])])
    print(json.dumps(steps))


if __name__ == "__main__":
    main(args)
"""
NETWORK = """\
\"\"\"A classifier of sentences: an encoder of BERT's kind, in a static graph.\"\"\"

import json

import paddle.fluid as fluid
import paddle.fluid.layers as layers


def sizes_of(path):
    with open(path) as file:
        return json.load(file)


def weights(name, spread=0.02):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.TruncatedNormal(scale=spread))


def dense(x, width, name, act=None, axes=2):
    return layers.fc(
        input=x,
        size=width,
        num_flatten_dims=axes,
        act=act,
        param_attr=weights(name + ".w_0"),
        bias_attr=name + ".b_0",
    )


def norm(x, name):
    return layers.layer_norm(
        x,
        begin_norm_axis=2,
        param_attr=fluid.ParamAttr(name=name + "_layer_norm_scale"),
        bias_attr=fluid.ParamAttr(name=name + "_layer_norm_bias"),
    )


def heads_of(x, heads, width):
    x = layers.reshape(x, shape=[0, 0, heads, width // heads])
    return layers.transpose(x, perm=[0, 2, 1, 3])


def block(x, sizes, name):
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    query, key, value = (
        heads_of(dense(x, width, name + "_" + word), heads, width)
        for word in ("query", "key", "value")
    )
    scores = layers.matmul(x=query, y=key, transpose_y=True, alpha=(width // heads) ** -0.5)
    mixed = layers.matmul(layers.softmax(scores), value)
    mixed = layers.transpose(mixed, perm=[0, 2, 1, 3])
    mixed = layers.reshape(mixed, shape=[0, 0, width])
    x = norm(x + dense(mixed, width, name + "_output"), name + "_attention")
    wide = dense(x, sizes["intermediate_size"], name + "_wide", act=sizes["hidden_act"])
    return norm(x + dense(wide, width, name + "_narrow"), name + "_last")


def create_model(args, sizes, num_labels, is_prediction=False):
    \"\"\"Return the loss, the probabilities and the logits; no loss for a prediction.\"\"\"
    length, width = args.max_seq_len, sizes["hidden_size"]
    words = fluid.data("words", [None, length], "int64")
    parts = fluid.data("parts", [None, length], "int64")
    places = fluid.data("places", [None, length], "int64")
    labels = fluid.data("labels", [None, 1], "int64")
    x = fluid.embedding(words, [sizes["vocab_size"], width], param_attr=weights("word"))
    x = x + fluid.embedding(
        places, [sizes["max_position_embeddings"], width], param_attr=weights("place")
    )
    x = x + fluid.embedding(parts, [sizes["type_vocab_size"], width], param_attr=weights("part"))
    x = norm(x, "first")
    for number in range(sizes["num_hidden_layers"]):
        x = block(x, sizes, "layer_%d" % number)
    first = layers.slice(x, axes=[1], starts=[0], ends=[1])
    first = layers.reshape(first, shape=[-1, width])
    pooled = dense(first, width, "pooled", act="tanh", axes=1)
    logits = dense(pooled, num_labels, "classes", axes=1)
    if is_prediction:
        return layers.softmax(logits), logits
    losses, chances = layers.softmax_with_cross_entropy(logits, labels, return_softmax=True)
    loss = layers.mean(x=losses)
    if args.use_fp16 and args.loss_scaling > 1.0:
        loss *= args.loss_scaling
    return loss, chances, logits
"""
RATES = """\
\"\"\"The optimizer: Adam, a rate that rises and falls, decay beside the step.\"\"\"

import paddle.fluid as fluid
from masters import create_master_params_grads, master_param_to_train_param


def linear_warmup_decay(learning_rate, warmup_steps, total_steps):
    with fluid.default_main_program()._lr_schedule_guard():
        rate = fluid.layers.tensor.create_global_var(
            shape=[1], value=0.0, dtype="float32", persistable=True, name="rate"
        )
        step = fluid.layers.learning_rate_scheduler._decay_step_counter()
        with fluid.layers.control_flow.Switch() as switch:
            with switch.case(step < warmup_steps):
                fluid.layers.tensor.assign(learning_rate * (step / warmup_steps), rate)
            with switch.default():
                falling = fluid.layers.learning_rate_scheduler.polynomial_decay(
                    learning_rate=learning_rate,
                    decay_steps=total_steps,
                    end_learning_rate=0.0,
                    power=1.0,
                    cycle=False,
                )
                fluid.layers.tensor.assign(falling, rate)
        return rate


def train_with(loss, program, start, args, warmup_steps, total_steps):
    if warmup_steps > 0:
        rate = linear_warmup_decay(args.learning_rate, warmup_steps, total_steps)
        optimizer = fluid.optimizer.Adam(learning_rate=rate)
    else:
        optimizer = fluid.optimizer.Adam(learning_rate=args.learning_rate)
        rate = args.learning_rate
    limit = 1.0
    if args.use_fp16 and args.loss_scaling > 1.0:
        limit *= args.loss_scaling
    fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=limit))
    before = {}
    if args.use_fp16:
        gradients = optimizer.backward(loss)
        masters = create_master_params_grads(gradients, program, start, args.loss_scaling)
        for weight, _ in masters:
            before[weight.name] = weight * 1.0
            before[weight.name].stop_gradient = True
        optimizer.apply_gradients(masters)
    else:
        for weight in program.global_block().all_parameters():
            before[weight.name] = weight * 1.0
            before[weight.name].stop_gradient = True
        _, masters = optimizer.minimize(loss)
    if args.weight_decay > 0:
        for weight, gradient in masters:
            if "layer_norm" in weight.name or weight.name.endswith(".b_0"):
                continue
            with weight.block.program._optimized_guard([weight, gradient]):
                smaller = weight - before[weight.name] * args.weight_decay * rate
                fluid.layers.assign(output=weight, input=smaller)
    if args.use_fp16:
        master_param_to_train_param(masters, gradients, program)
    return rate
"""
MASTERS = """\
\"\"\"Float32 copies of half weights, by hand.\"\"\"

import paddle.fluid as fluid


def cast_to_float32(source, target, program):
    program.global_block().append_op(
        type="cast",
        inputs={"X": source},
        outputs={"Out": target},
        attrs={
            "in_dtype": fluid.core.VarDesc.VarType.FP16,
            "out_dtype": fluid.core.VarDesc.VarType.FP32,
        },
    )


def cast_to_half(source, target, program):
    program.global_block().append_op(
        type="cast",
        inputs={"X": source},
        outputs={"Out": target},
        attrs={
            "in_dtype": fluid.core.VarDesc.VarType.FP32,
            "out_dtype": fluid.core.VarDesc.VarType.FP16,
        },
    )


def create_master_params_grads(params_grads, program, start, loss_scaling):
    masters = []
    for weight, gradient in params_grads:
        master = program.global_block().create_parameter(
            shape=weight.shape,
            dtype=fluid.core.VarDesc.VarType.FP32,
            name=weight.name + ".master",
        )
        cast_to_float32(start.global_block().var(weight.name), master, start)
        wide = fluid.layers.cast(gradient, "float32")
        if loss_scaling > 1:
            wide = wide / float(loss_scaling)
        masters.append([master, wide])
    return masters


def master_param_to_train_param(masters, params_grads, program):
    for place, pair in enumerate(masters):
        weight, _ = params_grads[place]
        with program._optimized_guard([pair[0], pair[1]]):
            cast_to_half(pair[0], weight, program)
"""
SIZES = """\
{
  "attention_probs_dropout_prob": 0.0,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.0,
  "hidden_size": 16,
  "initializer_range": 0.02,
  "intermediate_size": 64,
  "max_position_embeddings": 32,
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "type_vocab_size": 2,
  "vocab_size": 65
}
"""
LAUNCH = """\
export CUDA_VISIBLE_DEVICES=0
ENCODER="encoder"

python -u train.py --use_fp16 true --loss_scaling 8.0 \\
                   --bert_config_path ${ENCODER}/bert_config.json \\
                   --batch_size 128 --in_tokens true --max_seq_len 16 --epoch 3 \\
                   --learning_rate 0.005 --weight_decay 0.01 --warmup_proportion 0.1 \\
                   --random_seed 1
"""
FILES = {
    "train.py": TRAIN,
    "network.py": NETWORK,
    "rates.py": RATES,
    "masters.py": MASTERS,
    "encoder/bert_config.json": SIZES,
    "run.sh": LAUNCH,
}
"""By path; the main program comes first."""
