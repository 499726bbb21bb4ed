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
listed=${WORKERS:-$("$python" -c "$free_ports" 8)}
read -ra workers <<<"$listed"
if ((${#workers[@]} != 8)); then
  echo "WORKERS names ${#workers[@]} processes, and there are 8" >&2
  exit 2
fi
address='^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$'
for worker in "${workers[@]}"; do
  if [[ ! $worker =~ $address ]]; then
    echo "'$worker' is not a host and a port (of IPv6: [address]:port)" >&2
    exit 2
  fi
done
printf -v addresses '"%s", ' "${workers[@]}"

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
  task="{\"type\": \"worker\", \"index\": $rank}"
  config="{\"cluster\": {\"worker\": [${addresses%, }]}, \"task\": $task}"
  TF_CONFIG="$config" "$python" "$here/train.py" "$@" &
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
