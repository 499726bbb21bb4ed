"""What the executable of `fork_server.warm_python` runs: a program in a fork of the server.

`python -IS fork_client.py PYTHON SOCKET FOLDER EXECUTABLE [words after python]...`
The server notes in FOLDER/used what the program has used.

It imports little: socket and signal, say, would take as long as all the rest.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # typeshed has none
import _socket as socket
import marshal
import os
import sys

IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def main(python: str, place: str, folder: str, executable: str, words: list[str]) -> None:
    """Ask the server for a fork, forward signals to it, and end as it ends."""
    command, warnings, unbuffered, safe_path = words, [], False, False
    while command[:1] in (["-u"], ["-W"], ["-P"]):
        unbuffered |= command[0] == "-u"
        safe_path |= command[0] == "-P"
        warnings += command[1:2] if command[0] == "-W" else []
        command = command[1 + (command[0] == "-W") :]
    module = command[:1] == ["-m"]
    command = command[module:]
    server = socket.socket(socket.AF_UNIX)
    known = command and not command[0].startswith("-")
    if known and not module:
        known = os.path.isfile(command[0])  # noqa: PTH113
    if not known or server.connect_ex(place):
        os.execv(python, [python, *words])
    ignored = [
        int(number)
        for number in signal.valid_signals() - IGNORED_BY_PYTHON
        if signal.getsignal(number) is signal.SIG_IGN
    ]
    mask = os.umask(0)
    os.umask(mask)
    opened = map(int, os.listdir("/proc/self/fd"))  # noqa: PTH208
    numbers = [number for number in opened if _inherited(number)]
    request = {
        "command": command,
        "module": module,
        "unbuffered": unbuffered,
        "safe_path": safe_path,
        "warnings": warnings,
        "executable": executable,
        "used": f"{folder}/used",
        "folder": os.getcwd(),  # noqa: PTH109
        "umask": mask,
        "variables": dict(os.environ),
        "ignored": ignored,
        "descriptors": numbers,
    }
    body = marshal.dumps(request)
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in numbers)
    size = len(body).to_bytes(8, "little")
    server.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    server.sendall(body)
    for name in FORWARDED:
        if getattr(signal, name) not in ignored:
            signal.signal(getattr(signal, name), lambda number, _: server.send(bytes([number])))
    if server.recv(2) != b"ok":
        for name in FORWARDED:
            if getattr(signal, name) not in ignored:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execv(python, [python, *words])
    for number in {0, 1} & set(numbers):  # a reader must see the program close them
        os.close(number)
    answer = server.recv(16)
    if not answer:
        sys.exit("the server that forks has died")
    code = int(answer)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
