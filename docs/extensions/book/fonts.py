"""The book's typefaces, docs/fonts, as a style with the files in it: they are there with the first
word, so that no line moves, and a page that was opened from a file has them too."""

from base64 import b64encode
from pathlib import Path

FONTS = Path(__file__).resolve().parents[2] / "fonts"
# Of each file the family, the weight and the style.
FACES = {
    "serif-600": ("Pool Serif", 600, "normal"),
    "sans-400": ("Pool Sans", 400, "normal"),
    "sans-400-italic": ("Pool Sans", 400, "italic"),
    "sans-600": ("Pool Sans", "600 700", "normal"),
    "mono-400": ("Pool Mono", 400, "normal"),
}


def style():
    # A line of the sans is as high as one of DejaVu, with which pictures are measured (svg.py).
    return "".join(
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-style: {slope}; '
        f"{'ascent-override: 85%; descent-override: 22%; ' if 'Sans' in family else ''}"
        f'src: url("data:font/woff2;base64,'
        f'{b64encode((FONTS / f"{name}.woff2").read_bytes()).decode()}") format("woff2"); }}\n'
        for name, (family, weight, slope) in FACES.items()
    )


def write_style(app):
    """Only of pages: what reads an EPUB has fonts of its own."""
    if app.builder.name == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fonts.css").write_text(style(), encoding="utf-8")
        app.add_css_file("fonts.css", priority=200)


def setup(app):
    app.connect("builder-inited", write_style)
