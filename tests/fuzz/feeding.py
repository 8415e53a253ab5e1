"""Feed spoilt inputs to a reader: what is read or refused in one line is well, everything else is a find.

As a program, `feeding.py READER FIRST COUNT`, it prints one JSON line: how many were read and refused, and the finds.
"""

import collections
import contextlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

SECONDS, KILOBYTES = 10, 1_000_000


class HangError(BaseException):
    """It takes too long."""


def too_long(*_):
    raise HangError


def fed(name, first, count):
    """How many of `count` inputs, of these seeds, were read and how many refused; and the finds."""
    from readers import READERS

    reader = READERS[name]
    found = collections.Counter()
    finds = []
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        (base / "valid").mkdir()
        reader.begin(base / "valid")
        for seed in range(first, first + count):
            folder = base / str(seed)
            folder.mkdir()
            reader.spoil(folder, np.random.default_rng(seed))
            outcome = one(reader, folder)
            if outcome.startswith(("slow", "hang")):  # once more: what else the machine does, or a pause, is no find
                outcome = one(reader, folder)
            found[outcome.split(":")[0]] += 1
            if outcome not in ("read", "refused"):
                finds.append([seed, outcome])
            shutil.rmtree(folder, ignore_errors=True)
    return dict(found), finds


def one(reader, folder):
    """What becomes of one input: read, refused, or a find in words."""
    from armillary.corpora.parquet import ParquetError
    from armillary.errors import ArmillaryError
    from peak_memory import peak

    before, began = peak(forget=True), time.monotonic()
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, 3 * SECONDS)
    outcome = "read"
    try:
        nowhere = io.StringIO()
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(folder)
    except (ArmillaryError, ParquetError) as error:
        outcome = "refused" if "\n" not in str(error).strip() else f"lines: {error}"
    except HangError:
        outcome = "hang: over 30 s"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if "armillary" in frame.filename]
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
        outcome = (
            f"traceback: {type(error).__name__} {str(error)[:120]!r} {where} {Path(last.filename).name}:{last.lineno}"
        )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if outcome in ("read", "refused") and time.monotonic() - began > SECONDS:
        outcome = f"slow: {time.monotonic() - began:.0f} s"
    if peak() - before > KILOBYTES:
        outcome = "memory: over 1 GB"
    return outcome


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "kit")]
    logging.disable(logging.CRITICAL)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    reader_name, start_seed, how_many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    counts, all_finds = fed(reader_name, start_seed, how_many)
    print(json.dumps({"reader": reader_name, "first": start_seed, "counts": counts, "finds": all_finds}))
