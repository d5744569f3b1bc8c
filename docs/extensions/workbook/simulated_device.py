"""The simulated device for a page: docs/live/live.wasm, which `make live` compiles, as a script."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "docs/live/live.wasm"
LOADER = ROOT / "simulator/os/web/device.js"


def script(module=MODULE):
    """One script with the module in it as text, so that a page in a folder can load it too. Its
    bytes are written in hexadecimal digits: a server compresses these to 19 KB less than base64, in
    which equal bytes are other letters at each third place."""
    text = module.read_bytes().hex()
    return f'{LOADER.read_text(encoding="utf-8")}simulatedDevice.wasm = "{text}";\n'


def has(program):
    """Whether the module has a program, such as "solutions/04_release_threshold": it holds the
    names as text (docs/live/main.c)."""
    return f"{program}\0".encode() in MODULE.read_bytes()
