"""How the documentation site is built: `make docs`. Pages ask for nothing outside their own folder."""

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the directives of `making`

# The kernel of the notebooks warns at its start that this machine could listen to itself: only errors are shown.
kernel = tempfile.TemporaryDirectory(prefix="armillary-docs-")  # goes when the build ends
profile = Path(kernel.name) / "profile_default"
profile.mkdir()
(profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = kernel.name

from armillary import __version__  # noqa: E402

project = "Armillary"
author = "The Armillary contributors"
copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "making"]
exclude_patterns = ["making", "pictures", "static"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other projects in signatures: their sites are not here

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True
nb_ipywidgets_js = {}

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
add_module_names = False
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = f"Armillary {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Armillary"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {page: [] for page in ("index", "install", "tutorial", "gallery")}  # they stand alone
html_context = {"default_mode": "auto"}
