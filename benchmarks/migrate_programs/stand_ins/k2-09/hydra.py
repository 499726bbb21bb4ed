"""Calls the program with small made-up settings instead of those of configs/config.yaml."""

from pathlib import Path

from omegaconf import DictConfig

_PATHS = {"IMAGES_PATH": "data/images", "MASK_PATH": "data/mask"}
SETTINGS = {
    "WORK_DIR": str(Path.cwd()),
    "DATASET": {"TRAIN": _PATHS, "VAL": _PATHS},
    "MODEL": {"TYPE": "unet3plus", "WEIGHTS_FILE_NAME": "model", "BACKBONE": {"TYPE": "vgg16"}},
    "DATA_GENERATOR_TYPE": "TF_GENERATOR",
    "SEED": 5,
    "VERBOSE": 1,
    "DATALOADER_WORKERS": 1,
    "INPUT": {"HEIGHT": 32, "WIDTH": 32, "CHANNELS": 3},
    "OUTPUT": {"CLASSES": 2},
    "HYPER_PARAMETERS": {"EPOCHS": 5, "BATCH_SIZE": 1, "LEARNING_RATE": 5e-5},
    "CALLBACKS": {
        "TENSORBOARD": {"PATH": "checkpoint/logs"},
        "EARLY_STOPPING": {"PATIENCE": 100},
        "MODEL_CHECKPOINT": {
            "PATH": "checkpoint", "SAVE_WEIGHTS_ONLY": True, "SAVE_BEST_ONLY": True,
        },
        "CSV_LOGGER": {"PATH": "checkpoint", "APPEND_LOGS": False},
    },
    "PREPROCESS_DATA": {
        "RESIZE": {"VALUE": False},
        "IMAGE_PREPROCESSING_TYPE": "normalize",
        "NORMALIZE_MASK": {"VALUE": False},
        "SHUFFLE": {"TRAIN": {"VALUE": True}, "VAL": {"VALUE": False}},
    },
    "USE_MULTI_GPUS": {"VALUE": False},
    "OPTIMIZATION": {"AMP": True, "XLA": False},
}  # fmt: skip


def main(**places):
    return lambda function: lambda: function(DictConfig(SETTINGS))
