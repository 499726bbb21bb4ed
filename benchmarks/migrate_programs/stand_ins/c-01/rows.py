"""Made-up text with audio and its spectrogram; an even alignment."""

import data_utils
import monotonic_align
import small_vits as small_vits
import torch


class Rows(torch.utils.data.Dataset):
    lengths = [40] * 60

    def __init__(self, files, settings):
        self.channels, self.hop = settings.filter_length // 2 + 1, settings.hop_length

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        text = torch.randint(1, 20, (6,), generator=made)
        spectrogram = torch.rand(self.channels, 40, generator=made)
        return text, spectrogram, 0.1 * torch.randn(1, 40 * self.hop, generator=made).clamp(-3, 3)


def even(values, mask):
    frames, letters = values.shape[1:]
    place = torch.arange(frames) * letters // frames
    return torch.nn.functional.one_hot(place, letters).to(values).expand_as(values) * mask


data_utils.TextAudioLoader, monotonic_align.maximum_path = Rows, even
