"""Made-up sentences in two classes."""

import json
import random
from pathlib import Path

made, rows = random.Random(0), []
for number in range(200):
    words = [made.randrange(1, 32) for _ in range(6)]
    row = {"uid": number, "label": words[0] % 2, "token_id": words, "type_id": [0] * 6}
    rows.append(json.dumps(row) + "\n")
Path("made_train.json").write_text("".join(rows))
