"""The manifests of the lessons, as tests/grading/manifest.py reads them."""

from .runs import script_of

_read = script_of("tests/grading/manifest.py")
lessons, manifest, room, cited = _read.lessons, _read.manifest, _read.room, _read.cited
