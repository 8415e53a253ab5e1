"""Results of a measure compared field by field: some fields are numbers, some arrays."""

import numpy as np


def alike(one, other, **tolerance):
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, **tolerance)


def all_nan(result):
    return all(np.isnan(field).all() for field in result)
