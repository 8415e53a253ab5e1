"""What is measured from layer to layer."""

from armillary.measures.norms import norm
from armillary.schema.kinds import Group, Variable, axes

GROUPS: dict[str, Group] = {
    "norms": Group(
        "states.nc",
        "lengths of the states",
        {
            "norm": Variable(axes("layer"), "units of the stream", "mean norm of the kept tokens"),
            "norm_se": Variable(axes("layer"), "units of the stream", "its standard error over documents"),
        },
        (norm,),
    ),
}
