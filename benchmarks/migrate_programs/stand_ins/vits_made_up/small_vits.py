"""A small discriminator, and no pictures."""

import models
import torch
import utils
from torch.nn.utils import weight_norm


class Discriminator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            [weight_norm(torch.nn.Conv1d(1, 4, 5, 2)), weight_norm(torch.nn.Conv1d(4, 1, 5, 2))]
        )

    def forward(self, audio):
        first = torch.nn.functional.leaky_relu(self.convs[0](audio), 0.1)
        last = self.convs[1](first)
        return last.flatten(1), [first, last]


class Discriminators(models.MultiPeriodDiscriminator):
    def __init__(self, *ignored):
        torch.nn.Module.__init__(self)
        self.discriminators = torch.nn.ModuleList([Discriminator()])


models.MultiPeriodDiscriminator = Discriminators
for name in ("spectrogram", "alignment", "data"):
    setattr(utils, f"plot_{name}_to_numpy", lambda *ignored: None)
