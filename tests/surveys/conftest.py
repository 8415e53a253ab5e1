"""Small clouds of states that go through the accumulators as a model's would."""

from types import SimpleNamespace

import pytest

from synthetic import pilot_of, plan_for, state_of


@pytest.fixture
def synthetic():
    return SimpleNamespace(plan=plan_for, state=state_of, pilot=pilot_of)


@pytest.fixture(scope="session")
def synthetic_session():
    return SimpleNamespace(plan=plan_for, state=state_of, pilot=pilot_of)
