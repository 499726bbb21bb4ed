#!/usr/bin/env bash
# paddle-xnli: training for TensorFlow 2.16 or newer (Keras 3).
# Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}

# WORKERS may say where processes listen ("host:port host:port"); else on free ports.
free_ports='import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(f"127.0.0.1:{one.getsockname()[1]}" for one in held))'
workers=${WORKERS:-$("$python" -c "$free_ports" 8)}
read -ra workers <<<"$workers"
printf -v addresses '"%s", ' "${workers[@]}"

processes=()
end_all() {
  kill "${processes[@]}" 2>/dev/null || true
  wait
}
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for ((index = 0; index < 8; index++)); do
  task="{\"type\": \"worker\", \"index\": $index}"
  export TF_CONFIG="{\"cluster\": {\"worker\": [${addresses%, }]}, \"task\": $task}"
  "$python" "$here/train.py" "$@" &
  processes+=("$!")
done

# When one fails, the others find out and say so; those that do not are ended.
for _ in "${processes[@]}"; do
  wait -n || code=$?
  if [[ ${code:-0} != 0 ]]; then
    for _ in {1..20}; do
      kill -0 "${processes[@]}" 2>/dev/null || break
      sleep 1
    done
    exit "$code"
  fi
done
