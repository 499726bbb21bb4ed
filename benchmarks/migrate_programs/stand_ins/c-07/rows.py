"""Made-up features of speech with pitch, spectrogram and audio."""

import data_utils
import small_vits as small_vits
import torch

FRAMES = 40


class Rows(torch.utils.data.Dataset):
    def __init__(self, files, settings, **more):
        self.settings = settings

    def __len__(self):
        return 60

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        data = self.settings.data
        features = torch.randn(self.settings.model.ssl_dim, FRAMES, generator=made)
        pitch = 100 + 50 * torch.rand(FRAMES, generator=made)
        spectrogram = torch.rand(data.filter_length // 2 + 1, FRAMES, generator=made)
        audio = 0.1 * torch.randn(1, FRAMES * data.hop_length, generator=made).clamp(-3, 3)
        speaker, voiced = torch.tensor([index % 2]), torch.ones(FRAMES)
        return features, pitch, spectrogram, audio, speaker, voiced, None


data_utils.TextAudioSpeakerLoader = Rows
