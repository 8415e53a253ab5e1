"""Small clouds of states that go through the accumulators as a model's would; a tiny model and its windows."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import armillary as arm
from small_survey import llama
from synthetic import pilot_of, plan_for, state_of


@pytest.fixture
def synthetic():
    return SimpleNamespace(plan=plan_for, state=state_of, pilot=pilot_of)


@pytest.fixture(scope="session")
def synthetic_session():
    return SimpleNamespace(plan=plan_for, state=state_of, pilot=pilot_of)


@pytest.fixture(scope="module")
def view():
    torch.set_num_threads(1)
    return llama()


@pytest.fixture(scope="module")
def text():
    return np.random.default_rng(0).integers(3, 97, (300, 16))


@pytest.fixture
def unbroken(view, text, monkeypatch):
    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
    return arm.survey(view, text[:50], progress=False)
