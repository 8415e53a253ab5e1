"""Shapes in signatures are checked while the tests run."""

import os

from jaxtyping import install_import_hook

if os.environ.get("ARMILLARY_SHAPES", "1") == "1":
    install_import_hook("armillary", "beartype.beartype")
