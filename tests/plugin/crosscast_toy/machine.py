"""What the toy can do on a machine: everything."""

import json

NATIVE = dict.fromkeys(("float32", "bfloat16", "float16"), True)

if __name__ == "__main__":
    print(json.dumps({"version": "1", "devices": ["toy"], "native": NATIVE, "note": ""}))
