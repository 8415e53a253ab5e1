"""Runs that were spoilt: their structure, their attributes, their values, their bytes."""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
from mutators import NUMBERS, anything, damaged
from reader import Reader


class Results(Reader):
    """A run: its structure, its attributes, its values, its bytes."""

    def begin(self, folder):
        import tiny_run

        self.run = tiny_run.named(folder).folder
        self.files = sorted(path.name for path in self.run.glob("*.nc"))
        self.guard = guarding()
        self.whole = {file: self.answer(self.run / file) for file in self.files}

    def spoil(self, folder, rng):
        from hostile_results import SPOILT

        name = self.spoilt = self.files[int(rng.integers(len(self.files)))]
        for file in self.files:
            shutil.copy(self.run / file, folder / file)
        path = folder / name
        if rng.random() < 0.3:
            path.write_bytes(damaged(path.read_bytes(), rng))
            return
        with h5py.File(path, "r+") as file:
            file.attrs.pop("armillary_checksums", None)
            for _ in range(int(rng.integers(1, 4))):
                group = file[list(file)[int(rng.integers(len(file)))]]
                if not isinstance(group, h5py.Group) or not len(group):
                    continue
                group.attrs.pop("armillary_checksums", None)
                array = list(group)[int(rng.integers(len(group)))]
                self.change(file, group, array, rng)
            if rng.random() < 0.05 and "norms" in file:
                how = SPOILT[int(rng.integers(len(SPOILT)))]
                if not how.__name__.startswith(("tens", "gzip", "too")):
                    with contextlib.suppress(ValueError, KeyError, OSError, RuntimeError, TypeError):
                        how(file, folder)

    def change(self, file, group, name, rng):
        array = group[name]
        if not isinstance(array, h5py.Dataset):
            return
        match int(rng.integers(7)):
            case 0:
                del group[name]
            case 1:
                place = [file, group, array][int(rng.integers(3))]
                self.attribute(place, rng)
            case 2 if array.dtype.kind in "iuf" and array.size:
                values = array[...].ravel()
                for at in rng.integers(array.size, size=int(rng.integers(1, 5))):
                    number = NUMBERS[int(rng.integers(len(NUMBERS)))]
                    with np.errstate(all="ignore"):
                        values[at] = np.array(float(number)).astype(values.dtype)
                array[...] = values.reshape(array.shape)
            case 3 if array.dtype.kind == "f" and array.size:
                array[...] = np.full(array.shape, [np.nan, np.inf, -1, 0, 1e300][int(rng.integers(5))], array.dtype)
            case 4 if array.dtype.kind == "O" and array.size:
                texts = np.array([str(anything(rng))[:200].replace("\0", "").encode(errors="replace").decode()
                                  for _ in range(array.size)], object)  # fmt: skip
                array[...] = texts.reshape(array.shape)
            case 5:
                shape = tuple(int(size) for size in rng.integers(0, 5, size=int(rng.integers(0, 4))))
                kind = ["f8", "i4", "u1", ">f4", "f2", "S3", "c16"][int(rng.integers(7))]
                del group[name]
                group.create_dataset(name, data=np.zeros(shape, kind))
            case 6:
                others = [other for other in group if other != name]
                if others:
                    other = others[int(rng.integers(len(others)))]
                    del group[name]
                    group[name] = group[other]

    def attribute(self, place, rng):
        names = list(place.attrs)
        name = names[int(rng.integers(len(names)))] if names else "x"
        value = anything(rng)
        try:
            if rng.random() < 0.2:
                del place.attrs[name]
            else:
                value = value if isinstance(value, int | float | str) else json.dumps(value)
                place.attrs[name] = value
        except (ValueError, OverflowError, OSError, KeyError, TypeError, RuntimeError):
            pass

    def answer(self, path):
        """What the guard says of a file."""
        self.guard.stdin.write(f"{path}\n".encode())
        self.guard.stdin.flush()
        return json.loads(self.guard.stdout.readline())

    def answers(self, paths):
        """What it says of the files of a run, of which one is spoilt."""
        return [self.answer(path) if path.name == self.spoilt else self.whole[path.name] for path in paths]

    def read(self, folder):
        from armillary.printing import overview
        from armillary.results import inspection, store

        with mock.patch.object(inspection, "answers", self.answers):
            run = store.open(folder)
            run.results.load()
            overview.overview(run).printed  # noqa: B018


def guarding():
    """A process that asks the guard."""
    from armillary.results import guard

    command = [sys.executable, str(Path(__file__).with_name("guarding.py")), str(Path(guard.__file__).parent)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
