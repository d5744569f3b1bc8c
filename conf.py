# The book's settings. Its sources are in docs/, what it needs is in tools/requirements.txt, and
# `make docs` builds it.
#
# A book that is published has two addresses, which stand in CITATION.cff: url, where its pages will
# be, and repository-code, where its sources are. BOOK_ADDRESS and BOOK_REPOSITORY in the
# environment (with BOOK_BRANCH, else main) replace them. Without addresses the pages have no links
# to sources, no preview card and no list for search engines.
import gc
import os
import sys
from pathlib import Path

from sphinx.errors import ConfigError

# Sphinx keeps what it makes, millions of objects: to look for garbage among them takes a sixth of
# the build.
gc.disable()
sys.dont_write_bytecode = True  # nothing is made outside build/
sys.path.insert(0, str(Path(__file__).parent / "docs/extensions"))

from book.manifest import cited  # noqa: E402

address = os.environ.get("BOOK_ADDRESS", cited("url"))
repository = os.environ.get("BOOK_REPOSITORY", cited("repository-code"))
for name, value in (("BOOK_ADDRESS", address), ("BOOK_REPOSITORY", repository)):
    if value and not value.startswith(("https://", "http://")):
        raise ConfigError(
            f'{name} is "{value}"; it must begin with https:// or http://, or be unset. '
            "CITATION.cff has its value where the environment has none."
        )

project = "CUDA memory pools"
author = "the workbook's authors"
version = cited("version")
language = "en"
extensions = ["sphinx.ext.extlinks", "sphinx_design", "book"]
NVIDIA = "https://docs.nvidia.com/cuda"
extlinks = {
    "reference": (f"{NVIDIA}/cuda-runtime-api/%s.html", None),
    "guide": (f"{NVIDIA}/cuda-programming-guide/04-special-topics/%s.html", None),
}
exclude_patterns = ["extensions", "fonts", "recorded", "templates"]
templates_path = ["docs/templates"]
highlight_language = "c"
nitpicky = True
smartquotes = False

html_theme = "furo"
html_title = "CUDA memory pools, a workbook in C"
html_baseurl = f"{address.rstrip('/')}/" if address else ""
html_static_path = ["docs/_static"]
html_css_files = ["colors.css", "workbook.css"]
html_js_files = ["site.js"]
html_favicon = "docs/_static/icon.svg"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False}
if repository:
    html_theme_options["source_repository"] = repository
    html_theme_options["source_branch"] = os.environ.get("BOOK_BRANCH") or "main"
    html_theme_options["source_directory"] = "docs/"

epub_title = html_title
epub_author = author
epub_publisher = author
epub_copyright = author
epub_identifier = "cuda-memory-pools"
epub_scheme = "name"
epub_uid = epub_identifier
epub_show_urls = "no"
epub_basename = "cuda-memory-pools"
epub_cover = ("cover.png", "epub-cover.html")
epub_css_files = ["colors.css", "workbook.css"]
epub_exclude_files = ["404.xhtml"]
