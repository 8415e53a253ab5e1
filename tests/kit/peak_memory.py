"""How much memory this process needed at most, since it was last told to forget."""

import resource
import sys
from pathlib import Path


def peak(forget=False):
    """The most kilobytes that this process had, since it was last told to forget where the system can do that.

    Where it cannot, what takes much hides what comes after it and takes no more.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    if forget:
        Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
