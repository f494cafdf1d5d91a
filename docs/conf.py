"""How Sphinx makes the site: `make docs`.

The source is the repository itself, so that links between files are the same in a checkout and on the site. What is
Sphinx's own lies here and in docs/site; docs/index.md is the first page.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import inventories  # noqa: E402

project = "reactors"
copyright = "the authors of reactors"
release = metadata.version("reactors")
root_doc = "docs/index"
include_patterns = ["docs/**", "examples/README.md", "examples/tour.ipynb", "*.md", "tests/README.md"]
exclude_patterns = [".*", "build", "dist", "runs", "reactors", "runtime", "csrc", "examples/before", "docs/site"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "mathml",
    "public_names",
    "source_pages",
]

# Markdown, as the forge reads it.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # tests/docs runs the notebook; the site shows what is stored in it

# Names in docstrings are between single backticks: a link where there is something of that name, code elsewhere.
default_role = "public"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

# Other projects' inventories are not fetched: a build is the same without a network. See docs/site/inventories.py.
intersphinx_mapping = inventories.written(HERE.parent / "build" / "inventories")

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "reactors"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # which a browser may not fetch from files
html_show_sphinx = False
html_additional_pages = {"index": "to_first_page.html"}
templates_path = ["site/templates"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a6", "color-brand-content": "#5fd3a6"},
}
pygments_style = "tango"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
