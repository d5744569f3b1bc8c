"""Memory over calls: a row for each call that may change a pool, a column for each segment.

    pool 2: release threshold 48 MiB          MiB   used  reserved
    cudaMallocFromPoolAsync 128 MiB   [####][####][####][####]  128  128
    cudaFreeAsync                     [    ][    ][    ][    ]    0  128
    cudaStreamSynchronize, stream 1   [    ] :    : :    :        0   32

The figures are the journal's. It does not say which segments are mapped, only how many: drawn are
those that allocations lie on, and then the lowest. Rows that only repeat the one before are one
row, with a count, unless they are to stay apart. What a device keeps for graphs is drawn as one
more pool, a launch with all that it allocates, also what it frees. The journal has no watermarks:
each is the most that its figure has been since the call that reset it.
"""

from dataclasses import dataclass, field
from html import escape

MIB = 1 << 20
SEGMENT = 32 * MIB
UINT64_MAX = (1 << 64) - 1
ALLOCATIONS = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
FREES = ("cudaFreeAsync", "cudaFree")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
# Has no row unless the page lists it.
ATTRIBUTE_SET = "cudaMemPoolSetAttribute"
THRESHOLD = "cudaMemPoolAttrReleaseThreshold"
RESETS = {
    "cudaMemPoolAttrUsedMemHigh": "watermark of used reset",
    "cudaMemPoolAttrReservedMemHigh": "watermark of reserved reset",
}
GRAPHS = ("cudaGraphLaunch", "cudaDeviceGraphMemTrim")
SHOWN = ALLOCATIONS + FREES + WAITS + GRAPHS + ("cudaMemPoolTrimTo", "cudaMemPoolDestroy")
# Stands where other pools have their number.
KEPT_FOR_GRAPHS = "graphs"

# The width of a character (12 px monospace), the heights of a row and of a segment.
CHARACTER, ROW, HEIGHT = 7.3, 24, 16


@dataclass
class Row:
    call: str
    label: str
    mapped: frozenset
    given_back: frozenset
    live: tuple  # of (offset, bytes)
    used: int
    reserved: int
    result: str
    high: tuple  # the watermarks of used and reserved
    times: int = 1


@dataclass
class Pool:
    number: int
    threshold: int = 0
    limit: int = 0
    live: dict = field(default_factory=dict)
    mapped: frozenset = frozenset()
    used: int = 0
    reserved: int = 0
    high: dict = field(default_factory=lambda: dict.fromkeys(RESETS, 0))
    rows: list = field(default_factory=list)
    destroyed: bool = False
    over: bool = False  # destroyed, and nothing of it is left
    launch: dict = field(default_factory=dict)  # what the launch on its way has allocated


def mib(count):
    if 0 < count < MIB // 100:
        return "<0.01"
    return f"{count // MIB}" if count % MIB == 0 else f"{count / MIB:.2f}".rstrip("0")


