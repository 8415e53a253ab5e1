"""Mean attention maps: the heads that differ most."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.figures.heads.maps import most_unlike


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 99))
def test_maps_are_shown_once_and_a_lone_kind_is_among_them(count, seed):
    maps = np.full((20, 3, 3), 1 / 3)
    lone = seed % 20
    maps[lone] = np.eye(3)
    chosen = most_unlike(maps, count)
    assert len(set(chosen)) == count
    assert lone in chosen
