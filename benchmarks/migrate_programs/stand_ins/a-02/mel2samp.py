"""Made-up audio with its spectrogram."""

import torch


class Mel2Samp(torch.utils.data.Dataset):
    def __init__(self, **settings):
        self.length = settings["segment_length"]

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        audio = 0.1 * torch.randn(self.length, generator=made)
        return torch.randn(8, self.length // 256 + 1, generator=made), audio

    def __len__(self):
        return 64
