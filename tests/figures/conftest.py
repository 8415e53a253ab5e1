"""Made-up runs for the figures."""

import pytest

import made_up


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
