"""Made-up questions with features of images, and their answers."""

from pathlib import Path

import data
import torch
import utils.save
from absent import Nothing


class Images(dict):
    def __init__(self, *ignored):
        pass

    def __missing__(self, name):
        return None


class Rows(torch.utils.data.Dataset):
    lens = [7] * 400

    def __init__(self, answers, *ignored):
        self.answers = answers

    def __len__(self):
        return len(self.lens)

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        words = torch.randint(1, 30, (4,), generator=made)
        image, places = torch.rand(3, 2048, generator=made), torch.rand(3, 7, generator=made)
        answer = torch.nn.functional.one_hot(words[0] % self.answers, self.answers).float()
        return words, image, places, torch.ones(7, dtype=torch.long), answer


def folders(options):
    for name in ("log", "ckpt"):
        Path(options.output_dir, name).mkdir(parents=True)


data.ConcatDatasetWithLens = lambda parts: parts[0]
data.VqaDataset = data.VqaEvalDataset = Rows
data.ImageLmdbGroup, data.TxtTokLmdb = Images, Nothing
utils.save.save_training_meta = folders
