"""No verdict depends on the seed."""

import pytest

from armillary.verdicts.registry import CLAIMS, verdicts


@pytest.mark.nightly
def test_over_twenty_seeds_no_verdict_changes():
    first = {one.id: one.verdict for one in verdicts(list(CLAIMS.values()), 0)}
    for seed in range(1, 20):
        changed = {one.id: one.verdict for one in verdicts(list(CLAIMS.values()), seed) if one.verdict != first[one.id]}
        assert not changed, seed
