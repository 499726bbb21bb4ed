"""Trains in this process for 20 updates, with two images each."""


class Estimator:
    def __init__(self, model_creator, compile_args_creator, config):
        self.model = model_creator(config)
        self.model.compile(**compile_args_creator(config))
        self.config = config

    @classmethod
    def from_keras(cls, model_creator, compile_args_creator, config, **_):
        return cls(model_creator, compile_args_creator, config)

    def fit(self, data, callbacks, **_):
        rows = data(self.config, 2)
        self.model.fit(rows, steps_per_epoch=20, epochs=1, callbacks=callbacks, verbose=2)
