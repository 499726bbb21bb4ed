"""Run one training script as the program it is; then say whether Keras was in half precision.

    python run_script.py [--v1] SCRIPT [ARGUMENT...]

Started with the interpreter that has the framework; `--v1` gives a script of TensorFlow 1 the
`tensorflow.compat.v1` it knows as `tensorflow`. Needs nothing else and Python 3.9.
"""

import runpy
import sys
from pathlib import Path


def main():
    """Run, and tell."""
    arguments = sys.argv[1:]
    if arguments[0] == "--v1":
        import tensorflow.compat.v1 as v1

        v1.disable_v2_behavior()
        sys.modules["tensorflow"] = v1
        arguments = arguments[1:]
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "config"):
        policy = keras.config.dtype_policy()
        print("half", "yes" if policy.compute_dtype in ("float16", "bfloat16") else "no")


if __name__ == "__main__":
    main()
