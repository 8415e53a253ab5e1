"""What every reader of the fuzz does."""

from pathlib import Path
from typing import Any


class Reader:
    """One kind of input: `begin` makes a valid one, `spoil` another from it in a folder, `read` reads that folder."""

    def begin(self, folder: Path) -> None:
        raise NotImplementedError

    def spoil(self, folder: Path, rng: Any) -> None:
        raise NotImplementedError

    def read(self, folder: Path) -> None:
        raise NotImplementedError
