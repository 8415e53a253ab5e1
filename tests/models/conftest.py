"""Tiny models with random weights, one per family, and the tools to compare what they do with what we read."""

import pytest
import torch

from families import TINY, tiny_model


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def tiny():
    """The builder of tiny models: tiny("llama")."""
    return tiny_model


@pytest.fixture
def tiny_names():
    """The names of all tiny models."""
    return list(TINY)


def relative_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    assert ours.shape == theirs.shape
    return float((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max())


@pytest.fixture
def error():
    """Largest difference over largest value."""
    return relative_error


def pytest_generate_tests(metafunc):
    """A test that asks for `name` runs once per tiny model."""
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", TINY)
    if "padding" in metafunc.fixturenames:
        metafunc.parametrize("padding", ["none", "right", "left"])
