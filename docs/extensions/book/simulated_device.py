"""The simulated device for a page: docs/live/live.wasm, which `make live` compiles, as a script."""

from pathlib import Path

from .runs import HANDOUT

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "docs/live/live.wasm"
# What may not stand in a string of JavaScript as it is.
ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})
LOADER = ROOT / "simulator/os/web/device.js"


def script(module=MODULE):
    """One script with the module in it as text, so that a page in a folder can load it too. A byte
    is the character of that number: a server compresses these to 10 KB less than hexadecimal
    digits, and to 29 KB less than base64, in which equal bytes are other letters at each third
    place."""
    text = module.read_bytes().decode("latin-1").translate(ESCAPED)
    return f'{LOADER.read_text(encoding="utf-8")}simulatedDevice.wasm = "{text}";\n'


def has(program):
    """Whether the module has a program, such as "solutions/04_release_threshold": it holds the
    names as text (docs/live/main.c)."""
    return not HANDOUT and f"{program}\0".encode() in MODULE.read_bytes()
