# The book's settings. Its sources are in docs/, what it needs is in docs/requirements.txt, and
# `make docs` builds it.
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is made outside build/
sys.path.insert(0, str(Path(__file__).parent / "docs" / "extensions"))

project = "CUDA memory pools"
author = "the workbook's authors"
extensions = ["sphinx_copybutton", "sphinx_design", "workbook", "live"]
exclude_patterns = ["extensions", "recorded"]
highlight_language = "c"
nitpicky = True
smartquotes = False

html_theme = "furo"
html_title = "CUDA memory pools, a workbook in C"
html_static_path = ["docs/_static"]
html_css_files = ["workbook.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
