"""Run a program with made-up data: paddle.dataset.NAME is the file paddle_dataset_NAME.py."""

import importlib.util
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


class MadeUp:
    @staticmethod
    def find_spec(name, path=None, target=None):
        file = HERE / (name.replace(".", "_") + ".py")
        if name.startswith("paddle.dataset.") and file.exists():
            return importlib.util.spec_from_file_location(name, str(file))
        return None


try:
    from PIL import Image

    Image.ANTIALIAS = getattr(Image, "ANTIALIAS", Image.LANCZOS)  # gone since Pillow 10
except ImportError:
    pass
sys.meta_path.insert(0, MadeUp)
sys.argv = sys.argv[1:]
sys.path.insert(0, str(HERE))
runpy.run_path(sys.argv[0], run_name="__main__")
