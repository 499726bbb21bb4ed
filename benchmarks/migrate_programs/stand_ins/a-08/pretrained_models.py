"""A small encoder, in place of those of transformers."""

import types

import torch


class Config:
    hidden_size = 16

    @classmethod
    def from_pretrained(cls, *ignored, **more):
        return cls()

    def to_dict(self):
        return {"hidden_size": self.hidden_size}


class Encoder(torch.nn.Module):
    config = Config()

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(32, self.config.hidden_size)
        self.LayerNorm = torch.nn.LayerNorm(self.config.hidden_size)

    @classmethod
    def from_pretrained(cls, *ignored, **more):
        return cls()

    def forward(self, input_ids, **more):
        found = self.LayerNorm(self.words(input_ids))
        return types.SimpleNamespace(last_hidden_state=found, hidden_states=(found,))


MODEL_CLASSES = {"bert": (Config, Encoder, None)}
