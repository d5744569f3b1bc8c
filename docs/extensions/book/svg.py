"""A picture with a box for each of its texts: shapes and text on a canvas, written as SVG.

The width of a picture is given, and its height is what it needs. Each text has a box, measured with
the widths of DejaVu Sans, which is wider than the fonts that most readers have. A text that would
leave the canvas or lie on another one is an error, so a picture that is drawn is readable.

Colors and fonts are classes, which docs/_static/pictures.css defines. A class begins with "s-" for
a stream's color. Text is 12 px high or more, and pictures are shown in their own size.
"""

from html import escape

# For each character from the space on, in thousandths of the font's size; then in bold.
SANS = (
    "318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 "
    "636 636 636 337 337 838 838 838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863 "
    "748 787 603 787 695 635 611 732 684 989 685 611 685 390 337 390 838 500 500 613 635 550 635 "
    "615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592 525 636 "
    "337 636 838"
)
BOLD = (
    "348 456 521 838 696 1002 872 306 457 457 523 838 380 415 380 365 696 696 696 696 696 696 "
    "696 696 696 696 400 400 838 838 838 580 1000 774 762 734 830 683 683 821 837 372 372 775 "
    "637 995 837 850 733 850 770 720 682 812 774 1103 771 724 725 457 365 457 838 500 500 675 "
    "716 593 716 678 435 716 712 343 343 665 343 1042 712 687 716 716 493 595 478 712 652 924 "
    "645 652 582 712 365 712 838"
)
REGULAR, STRONG = (
    {chr(32 + number): int(width) / 1000 for number, width in enumerate(widths.split())}
    for widths in (SANS, BOLD)
)
WIDEST, MONOSPACE = 0.84, 0.602
# The height of a line of text, how far its letters rise above the base, and fall below.
LINE, RISE, FALL = 16, 10, 3
STREAM_COLORS = 4

GAP = 2  # the least between two texts


def text_width(words, kind=""):
    kinds = kind.split()
    size = 14 if "heading" in kinds else 12
    if "code" in kinds:
        return len(words) * MONOSPACE * size
    strong = {"heading", "bold", "good", "bad", "waits"} & set(kinds)
    widths = STRONG if strong else REGULAR
    return sum(widths.get(letter, WIDEST) for letter in words) * size


def wrapped(words, width, kind=""):
    """The words in lines that fit into the width; a word that does not fit has its own line."""
    lines = []
    for word in words.split():
        if lines and text_width(f"{lines[-1]} {word}", kind) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def stream_class(stream, streams):
    """A stream's color, by its place among the streams of the picture."""
    if stream == "legacy":
        return "s-legacy"
    numbered = [one for one in streams if one != "legacy"]
    return f"s-{numbered.index(stream) % STREAM_COLORS + 1}"


def stream_name(stream):
    if isinstance(stream, str):
        return stream if stream.startswith("stream ") else f"{stream} stream"
    return f"stream {stream}"


def short(number):
    return f"{number:.1f}".removesuffix(".0")


