"""Train with made-up rows, save, and resume from what was saved.

The repository's own script reads an argument that it does not define.
"""

import numpy as np
import tensorflow as tf
from punc_recover.trainer.punc_trainer import PuncTrainer

CONFIG = {
    "running_config": {
        "batch_size": 2, "num_epochs": 2, "outdir": "out", "train_steps_per_batches": 10,
        "eval_steps_per_batches": 1, "log_interval_steps": 4, "eval_interval_steps": 12,
        "save_interval_steps": 3,
    },
    "model_config": {
        "num_layers": 1, "d_model": 4, "enc_embedding_dim": 4, "num_heads": 1, "dff": 4,
        "pe_input": 6, "rate": 0.1,
    },
    "punc_vocab": {"num_classes": 9},
    "punc_biaodian": {"num_classes": 5},
    "optimizer_config": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-6},
}  # fmt: skip


def rows():
    rng = np.random.default_rng(0)
    words = rng.integers(1, 9, (64, 6)).astype(np.int32)
    marks = rng.integers(1, 5, (64, 6)).astype(np.int32)
    features = rng.normal(size=(64, 6, 4)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((words, marks, features)).batch(2)


def trained():
    trainer = PuncTrainer(CONFIG, is_mixed_precision=True)
    trainer.set_total_train_steps(24)
    trainer.compile()
    trainer.set_datasets(rows(), rows())
    trainer.fit(epoch=1)
    return trainer


first = trained()
first.save_checkpoint()
weights = first.model.get_weights()
second = PuncTrainer(CONFIG, is_mixed_precision=True)
second.set_total_train_steps(24)
second.compile()
assert second.steps == first.steps, (second.steps, first.steps)
for old, new in zip(weights, second.model.get_weights(), strict=True):
    np.testing.assert_array_equal(old, new)
second.set_datasets(rows(), rows())
second.fit(epoch=2)
print("resumed at", first.steps, "and trained to", second.steps)
