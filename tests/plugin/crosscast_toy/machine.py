"""What toygrad can do on a machine."""

import json

import toygrad

NATIVE = {"float32": True, "bfloat16": False, "float16": False}

if __name__ == "__main__":
    report = {"version": toygrad.__version__, "devices": ["cpu"], "native": NATIVE, "note": ""}
    print(json.dumps(report))
