"""Is position less smooth in a model that adds than in one that reads? Song & Zhong, 4.3, errors over seeds.

    python benchmarks/addition_smoothness.py DIR [--corpus python-docs] [--seeds 3] [--preset quick] [--picture FILE]

Trains the `addition` preset and a character model of the same layers, width, length and positions for every seed,
surveys both on text that they never saw, and compares the share of the positional Gram matrix that lies in the lowest
third of the frequencies, layer by layer. Runs that DIR holds are not made again.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

import armillary as arm
from armillary.figures.kit.colours import RUN_1, RUN_2
from armillary.figures.kit.style import axes, panels, titled
from armillary.measures.errors.seeds import claimed_change, seed_mean
from armillary.training.presets import settings_of
from armillary.training.tasks.addition import problem_length

ADDS, READS = "addition", "characters"
CONTEXTS = 256


def main() -> None:
    """Train, survey, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", default="python-docs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args()
    sums = settings_of("addition", chosen.preset)
    length = problem_length(sums.digits_to)
    low = length // 3 - 1
    found: dict[str, list[np.ndarray]] = {ADDS: [], READS: []}
    for seed in range(chosen.seeds):
        same = {"layers": sums.layers, "heads": sums.heads, "width": sums.width}
        read = {**same, "corpus": chosen.corpus, "context": length}
        found[ADDS].append(share(trained("addition", chosen, seed, {}), length, low))
        found[READS].append(share(trained("shakespeare-chars", chosen, seed, read), length, low))
    values = {name: np.array(rows) for name, rows in found.items()}
    told(values, low, length)
    if chosen.picture:
        drawn(values, low, length).write_image(chosen.picture)


def trained(name: str, chosen: argparse.Namespace, seed: int, settings: dict[str, Any]) -> Path:
    """The folder of a trained model, made if it is not there."""
    folder = chosen.folder / f"{name}-{seed}"
    if not (folder / "training.nc").exists():
        begun = (folder / "settings.json").exists()
        arm.train(name, out=folder, preset=chosen.preset, seed=seed, resume=begun, report=False, **settings)
    return Path(folder)


def share(folder: Path, length: int, low: int) -> np.ndarray:
    """r_K of every layer, surveyed on what was kept from the model."""
    surveyed = folder / "survey"
    if not surveyed.exists():
        options = {"contexts": CONTEXTS, "length": length, "report": False, "progress": False}
        arm.survey(arm.load(folder / "model"), folder / "heldout.jsonl", out=surveyed, **options)
    return np.asarray(arm.open(surveyed).results["position"].low_frequency_share.values[:, low])


def told(values: dict[str, np.ndarray], low: int, length: int) -> None:
    """A table: both models by layer, mean and standard error over seeds, and the verdict on their difference."""
    print(f"share of the positional Gram matrix in frequencies 0 to {low} of {length - 1} positions, ± SE over seeds")
    seeds = {name: rows.mean(axis=1) for name, rows in values.items()}
    for layer in range(values[ADDS].shape[1]):
        rows = {name: [100 * part for part in seed_mean(each[:, layer])] for name, each in values.items()}
        print(
            f"layer {layer}: " + ", ".join(f"{name} {mean:.1f} ± {error:.1f} %" for name, (mean, error) in rows.items())
        )
    for name, each in seeds.items():
        mean, error = seed_mean(each)
        print(f"mean over layers, {name}: {100 * mean:.1f} ± {100 * error:.1f} % ({np.round(100 * each, 1)})")
    print(finding(values))
    print("less smooth than a language model over all layers:", claimed_change(seeds[ADDS] - seeds[READS], -1))


def drawn(values: dict[str, np.ndarray], low: int, length: int) -> go.Figure:
    """Both models by layer: every seed, and the mean with its standard error."""
    figure = panels(height=420)
    for (name, rows), colour in zip(values.items(), (RUN_1, RUN_2), strict=True):
        layers = np.arange(rows.shape[1])
        mean, error = (100 * part for part in seed_mean(rows.T))
        bars = {"type": "data", "array": error, "color": colour}
        figure.add_trace(go.Scatter(x=layers, y=mean, error_y=bars, name=name, line={"color": colour}))
        for row in rows:
            dots = go.Scatter(x=layers, y=100 * row, mode="markers", marker={"color": colour, "size": 5})
            figure.add_trace(dots.update(showlegend=False, opacity=0.6))
    axes(figure, "layer", f"share in frequencies 0 to {low}, %", range=[0, 103])
    figure.update_xaxes(dtick=1)
    return titled(figure.update_layout(width=800), finding(values))


def finding(values: dict[str, np.ndarray]) -> str:
    """In which layers a model that adds is less smooth, each by its own 95 % interval over seeds."""
    apart = values[ADDS] - values[READS]
    less = [layer for layer, each in enumerate(apart.T) if claimed_change(each, -1) == "holds"]
    where = f"in layer {', '.join(map(str, less))} of 0 to {apart.shape[1] - 1}" if less else "in no layer"
    return f"Position is less smooth in models that add than in models that read {where} (± SE over seeds)"


if __name__ == "__main__":
    main()
