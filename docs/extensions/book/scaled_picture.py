"""Stream order to scale: time runs to the right, the host above, a lane for each stream below it.

    host      [8 calls] [ cudaStreamSynchronize waits 1015 µs        ]
    stream 1  [ up 312 µs ][ down 336 µs ]
    stream 2            [ up 337 µs   ][ down 337 µs ]
              0 µs             500 µs            1000 µs

What order_picture.read() found, where lengths are the point. A box is as long as its time, which
stands in it, or above or below it if it is too short. What takes no time is a mark. Many calls that
are too short to be told apart are one box. A dashed line leads from the end of work to the call of
the host that waited for it; what the call takes after that is a box of its own. Such a picture has
no arrows between streams: it refuses what needs one.
"""

from dataclasses import replace

from . import svg
from .order_picture import HOST, NARROW

LANE, LABEL = 26, 18  # the height of a box, and of a line of labels
MARK = 2  # pixels: as wide as the shortest box
LATE = 0.2  # a call that takes this part of its time after what it waited for is two boxes
SHORT, MANY = 6, 5  # below so many pixels a call is short; more than so many in a row are one box
DIRECTIONS = {"HostToDevice": "up", "DeviceToHost": "down"}
MOST_TICKS = {False: 8, True: 4}
STEPS = [digit * 10**power for power in range(-1, 7) for digit in (1, 2, 5)]
KEY = (
    ("call", "call of the host"),
    ("waits", "call in which the host waits for the device"),
    ("copy-up", "copy up, to the device"),
    ("copy-down", "copy down, to the host"),
    ("work s-1", "work of the device"),
    ("point line", "takes no time"),
    ("until line", "the work ends for which the host waited"),
)


def figure(nanoseconds, unit):
    value = nanoseconds / (1_000_000 if unit == "ms" else 1000)
    if value >= 100:
        return f"{value:.0f} {unit}"
    return f"{value:.1f} {unit}" if value >= 0.1 or unit == "µs" else f"{value * 1000:.1f} µs"


def name_of(item):
    direction = DIRECTIONS.get(item.call.get("kind"))
    words = item.words
    if is_copy(item) and direction:
        words = f"{direction}{words.removeprefix('copy')}"
    return f"{words}," if "×" in words else words


def is_copy(item):
    return item.kind == "work" and item.words.startswith("copy")


def class_of(item, streams):
    if is_copy(item) and item.call.get("kind") in DIRECTIONS:
        return f"copy-{DIRECTIONS[item.call['kind']]}"
    if item.kind in ("work", "hold"):
        return f"{item.kind} {svg.stream_class(item.column, streams)}"
    return item.kind


