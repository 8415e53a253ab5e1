"""Made-up runs for the figures."""

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("made_up", Path(__file__).with_name("made_up.py"))
made_up = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


@pytest.fixture(scope="session")
def results():
    """A run that holds every result a figure may ask for."""
    return made_up.run_of()


@pytest.fixture(scope="session")
def run_of():
    """Runs of other sizes."""
    return made_up.run_of


@pytest.fixture(scope="session")
def changed():
    """A run with other numbers."""
    return made_up.changed
