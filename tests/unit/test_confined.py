"""What a program may change that is run past its errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crosscast_parity.inside import confined

ROOT = Path(confined.__file__).parents[2]
TRIES = """\
import ctypes, multiprocessing, os, pathlib, shutil, socket, subprocess, sys
from crosscast_parity.inside import confined

inside, outside, way = map(pathlib.Path, sys.argv[1:])
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
folders = [str(inside), "/dev", "/no/such/folder"]
held = confined.by_kernel(folders) if str(way) == "kernel" else confined.by_hook(folders)
if held is False:
    sys.exit(77)
(inside / "new.txt").write_text("kept")
(inside / "new.txt").rename(inside / "moved.txt")
(inside / "below").mkdir()
shutil.rmtree(inside / "below")
with open(os.devnull, "w") as nothing:
    nothing.write("x")
assert (outside / "weights.bin").read_text() == "trained for days"

def fails(what):
    try:
        what()
    except PermissionError:
        return
    raise SystemExit(f"{what} was done")

fails(lambda: (outside / "weights.bin").write_text(""))
fails(lambda: open(outside / "weights.bin", "a"))
fails(lambda: (outside / "weights.bin").unlink())
fails(lambda: (outside / "weights.bin").rename(outside / "gone"))
fails(lambda: (inside / "moved.txt").rename(outside / "gone"))
fails(lambda: os.truncate(outside / "weights.bin", 0))
fails(lambda: (outside / "folder").mkdir())
fails(lambda: shutil.rmtree(outside))
fails(lambda: socket.create_connection(server.getsockname()))
overwrites = f"open({str(outside / 'weights.bin')!r}, 'w')"
child = multiprocessing.get_context("spawn").Process(target=exec, args=(overwrites,))
if str(way) == "kernel":
    c = ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    assert not c.fopen(str(outside / "weights.bin").encode(), b"w")
    assert subprocess.run([sys.executable, "-c", overwrites], stderr=subprocess.DEVNULL).returncode
    child.start()
    child.join()
    assert child.exitcode
else:
    fails(lambda: (outside / "weights.bin").chmod(0))
    fails(lambda: os.utime(outside / "weights.bin", (0, 0)))
    fails(lambda: os.chown(outside / "weights.bin", os.getuid(), os.getgid()))
    fails(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", server.getsockname()))
    fails(child.start)
    fails(lambda: multiprocessing.get_context("forkserver").Process(target=print).start())
    fails(lambda: subprocess.run([sys.executable, "-c", overwrites]))
    fails(lambda: os.system("true"))
"""


@pytest.mark.parametrize("way", ["kernel", "hook"])
def test_only_the_copy_is_changed(tmp_path: Path, way: str) -> None:
    inside, outside = tmp_path / "copy", tmp_path / "models"
    inside.mkdir()
    outside.mkdir()
    (outside / "weights.bin").write_text("trained for days")
    (inside / "link").symlink_to(outside)
    done = subprocess.run(
        [sys.executable, "-c", TRIES, str(inside), str(outside), way],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    if done.returncode == 77:
        pytest.skip("this system has no Landlock")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (outside / "weights.bin").read_text() == "trained for days"
    assert [path.name for path in outside.iterdir()] == ["weights.bin"]
    assert (inside / "moved.txt").read_text() == "kept"
