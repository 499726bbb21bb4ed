"""A vocabulary of a made-up size."""


class TextFeaturizer:
    def __init__(self, settings):
        self.num_classes = settings["num_classes"]