class Canvas:
    def __init__(self, width):
        self.width, self.height = width, 0
        self.back, self.front, self.top = [], [], []  # what lies below what; words are on top
        self.boxes, self.kinds = [], set()

    def reach(self, bottom):
        self.height = max(self.height, bottom)

    # ---- shapes ----

    def put(self, element, behind=False):
        (self.back if behind else self.front).append(element)

    def plate(self, x, y, width, height):
        """A ground for words that lie on shapes."""
        self.top.append(
            f'<rect class="plate" x="{short(x)}" y="{short(y)}" width="{short(width)}" '
            f'height="{short(height)}" rx="2"/>'
        )

    def shape(self, kind):
        self.kinds.update(kind.split()[:1])
        return f'class="{kind}"'

    def box(self, kind, x, y, width, height, radius=0, behind=False):
        self.put(
            f'<rect {self.shape(kind)} x="{short(x)}" y="{short(y)}" width="{short(width)}" '
            f'height="{short(height)}"{f" rx={chr(34)}{radius}{chr(34)}" if radius else ""}/>',
            behind,
        )
        self.reach(y + height)

    def hatched(self, kind, x, y, width, height, apart=7):
        """A box with lines that rise from left to right. Every second one is drawn downward, and
        each is placed from where the one before ended, in whole pixels: so a page has few
        digits."""
        wide, high = int(width), int(height)
        strokes, at = [], (0, 0)
        for along in range(apart, wide + high + 1, apart):
            ends = [
                (max(0, along - high), min(along, high)),
                (min(along, wide), max(0, along - wide)),
            ]
            for move, end in zip("ml", ends if along // apart % 2 else reversed(ends)):
                right, down = end[0] - at[0], end[1] - at[1]
                # Along the border, which is drawn anyway, a line is shorter to write.
                by = f"{move}{right} {down}".replace(" -", "-") if down else f"h{right}"
                strokes.append(by)
                at = end
        border = f"M{short(x)} {short(y)}h{short(width)}v{short(height)}h{short(-width)}z"
        self.put(f'<path {self.shape(kind)} d="{border}{"".join(strokes)}"/>')
        self.reach(y + height)

    def line(self, kind, *points, behind=False):
        if len(points) == 2:
            (x, y), (to_x, to_y) = points
            self.put(
                f'<line {self.shape(kind)} x1="{short(x)}" y1="{short(y)}" '
                f'x2="{short(to_x)}" y2="{short(to_y)}"/>',
                behind,
            )
        else:
            path = " ".join(f"{short(x)},{short(y)}" for x, y in points)
            self.put(f'<polyline {self.shape(kind)} points="{path}"/>', behind)
        self.reach(max(y for _, y in points))

    def arrow(self, kind, *points, behind=False):
        """A line whose last point has an arrowhead."""
        self.line(kind, *points, behind=behind)
        (from_x, from_y), (x, y) = points[-2:]
        length = ((x - from_x) ** 2 + (y - from_y) ** 2) ** 0.5 or 1
        along, across = (x - from_x) / length, (y - from_y) / length
        corners = [
            (x, y),
            (x - 8 * along - 4 * across, y - 8 * across + 4 * along),
            (x - 8 * along + 4 * across, y - 8 * across - 4 * along),
        ]
        path = " ".join(f"{short(a)},{short(b)}" for a, b in corners)
        self.put(f'<polygon class="arrowhead {kind}" points="{path}"/>', behind)

    # ---- words ----

    @staticmethod
    def text_box(x, base, words, kind, anchor):
        width = text_width(words, kind)
        left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        return (left, base - RISE, left + width, base + FALL)

    def holds(self, box):
        return box[0] >= -0.5 and box[2] <= self.width + 0.5 and box[1] >= -0.5

    def free(self, box):
        return self.holds(box) and all(self.free_of(box, other) for other, _ in self.boxes)

    def text(self, x, base, words, kind="", anchor="start", optional=False):
        """Returns whether it was written: an optional text is left out where there is no room."""
        box = self.text_box(x, base, words, kind, anchor)
        if not self.free(box):
            if optional:
                return False
            if not self.holds(box):
                raise ValueError(f'"{words}" leaves the picture')
            others = [other for place, other in self.boxes if not self.free_of(box, place)]
            raise ValueError(f'"{words}" lies on "{others[0]}"')
        self.boxes.append((box, words))
        attributes = f'class="{kind}" ' if kind else ""
        if anchor != "start":
            attributes += f'text-anchor="{anchor}" '
        self.top.append(
            f'<text {attributes}x="{short(x)}" y="{short(base)}">{escape(words)}</text>'
        )
        self.reach(base + FALL + 1)
        return True

    @staticmethod
    def free_of(box, other):
        return not (
            box[0] < other[2] + GAP
            and other[0] < box[2] + GAP
            and box[1] < other[3]
            and other[1] < box[3]
        )

    def paragraph(self, x, base, words, kind="", width=None):
        """Returns the base of the next line."""
        for line in wrapped(words, width or self.width - x, kind):
            self.text(x, base, line, kind)
            base += LINE
        return base

    # ---- the key ----

    def key(self, *entries):
        """Below what is drawn: a sign and its meaning, for each (kind, words).

        A kind is a class of a rectangle, or of a line if "line" is its last word.
        """
        x, y = 0, self.height + 14
        for kind, words in entries:
            room = min(30 + text_width(words), self.width)
            if x and x + room > self.width:
                x, y = 0, y + 20
            if kind.endswith(" line"):
                self.line(kind.removesuffix(" line"), (x, y + 7), (x + 22, y + 7))
            elif kind.endswith(" arrow"):
                self.arrow(kind.removesuffix(" arrow"), (x, y + 7), (x + 22, y + 7))
            elif kind.startswith("pending"):
                self.hatched(kind, x, y, 22, 14)
            else:
                self.box(kind, x, y, 22, 14, 2)
            below = self.paragraph(x + 28, y + 11, words, "", self.width - x - 30)
            y = below - LINE - 11
            x += room + 16
        self.reach(y + 20)

    def svg(self, identity, title, description):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'width="{short(self.width)}" height="{short(self.height)}" '
            f'viewBox="0 0 {short(self.width)} {short(self.height)}" '
            f'aria-labelledby="{identity}-title" aria-describedby="{identity}-desc">'
            f'<title id="{identity}-title">{escape(title)}</title>'
            f'<desc id="{identity}-desc">{escape(description)}</desc>'
            f"{''.join(self.back + self.front + self.top)}</svg>"
        )
