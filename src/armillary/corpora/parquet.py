"""The texts of a parquet file. This file is also a program: a stranger's file is read in a process with limits.

What a parquet file of a few hundred bytes declares can take gigabytes, and the library that reads it believes it. Texts
come through a pipe, each after its length; a length of −1 ends them and an error in one line follows, −2 is no text.
"""

import gzip
import io
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

COLUMN, ROWS = "text", 256
MEMORY = 1 << 30
LENGTH = struct.Struct("<q")
FAILED, NOTHING = -1, -2


class ParquetError(Exception):
    """What was expected of a file, what was got, and what to do."""


def texts(path: Path, name: str) -> Iterator[str | None]:
    """The texts of a file, row by row; None where a row has none. Errors call the file by `name`."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-P", __file__, str(path), name]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert reader.stdout is not None
    try:
        yield from received(reader.stdout, reader.wait, name)
    finally:
        reader.kill()
        reader.stdout.close()
        reader.wait()


def received(pipe: IO[bytes], ended: Callable[[], int], name: str) -> Iterator[str | None]:
    """The texts that come through a pipe, until whoever sends them has ended well."""
    with pipe:
        while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
            (length,) = LENGTH.unpack(head)
            if not NOTHING <= length <= MEMORY:
                break
            if length == FAILED:
                raise ParquetError(pipe.read().decode("utf-8", "replace"))
            yield None if length == NOTHING else pipe.read(length).decode("utf-8", "replace")
    if head or ended() != 0:
        most = f"{MEMORY >> 30} GB"
        raise ParquetError(f"expected a parquet file in {name}, got one that {most} cannot read: write it again")


def sent(path: str, name: str, out: BinaryIO) -> None:
    """Write the texts of a file into a pipe."""
    import pyarrow
    from pyarrow import parquet

    # Parquet is read from its end, which a gzip stream cannot do.
    source: str | io.BytesIO = path
    if path.endswith(".gz"):
        with gzip.open(path) as packed:
            source = io.BytesIO(packed.read(MEMORY // 4))
    table = parquet.ParquetFile(source, pre_buffer=False)
    names = table.schema_arrow.names
    if COLUMN not in names:
        shown = ", ".join(sorted(map(str, names))[:8]) or "nothing"
        raise ParquetError(f"expected a text column in {name}, got {shown}: rename the one that holds the text")
    kind = table.schema_arrow.field(COLUMN).type
    named = pyarrow.types.is_dictionary(kind)
    if not pyarrow.types.is_string(plain := kind.value_type if named else kind) and not pyarrow.types.is_large_string(
        plain
    ):
        raise ParquetError(f"expected texts in the text column of {name}, got {str(kind)[:60]}: convert them")
    for batch in table.iter_batches(columns=[COLUMN], batch_size=ROWS, use_threads=False):
        column = batch.column(0).dictionary_decode() if named else batch.column(0)
        for value in column:
            raw = None if value.as_buffer() is None else value.as_buffer().to_pybytes()
            if raw is None:
                out.write(LENGTH.pack(NOTHING))
            else:
                raw.decode("utf-8")
                out.write(LENGTH.pack(len(raw)) + raw)


def main(path: str, name: str, out: BinaryIO) -> None:
    """Read one file with little memory, and say what went wrong."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except ImportError:
        pass
    try:
        sent(path, name, out)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, LookupError, MemoryError, EOFError) as error:
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        line = f"expected a parquet file in {name}, got a damaged one ({why}): write it again"
        out.write(LENGTH.pack(FAILED) + line.encode())
    except ParquetError as error:
        out.write(LENGTH.pack(FAILED) + str(error).encode())
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.stdout.buffer)