def mapped_segments(pool):
    needed = {
        segment
        for offset, count in {**pool.live, **pool.launch}.values()
        for segment in range(offset // SEGMENT, (offset + count - 1) // SEGMENT + 1)
    }
    count = pool.reserved // SEGMENT
    if len(needed) > count:
        raise ValueError(
            f"pool {pool.number} holds {count} segments, but its allocations lie on {len(needed)}"
        )
    lowest = (segment for segment in range(count + len(needed)) if segment not in needed)
    while len(needed) < count:
        needed.add(next(lowest))
    return frozenset(needed)


def threshold_words(threshold):
    return "UINT64_MAX" if threshold >= 1 << 62 else f"{mib(threshold)} MiB"


def label_of(line):
    call = line["call"]
    if call in ALLOCATIONS:
        return f"{call} {mib(line['bytes'])} MiB"
    if call in WAITS and "stream" in line:
        return f"{call}, stream {line['stream']}"
    if call == "cudaGraphLaunch":
        return f"{call}, graph {line['graph']}"
    if call == "cudaMemPoolTrimTo":
        return f"{call}, keep {mib(line['keep'])} MiB"
    if call == ATTRIBUTE_SET:
        if line["attribute"] == THRESHOLD:
            return f"release threshold: {threshold_words(line['value'])}"
        return RESETS.get(line["attribute"], call) if line["value"] == 0 else call
    return call


def add_row(pool, line, apart):
    mapped = mapped_segments(pool)
    row = Row(
        line["call"],
        label_of(line),
        mapped,
        pool.mapped - mapped,
        tuple(sorted({*pool.live.values(), *pool.launch.values()})),
        pool.used,
        pool.reserved,
        line["result"],
        tuple(pool.high.values()),
    )
    pool.mapped = mapped
    last = pool.rows[-1] if pool.rows else None
    if (
        last
        and not apart
        and (last.label, last.result, last.reserved) == (row.label, row.result, row.reserved)
        and not row.given_back
        and not last.given_back
    ):
        row.times = last.times + 1
        pool.rows[-1] = row
    else:
        pool.rows.append(row)


def raise_watermarks(pool):
    for attribute, figure in zip(RESETS, (pool.used, pool.reserved), strict=True):
        pool.high[attribute] = max(pool.high[attribute], figure)


def read(journal, calls, apart=False):
    """The pools in order of their first row, each with its rows."""
    pools, shown = {}, calls or SHOWN
    for line in journal:
        number = line.get("pool")
        pool = pools.setdefault(number, Pool(number)) if number is not None else None
        if "did" in line:
            if pool and "reserved" in line:
                pool.reserved = line["reserved"]
                raise_watermarks(pool)
            elif line["did"] == "allocate":
                graphs = pools.setdefault(
                    KEPT_FOR_GRAPHS, Pool(KEPT_FOR_GRAPHS, threshold=UINT64_MAX)
                )
                graphs.live[line["allocation"]] = graphs.launch[line["allocation"]] = (
                    line["offset"],
                    line["bytes"],
                )
            elif line["did"] == "free":
                del pools[KEPT_FOR_GRAPHS].live[line["allocation"]]
            continue
        call, succeeded = line["call"], line["result"] == "cudaSuccess"
        if "node" in line:  # captured: nothing of it happens before a launch
            continue
        if call in GRAPHS and KEPT_FOR_GRAPHS in pools:
            pool = pools[KEPT_FOR_GRAPHS]
        if call == "cudaMemPoolCreate" and succeeded:
            pool.limit = line["max_size"]
        elif call == ATTRIBUTE_SET and succeeded and line["attribute"] == THRESHOLD:
            pool.threshold = line["value"]
        elif call == ATTRIBUTE_SET and succeeded and line["attribute"] in RESETS:
            pool.high[line["attribute"]] = 0
        elif call in ALLOCATIONS and succeeded and "allocation" in line:
            pool.live[line["allocation"]] = (line["offset"], line["bytes"])
        elif call in FREES and succeeded and pool:
            del pool.live[line["allocation"]]
        elif call == "cudaMemPoolDestroy" and succeeded:
            pool.destroyed = True
        if pool:
            pool.used = line.get("used", pool.used)
            pool.reserved = line.get("reserved", pool.reserved)
            raise_watermarks(pool)
        touched = [pool] if pool else []
        if not pool and call in WAITS:
            touched = [one for one in pools.values() if one.rows and not one.over]
        for one in touched:
            if call in shown:
                add_row(one, line, apart)
            one.over = one.destroyed and one.used == one.reserved == 0
            one.launch = {}
    found = [pool for pool in pools.values() if pool.rows]
    if not found:
        raise ValueError("no call of it touches a pool")
    return found


def heading(pool):
    if pool.number == KEPT_FOR_GRAPHS:
        return "what device 0 keeps for graphs"
    name = f"the default pool of device {pool.number}" if pool.number < 2 else f"pool {pool.number}"
    if any(row.label.startswith("release threshold") for row in pool.rows):  # the rows show it
        return name
    text = f"{name}: release threshold {threshold_words(pool.threshold)}"
    if pool.limit:
        text += f", maxSize {mib(pool.limit)} MiB"
    return text


def describe(pools, watermarks):
    parts = []
    for pool in pools:
        rows = "; ".join(
            row.label
            + (f", {row.times} times" if row.times > 1 else "")
            + ("" if row.result == "cudaSuccess" else f", {row.result}")
            + (": watermarks {} and {},".format(*map(mib, row.high)) if watermarks else ":")
            + f" used {mib(row.used)}, reserved {mib(row.reserved)}"
            for row in pool.rows
        )
        parts.append(f"{heading(pool)}. {rows}.")
    return "In MiB. " + " ".join(parts)


def draw(journal, identity, title, calls=(), rows=None, apart=False, pools=(), watermarks=False):
    """`calls`: the calls that have a row; `rows`: how many rows of each pool; `apart`: no row has a
    count; `pools`: the numbers of the pools that are drawn, all if empty; `watermarks`: a column
    for each of the two."""
    pools = [pool for pool in read(journal, calls, apart) if not pools or pool.number in pools]
    for pool in pools:
        del pool.rows[rows or len(pool.rows) :]
    segments = max(
        max((segment + 1 for segment in row.mapped), default=1)
        for pool in pools
        for row in pool.rows
    )
    edges = [
        edge
        for pool in pools
        for edge in (pool.threshold, pool.limit)
        if edge <= (segments + 4) * SEGMENT
    ]
    segments = max([segments] + [-(-edge // SEGMENT) for edge in edges])
    labels = max(
        len(row.label)
        + (len(f" × {row.times}") if row.times > 1 else 0)
        + (2 + len(row.result) if row.result != "cudaSuccess" else 0)
        for pool in pools
        for row in pool.rows
    )
    left = round(labels * CHARACTER) + 16
    segment = max(18, min(44, (736 - left - (266 if watermarks else 130)) // segments))
    right = left + segments * segment + 16
    longest_heading = max(len(heading(pool)) for pool in pools)
    columns = ("used", "high", "reserved", "high") if watermarks else ("used", "reserved")
    edges_of_columns = [right + 44 + 68 * number for number in range(len(columns))]
    width = max(edges_of_columns[-1] + 4, round(longest_heading * 8.6))
    y, out = 18, []

    def x_of(offset):
        return left + offset * segment / SEGMENT

    def rectangle(kind, x, top, wide, high):
        out.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{top}" width="{wide:.1f}" height="{high}"/>'
        )

    def text(kind, x, base, words):
        out.append(f'<text class="{kind}" x="{x:.1f}" y="{base}">{escape(words)}</text>')

    for edge, words in zip(edges_of_columns, columns, strict=True):
        text("figure", edge, y, words)
    for pool in pools:
        y += 6
        text("heading", 0, y + 14, heading(pool))
        y += ROW
        top = y
        for row in pool.rows:
            words = (
                row.label
                + (f" × {row.times}" if row.times > 1 else "")
                + ("" if row.result == "cudaSuccess" else f": {row.result}")
            )
            text("call" if row.result == "cudaSuccess" else "call refused", 0, y + 13, words)
            for number in row.mapped:
                rectangle("segment", left + number * segment, y, segment, HEIGHT)
            for offset, count in row.live:
                rectangle(
                    "used", x_of(offset), y + 2, max(3.0, count * segment / SEGMENT), HEIGHT - 4
                )
            for number in row.given_back:
                rectangle("gone", left + number * segment, y, segment, HEIGHT)
            figures = (row.used, row.reserved)
            if watermarks:
                figures = (row.used, row.high[0], row.reserved, row.high[1])
            for edge, figure in zip(edges_of_columns, figures, strict=True):
                text("figure", edge, y + 13, mib(figure))
            y += ROW
        for kind, edge in ("threshold", pool.threshold), ("limit", pool.limit):
            if (kind == "threshold" or edge) and edge <= segments * SEGMENT:
                x = x_of(edge) + (4 if kind == "limit" and pool.limit == pool.threshold else 0)
                out.append(
                    f'<line class="{kind}" x1="{x:.1f}" y1="{top - 4}" x2="{x:.1f}" y2="{y - 4}"/>'
                )
    y += 10
    x = 0
    words = {
        "used": "used",
        "segment": "reserved, in segments of 32 MiB",
        "gone": "returned by this call",
        "threshold": "release threshold",
        "limit": "maxSize",
    }
    keys = [
        (kind, words[kind])
        for kind in words
        if any(f'class="{kind}"' in element for element in out)
    ]
    for kind, words in keys:
        if x + 30 + len(words) * 6.6 > width:
            x, y = 0, y + 20
        if kind in ("threshold", "limit"):
            out.append(f'<line class="{kind}" x1="{x + 10}" y1="{y}" x2="{x + 10}" y2="{y + 14}"/>')
        else:
            rectangle(kind, x, y, 20, 14)
        text("key", x + 26, y + 12, words)
        x += 26 + round(len(words) * 6.6) + 16
    y += 22
    description = escape(describe(pools, watermarks))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" role="img" '
        f'width="{width}" height="{y}" viewBox="0 0 {width} {y}" '
        f'aria-labelledby="{identity}-title {identity}-text">'
        f'<title id="{identity}-title">{escape(title)}: memory over calls</title>'
        f'<desc id="{identity}-text">{description}</desc>{"".join(out)}</svg>'
    )
