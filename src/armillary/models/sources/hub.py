"""Hub ids: one snapshot folder at one commit, through huggingface_hub and so by its cache, mirror and offline rules."""

import re
from pathlib import Path
from typing import Any

from armillary.errors import SourceError
from armillary.models.sources.checkpoints import Checkpoint, Terms
from armillary.models.sources.quiet import quiet

_SMALL = ["*.json", "*.txt", "*.model", "*.jinja", "README.md"]
_SAFE = ["model.safetensors", "model-*.safetensors"]
_PICKLES = ["pytorch_model*.bin"]


def snapshot(repo: str, terms: Terms, unknown: str) -> Checkpoint:
    """The checkpoint of a hub id; `unknown` is what to say when the hub has no such id."""
    patterns = _SMALL + (_SAFE if terms.weights else []) + (["*.py"] if terms.remote_code else [])
    folder = _fetched(repo, terms, patterns, unknown)
    if terms.weights and (folder / "config.json").is_file() and not list(folder.glob("*.safetensors")):
        if not terms.pickles:
            raise SourceError(
                f"expected safetensors at the hub id {repo!r}, got none: if it has pickles, which could run code, "
                "allow them with allow_pickle=True (--allow-pickle); they are read weights-only"
            )
        folder = _fetched(repo, terms, patterns + _PICKLES, unknown)
    return Checkpoint(folder, kind="hub", revision=folder.name, licence=_licence(folder))


def _fetched(repo: str, terms: Terms, patterns: list[str], unknown: str) -> Path:
    from huggingface_hub import errors, snapshot_download
    from huggingface_hub.utils import disable_progress_bars, enable_progress_bars

    limits: dict[str, Any] = {
        "revision": terms.revision,
        "local_files_only": terms.local_files_only,
        "allow_patterns": patterns,
    }
    disable_progress_bars()
    try:
        with quiet():
            return Path(snapshot_download(repo, **limits))
    except errors.GatedRepoError as error:
        raise SourceError(
            f"expected access to the hub id {repo!r}, got a gated model: accept its terms on the hub and log in"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise SourceError(f"expected revision {terms.revision!r} of {repo!r}, got none: check its name") from error
    except errors.RepositoryNotFoundError as error:
        raise SourceError(f"{unknown} (the hub has no such id, or it is private)") from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise SourceError(f"{unknown} (not in the hub's cache, and no connection to the hub)") from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        why = str(error).strip().splitlines()[0]
        raise SourceError(f"expected the hub id {repo!r}, got an error: {why[:300]}") from error
    finally:
        enable_progress_bars()


def _licence(folder: Path) -> str:
    try:
        head = (folder / "README.md").read_text(encoding="utf-8", errors="replace")[:4000]
    except OSError:
        return ""
    found = re.search(r"^license:[ \t]*([\w.+-]+)", head, flags=re.MULTILINE)
    return found[1] if found else ""
