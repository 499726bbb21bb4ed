"""A dictionary whose keys are attributes."""


class DictConfig(dict):
    def __getattr__(self, name):
        value = self[name]
        return DictConfig(value) if isinstance(value, dict) else value

    def __getitem__(self, name):
        value = super().__getitem__(name)
        return DictConfig(value) if isinstance(value, dict) else value
