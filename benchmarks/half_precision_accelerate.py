"""BERT of transformers with fused attention in a loop of Accelerate, as its guides write it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator
from transformers import BertConfig, BertForSequenceClassification

MIXED = {"float32": "no", "tf32": "no", "float16": "fp16", "bfloat16": "bf16"}


class Loop:
    """Trains with the sizes, rates, rows and clipping of an emitted script."""

    def __init__(self, script: Any, device: torch.device, precision: str) -> None:
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.manual_seed(script.SETTINGS.seed)
        sizes = importlib.import_module("model")  # the one beside the script
        config = BertConfig(
            vocab_size=sizes.VOCAB_SIZE,
            hidden_size=sizes.HIDDEN_SIZE,
            num_hidden_layers=sizes.LAYERS,
            num_attention_heads=sizes.ATTENTION_HEADS,
            intermediate_size=sizes.INTERMEDIATE_SIZE,
            max_position_embeddings=sizes.MAX_POSITIONS,
            num_labels=sizes.LABELS,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        self.accelerator = Accelerator(
            cpu=device.type == "cpu",
            mixed_precision=MIXED[precision],
            gradient_accumulation_steps=script.SETTINGS.accumulation_steps,
        )
        self.script, self.device = script, device
        bare = BertForSequenceClassification(config).to(device).train()
        optimizer = torch.optim.AdamW(
            bare.parameters(),
            lr=script.LEARNING_RATE,
            betas=script.BETAS,
            eps=script.EPS,
            weight_decay=script.WEIGHT_DECAY,
            fused=True,
        )
        self.model, self.optimizer = self.accelerator.prepare(bare, optimizer)
        self.windows = 0

    def train_window(self, micro_batches: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Train one window; return its mean loss and the norm of its gradients."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.script.learning_rate(self.windows)
        total = torch.zeros((), device=self.device)
        norm: Any = None
        for batch in micro_batches:
            inputs = self.script.to_device(batch, self.device)
            labels = inputs.pop("labels").long()
            with self.accelerator.accumulate(self.model):
                logits = self.model(**inputs).logits
                loss = torch.nn.functional.cross_entropy(logits.float(), labels)
                self.accelerator.backward(loss)
                if self.accelerator.sync_gradients:
                    norm = self.accelerator.clip_grad_norm_(
                        self.model.parameters(), self.script.MAX_NORM
                    )
                self.optimizer.step()
                self.optimizer.zero_grad()
            total += loss.detach()
        self.windows += 1
        mean, length = torch.stack([total / len(micro_batches), norm]).tolist()
        return {"loss": mean, "grad_norm": length}
