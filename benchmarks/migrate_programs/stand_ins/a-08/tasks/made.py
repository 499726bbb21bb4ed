"""Classes of sentences."""

import torch
from tasks import MTDNNTask, register_task


@register_task("Classification")
class Classification(MTDNNTask):
    def input_parse_label(self, label):
        return label

    @staticmethod
    def train_prepare_label(batch, **more):
        return torch.tensor([row["label"] for row in batch])