class Drawing:
    def __init__(self, order, width):
        if any(kind != "own" for item in order.items for kind, _ in item.edges):
            raise ValueError("a picture to scale has no arrows between streams")
        self.order, self.canvas, self.narrow = order, svg.Canvas(width), width < NARROW
        self.hosts = [column for column in order.columns if str(column).startswith(HOST)]
        self.streams = [column for column in order.columns if column not in self.hosts]
        end = max(item.finish[0] for item in order.items)
        self.span = end - order.zero
        self.unit = "ms" if self.span >= 10_000_000 else "µs"
        names = [svg.text_width(order.names[column], "bold") for column in order.columns]
        self.left = 1 if self.narrow else max(names) + 12
        self.scale = (width - self.left - 4) / self.span
        self.kinds, self.lanes = set(), {}
        self.y = 0
        for column in order.columns:
            self.lane(column)
        self.untils()
        self.axis()
        self.canvas.paragraph(0, self.canvas.height + 18, "Time runs to the right, to scale.")
        self.canvas.key(*(row for row in KEY if row[0].split()[0] in self.kinds))

    def x(self, time):
        return self.left + (time - self.order.zero) * self.scale

    def boxes(self, column):
        """(first item, last one, class, words) of each box of the lane, from left to right."""
        found, short = [], []

        def flush():
            if len(short) > MANY:
                first, last = short[0], short[-1]
                calls = sum(len(item.call.get("merged", [1])) for item in short)
                took = figure(last.finish[0] - first.start[0], self.unit)
                found.append((first, last, "call", [f"{calls} calls in {took}"]))
            else:
                found.extend(one for item in short for one in self.parts(item))
            short.clear()

        for item in (item for item in self.order.items if item.column == column):
            wide = self.x(item.finish[0]) - self.x(item.start[0])
            near = not short or self.x(item.start[0]) - self.x(short[-1].finish[0]) < SHORT
            if item.kind != "call" or wide >= SHORT or not near:
                flush()
            if item.kind == "call" and wide < SHORT:
                short.append(item)
            else:
                found.extend(self.parts(item))
        flush()
        return found

    def waited_for(self, item):
        """The work that ended last of what this call waited for, or None."""
        ended = [
            piece
            for piece in self.order.items
            if item.kind == "waits"
            and piece.kind in ("work", "hold")
            and item.start[0] < piece.finish[0] <= item.finish[0]
            and ("stream" not in item.call or piece.call["stream"] == item.call["stream"])
        ]
        return max(ended, key=lambda piece: piece.finish, default=None)

    def parts(self, item):
        """The boxes of an item."""
        last = self.waited_for(item)
        if not last or item.finish[0] - last.finish[0] < LATE * (item.finish[0] - item.start[0]):
            return [(item, item, *self.looks(item))]
        first, rest = replace(item, finish=last.finish), replace(item, start=last.finish)
        took = figure(rest.finish[0] - rest.start[0], self.unit)
        words = f"goes on for {took}"
        later = (rest, rest, "call", [f"{name_of(item)} {words}", words, took])
        return [(first, first, *self.looks(first)), later]

    def looks(self, item):
        """Its class, and its words, then shorter ones that are enough inside its box."""
        took = figure(item.finish[0] - item.start[0], self.unit)
        kind = class_of(item, self.streams)
        if item.kind == "point":
            return kind, [item.words]
        if item.kind == "waits":
            return kind, [f"{name_of(item)} waits {took}", f"waits {took}", took]
        return kind, [f"{name_of(item)} {took}", *([took] if kind.startswith("copy-") else [])]

    def lane(self, column):
        host, name = column in self.hosts, self.order.names[column]
        boxes = self.boxes(column)
        inside, outside, marks = [], [], []
        for first, last, kind, words in boxes:
            x, end = self.x(first.start[0]), self.x(last.finish[0])
            style = "waits" if kind == "waits" else "on" if kind == "copy-up" else ""
            fits = [one for one in words if svg.text_width(one, style) + 6 <= end - x]
            if fits and first.kind != "point":
                inside.append(((x + end) / 2, fits[0], style))
            elif first.kind == "point" and marks and x - marks[-1] < SHORT:
                outside[-1] = (outside[-1][0], f"{outside[-1][1]}, {words[0]}", "")
            else:
                style = "waits" if kind == "waits" else ""
                room = self.canvas.width - 8
                fits = [one for one in words if svg.text_width(one, style) <= room]
                outside.append((x, (fits or words)[0], style))
            if first.kind == "point":
                marks.append(x)
        if self.narrow:
            self.canvas.text(0, self.y + 14, name, "bold")
            self.y += 20
        places = self.levels(outside)
        room = (1 + max((level for *_, level in places), default=-1)) * LABEL
        top = self.y + (room + 4 if host and room else 0)
        self.lanes[column] = top
        if not self.narrow:
            self.canvas.text(0, top + 17, name, "bold")
        self.canvas.line(
            "stream", (self.left, top + LANE / 2), (self.canvas.width, top + LANE / 2), behind=True
        )
        for first, last, kind, _ in boxes:
            x, end = self.x(first.start[0]), self.x(last.finish[0])
            self.kinds.add(kind.split()[0])
            if kind == "point":
                self.canvas.line("point", (x, top - 2), (x, top + LANE + 2))
            else:
                self.canvas.box(kind, x, top, max(MARK, end - x - 0.5), LANE)
        for x, words, style in inside:
            self.canvas.text(x, top + 17, words, style, "middle")
        for x, begin, words, style, level in places:
            if host:
                base, foot = top - 8 - level * LABEL, top
                self.canvas.line("lead", (x, base + 3), (x, foot), behind=True)
            else:
                base, foot = top + LANE + 16 + level * LABEL, top + LANE
                self.canvas.line("lead", (x, foot), (x, base - 9), behind=True)
            self.canvas.text(begin, base, words, f"halo {style}".strip())
        self.y = top + LANE + 12 + (0 if host else room)
        self.canvas.reach(self.y)

    def levels(self, outside):
        """(x, where its words begin, words, class, level) of each label beside a box, level 0 the
        nearest. What begins further left is further away, so that lines to labels cross nothing
        but words that had to move left of their own line."""
        placed = []
        for x, words, style in sorted(outside, key=lambda one: -one[0]):
            wide = svg.text_width(words, style) + 8
            begin, level = min(x, self.canvas.width - wide), 0
            while any(
                other == level and begin < end and start < begin + wide
                for start, end, *_, other in placed
            ):
                level += 1
            placed.append((begin, begin + wide, x, begin + 4, words, style, level))
        return [one[2:] for one in placed]

    def untils(self):
        """From the end of work to the call that waited for it."""
        for item in self.order.items:
            last = self.waited_for(item)
            if not last:
                continue
            x = self.x(last.finish[0])
            self.kinds.add("until")
            low, high = self.lanes[item.column] + LANE, self.lanes[last.column]
            self.canvas.line("until", (x, low - 4), (x, high + LANE))

    def axis(self):
        base = self.canvas.height + 6
        divisor = 1_000_000 if self.unit == "ms" else 1000
        most = MOST_TICKS[self.narrow]
        step = next(one for one in STEPS if self.span / divisor / one <= most)
        self.canvas.line("axis", (self.left, base), (self.canvas.width, base))
        value = 0
        while value <= self.span / divisor:
            x = self.x(self.order.zero + value * divisor)
            self.canvas.line("axis", (x, base), (x, base + 6))
            words = f"{svg.short(value)} {self.unit}"
            half = svg.text_width(words) / 2
            middle = min(max(x, half), self.canvas.width - half)
            self.canvas.text(middle, base + 20, words, "", "middle")
            value += step
        self.canvas.reach(base + 24)


def draw(order, width):
    return Drawing(order, width).canvas


def table(order):
    rows = []
    for item in order.items:
        words = f"{name_of(item)}, waits" if item.kind == "waits" else name_of(item)
        took = "" if item.kind == "point" else figure(item.finish[0] - item.start[0], "µs")
        begin = (item.start[0] - order.zero) / 1000
        rows.append([f"{begin:.1f}", order.names[item.column], words, took])
    return ["µs", "where", "what", "takes"], rows
