"""What the rooms share."""

import numpy as np
import xarray as xr

GROUPS = 16


def over(layers, axis="layer", **values):
    """Variables along the layers."""
    return xr.Dataset({name: (axis, np.broadcast_to(value, layers).astype(float)) for name, value in values.items()})
