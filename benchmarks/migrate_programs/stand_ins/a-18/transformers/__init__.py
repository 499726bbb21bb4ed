"""Made-up transformers: a small model for answers, and made-up questions."""

import torch

WEIGHTS_NAME = "weights.bin"
MODEL_FOR_QUESTION_ANSWERING_MAPPING = {type("Bert", (), {"model_type": "bert"}): None}
AdamW = torch.optim.AdamW


class AutoConfig:
    @classmethod
    def from_pretrained(cls, *ignored, **more):
        return cls()


AutoTokenizer = AutoConfig


class AutoModelForQuestionAnswering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.ends = torch.nn.Embedding(32, 16), torch.nn.Linear(16, 2)
        self.LayerNorm = torch.nn.LayerNorm(16)

    @classmethod
    def from_pretrained(cls, *ignored, **more):
        return cls()

    def forward(self, input_ids, attention_mask, token_type_ids, start_positions, end_positions):
        first, last = self.ends(self.LayerNorm(self.words(input_ids))).unbind(-1)
        loss = torch.nn.functional.cross_entropy
        return loss(first, start_positions) + loss(last, end_positions), first, last


def get_linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def rate(step):
        return (1 - step / num_training_steps) * min(1.0, (step + 1) / (num_warmup_steps + 1))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


def squad_convert_examples_to_features(**more):
    made = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 32, (200, 8), generator=made)
    places = torch.randint(0, 8, (200,), generator=made)
    parts = (tokens, torch.ones_like(tokens), torch.zeros_like(tokens), places, places, places)
    return [], torch.utils.data.TensorDataset(*parts, places)
