"""A tiny rotary model with grouped keys, and a run of it."""

import numpy as np
import pytest

import armillary as arm
from families import tiny_model


def windows(contexts=24, length=20, seed=0):
    """Token ids that repeat now and then, as a text does."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 9, size=(contexts, length)).cumsum(1)
    return 5 + steps % 50


@pytest.fixture(scope="session")
def lens_view():
    return arm.load(tiny_model("llama"), check=False)


@pytest.fixture(scope="session")
def lens_run(lens_view, tmp_path_factory):
    out = tmp_path_factory.mktemp("lens") / "run"
    return arm.survey(lens_view, windows(), out=out, progress=False, report=False)
