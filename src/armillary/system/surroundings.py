"""Where a run was made and what is there: versions, devices, caches, command."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("armillary", "torch", "transformers", "numpy", "scipy", "xarray", "h5netcdf")
EXTRAS = ("datasets", "ray", "umap-learn")


def surroundings() -> dict[str, str | int]:
    """What stands in the provenance of every file: versions, threads, the command that asked, the time."""
    return {
        "versions": ", ".join(f"{name} {installed(name)}" for name in PACKAGES),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
        "command": command(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def threads() -> int:
    """How many threads torch has, where something loaded it; else how many cores there are."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch is not None else os.cpu_count() or 1


def command() -> str:
    """The command line, without the folder of the program; `python -m armillary` is the same command."""
    program = os.path.basename(sys.argv[0])
    return " ".join(["armillary" if program == "__main__.py" else program, *sys.argv[1:]])


def installed(name: str) -> str:
    """A package's version, or that it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def facts() -> dict[str, str]:
    """What `armillary info` prints."""
    import psutil
    import torch

    from armillary.system.caches import cache_dir

    folder = cache_dir()
    held = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
    memory = psutil.virtual_memory()
    return {
        **{name: installed(name) for name in PACKAGES},
        **{name: installed(name) for name in EXTRAS},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "devices": ", ".join(devices()),
        "threads": str(torch.get_num_threads()),
        "memory": f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB free",
        "cache": f"{folder} ({held / 1e6:.0f} MB)",
    }


def devices() -> list[str]:
    """Where a model can run here."""
    import torch

    found = ["cpu"]
    found += [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count())]
    return found + (["mps"] if torch.backends.mps.is_available() else [])
