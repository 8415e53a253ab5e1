"""Broken machines: commands killed at random moments, and on disks that fill up or return errors.

    faults.py kills TIMES      # each of heads, weights, measure and report
    faults.py disk TIMES       # measure and report, half on a full disk, half with I/O errors

After each fault every file of the run is whole, old or new; after the command is run again the results have the same
bits as if nothing had happened, and no file is left behind. The failing disk is a layer below HDF5 and Python: a small
library in C, loaded before the system's own, whose writes fail after a while.
"""

import contextlib
import ctypes
import errno
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LAYER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static long left = -1;
static int kind = 0;
void fail_after(long calls, int error) { left = calls; kind = error; }
static int fails(int fd) {
    if (left < 0 || fd <= 2) return 0;
    if (left > 0) { left--; return 0; }
    errno = kind;
    return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t write(int fd, const void *b, size_t n) { return fails(fd) ? -1 : REAL(write)(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { return fails(fd) ? -1 : REAL(pwrite)(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { return fails(fd) ? -1 : REAL(pwrite64)(fd, b, n, o); }
int fsync(int fd) { return fails(fd) ? -1 : REAL(fsync)(fd); }
int posix_fallocate(int fd, off_t o, off_t n) { return fails(fd) ? kind : REAL(posix_fallocate)(fd, o, n); }
int posix_fallocate64(int fd, off_t o, off_t n) { return fails(fd) ? kind : REAL(posix_fallocate64)(fd, o, n); }
"""


def with_layer():
    """Start this program again with the failing layer below it, made with the C compiler."""
    folder = Path(tempfile.mkdtemp())
    (folder / "layer.c").write_text(LAYER)
    made = folder / "layer.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, folder / "layer.c", "-ldl"], check=True)
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"LD_PRELOAD": str(made)})


def commands():
    """By name: what is done to a folder with a run."""
    import armillary as arm
    from armillary.probes.reloading import reloaded

    return {
        "heads": lambda folder: arm.heads(arm.open(folder), progress=False),
        "weights": lambda folder: arm.weights(reloaded(arm.open(folder)), arm.open(folder), progress=False),
        "measure": lambda folder: arm.measure(folder),
        "report": lambda folder: arm.report(arm.open(folder)),
    }


def in_child(work):
    """The number of a process that does this, and ends with 0, or with 3 and a line where it was refused."""
    from armillary.errors import ArmillaryError

    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except ArmillaryError as error:
            sys.stderr.write(f"refused: {error}\n")
            code = 3 if "\n" not in str(error) else 4
        finally:
            os._exit(code)
    return child


def ended(child):
    """With what a process ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def bits(folder):
    """Everything in a run's files, read to the last byte; what is not whole is refused here."""
    import armillary as arm

    run = arm.open(folder)
    found = {f"{g}/{n}": v.values for g, node in run.results.children.items() for n, v in node.data_vars.items()}
    page = folder / "report.html"
    assert not page.exists() or page.read_text().rstrip().endswith("</html>"), "half a page"
    return {name: value.tobytes() if value.dtype != object else value.tolist() for name, value in found.items()}


def left_behind(folder):
    """Files that no reader knows."""
    return [path.name for path in folder.rglob("*") if path.suffix not in (".nc", ".html")]


def base(folder):
    """The folder of a small run with a page. It is made in a process of its own: before a fork there are no threads."""

    def made():
        import torch

        import armillary as arm
        import tiny_run

        torch.set_num_threads(1)
        arm.report(tiny_run.surveyed(folder, covariance="attention"))

    assert ended(in_child(made)) == 0
    preload(folder)
    return folder / "run"


def preload(folder):
    """Import here what the commands import, so that a child's time is the command's own."""

    def tried():
        for name, command in commands().items():
            shutil.copytree(folder / "run", folder / f"try-{name}")
            command(folder / f"try-{name}")
        names = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None]
        (folder / "modules").write_text("\n".join(names))

    assert ended(in_child(tried)) == 0
    for name in (folder / "modules").read_text().split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert threading.active_count() == 1, "threads before a fork"


def kills(times, folder):
    """Kill each command at random moments."""
    before, moments = base(folder), random.Random(0)
    for name, command in commands().items():
        shutil.copytree(before, folder / f"{name}-whole")
        began = time.monotonic()
        assert ended(in_child(lambda command=command, name=name: command(folder / f"{name}-whole"))) == 0, name
        duration, expected = time.monotonic() - began, bits(folder / f"{name}-whole")
        temporaries = 0
        for number in range(times):
            run = folder / f"{name}-{number}"
            shutil.copytree(before, run)
            child = in_child(lambda command=command, run=run: command(run))
            time.sleep(moments.uniform(0.2, 1.0) * duration)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            bits(run)
            temporaries += bool(left_behind(run))
            assert ended(in_child(lambda command=command, run=run: command(run))) == 0, (name, number)
            found = bits(run)
            assert found == expected, (name, number, [key for key in expected if found.get(key) != expected[key]][:3])
            assert not left_behind(run), left_behind(run)
            shutil.rmtree(run)
        print(f"{name}: {times} killed, no file damaged, none left behind ({temporaries} kills left one for the next)")


def disk(times, folder):
    """Let the disk fail under a command."""
    fail_after = ctypes.CDLL(None).fail_after
    before, moments = base(folder), random.Random(0)
    for kind in (errno.ENOSPC, errno.EIO):
        refused = 0
        for number in range(times):
            name = ("measure", "report")[number % 2]
            run = folder / f"{kind}-{number}"
            shutil.copytree(before, run)
            old = bits(run)
            calls = moments.randrange(400 if name == "measure" else 3)

            def failing(name=name, run=run, calls=calls, kind=kind):
                fail_after(ctypes.c_long(calls), kind)
                commands()[name](run)

            code = ended(in_child(failing))
            assert code in (0, 3), (number, name, calls, code)
            refused += code == 3
            assert bits(run).keys() == old.keys()
            assert name == "measure" or bits(run) == old
            assert not left_behind(run), left_behind(run)
            shutil.rmtree(run)
        print(f"{os.strerror(kind)}: {times} runs, {refused} refused in one line, old results untouched, nothing left")


if __name__ == "__main__":
    if sys.argv[1] == "disk" and "layer.so" not in os.environ.get("LD_PRELOAD", ""):
        with_layer()
    sys.path.insert(0, str(Path(__file__).parent.parent / "kit"))
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as temporary:
        {"kills": kills, "disk": disk}[sys.argv[1]](int(sys.argv[2]), Path(temporary))
