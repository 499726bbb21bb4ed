"""Made-up rows: text, spectrogram, number of the speaker, pitch."""

import data_utils
import torch


class Rows(torch.utils.data.Dataset):
    speaker_ids = None

    def __init__(self, files, hparams, **more):
        self.channels = hparams.n_mel_channels

    def __len__(self):
        return 100

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        text = torch.randint(1, 20, (4 + index % 3,), generator=made).int()
        frames = 5 + index % 4
        mel = torch.randn(self.channels, frames, generator=made)
        return text, mel, index % 4, torch.rand(1, frames, generator=made)


data_utils.TextMelLoader = Rows
