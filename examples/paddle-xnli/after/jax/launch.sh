#!/usr/bin/env bash
# paddle-xnli: training for JAX 0.9 or newer (Flax NNX).
# Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
# The processes meet at a free port, or at MASTER_PORT.
free_port='import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
address=127.0.0.1
port=${MASTER_PORT:-$("$python" -c "$free_port")}
export WORLD_SIZE=8 MASTER_ADDR="$address" MASTER_PORT="$port"

processes=()
end_all() {
  kill "${processes[@]}" 2>/dev/null || true
  await_all
  kill -KILL "${processes[@]}" 2>/dev/null || true  # one that waits may be deaf
  wait
}
await_all() {
  for _ in {1..20}; do
    kill -0 "${processes[@]}" 2>/dev/null || break
    sleep 1
  done
}
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for ((rank = 0; rank < 8; rank++)); do
  RANK=$rank LOCAL_RANK=$((rank % 8)) "$python" "$here/train.py" "$@" &
  processes+=("$!")
done

# When one fails, the others find out and say so; those that do not are ended.
code=0
for _ in "${processes[@]}"; do
  wait -n || code=$?
  ((code == 0)) || break
done
if ((code == 127)); then  # of several that end at once, wait -n may miss one
  code=0
  for process in "${processes[@]}"; do
    wait "$process" || code=$?
  done
fi
if ((code)); then
  await_all
  exit "$code"
fi
