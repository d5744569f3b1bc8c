#!/usr/bin/env bats
# The pictures: what they show is what the journal has, their words can be read, and make picture-04
# and make trace-04 serve a reader's own run. What the book does with them is in book.bats.

load ../suite

setup_file() {
    local program programs
    as_typed tools/setup.sh pictures >"$BATS_FILE_TMPDIR/setup" 2>&1 || {
        PICTURES_LACK=$(tail -n 1 "$BATS_FILE_TMPDIR/setup" | cut -c 1-300)
        export PICTURES_LACK
        return 0
    }
    export JOURNALS=$BATS_FILE_TMPDIR/journals
    mkdir "$JOURNALS"
    # Of 05_cost it is known that it makes ten thousand calls.
    mapfile -t programs < <(lessons | grep -v 05_cost | sed 's|^|build/simulator/solutions/|')
    programs+=(build/simulator/{docs/programs/{pool,server,model_return},tests/grading/busy})
    make -s BACKEND=simulator "${programs[@]}" || return 1
    for program in "${programs[@]}"; do
        SIM_JOURNAL=$JOURNALS/${program##*/} LD_LIBRARY_PATH=build/simulator "$program" >/dev/null
    done
}

setup() { [ -z "${PICTURES_LACK:-}" ] || skip "QuickJS could not be installed: $PICTURES_LACK"; }

# Python with the picture's modules: draws NAME of drawings.py, or runs what stdin has.
python() { PYTHONPATH=docs/extensions build/venv/bin/python3 -B "$@"; }

@test "pictures show what the journal has: allocations, figures, work, waits" {
    run python tests/book/picture_facts.py "$JOURNALS"/*
    assert_success
    assert_output ""
}

@test "to scale: a box has its time, what takes none is a mark, short calls are one box" {
    run python - "$JOURNALS"/{busy,18_pinned_transfers,10_reuse_events} <<'PYTHON'
import json, re, sys
from book import chosen
from book import order_picture, scaled_picture
busy, pinned, events = ([json.loads(line) for line in open(file)] for file in sys.argv[1:])
def words(order, width=720):
    svg = scaled_picture.draw(order, width).svg("x", "the point", "the form")
    found = re.findall(r">([^<]+)</text>", svg)
    print(svg.count('<line class="point"'), "marks;", *found, sep=" | ")
numbers = chosen.choose(busy, "main: launch_fill(work", "main: cudaFree(data)")
order = order_picture.read(busy, (), numbers)
words(order)
print(*scaled_picture.table(order)[1][-1], sep=", ")
calls = ("cudaMemcpyAsync", "launch_add", "cudaStreamSynchronize")
order = order_picture.read(pinned, calls, chosen.choose(pinned, "process 2"))
words(order)
words(order, 356)
try:
    words(order_picture.read(events))
except ValueError as error:
    print(error)
PYTHON
    assert_success
    assert_line --index 0 --regexp '^3 \| marks;.* cudaFree waits [0-9]+ µs .* fill [0-9]+ µs '
    assert_line --index 0 --partial "| allocated, freed |"
    assert_line --index 0 --regexp ' 0 µs \| [0-9]+ µs \| .* Time runs to the right, to scale[.] '
    assert_line --index 1 --regexp '^[0-9.]+, host, cudaFree, waits, [0-9]+ µs$'
    assert_line --index 2 --regexp ' 12 calls in [0-9.]+ µs .* up 3[0-9]+ µs .* down 3[0-9]+ µs '
    assert_line --index 2 --partial "copy up, to the device | copy down, to the host"
    assert_line --index 3 --regexp ' 12 calls in .* 3[0-9]+ µs \| 3[0-9]+ µs '
    assert_line --index 4 "a picture to scale has no arrows between streams"
}

@test "to scale: a call that goes on long after what it waited for is two boxes" {
    run python - "$JOURNALS/server" <<'PYTHON'
import json, re, sys
from book import order_picture, scaled_picture
journal = [json.loads(line) for line in open(sys.argv[1])]
calls = ("cudaMallocAsync", "cudaFreeAsync", "launch_fill", "cudaStreamSynchronize")
svg = scaled_picture.draw(order_picture.read(journal, calls, most=4), 720).svg("x", "p", "f")
print(svg.count('<rect class="waits"'), *re.findall(r">([^<]*(?:waits|goes on)[^<]*)</text>", svg))
PYTHON
    assert_success
    assert_output --regexp "^2 .*goes on for [0-9.]+ µs .*call in which the host waits"
}

@test "what an importer does stands between the exporter's calls, and changes no figure" {
    run python - "$JOURNALS"/16_ipc_pool "$JOURNALS"/16_ipc_pool.* <<'PYTHON'
import json, sys
from book import memory_picture
first, second = ([json.loads(line) for line in open(file)] for file in sys.argv[1:])
journal = list(memory_picture.with_importer(first, second))
for moment in memory_picture.chosen(journal)[0].moments:
    print(*moment.words, moment.used >> 20, moment.reserved >> 20)
PYTHON
    assert_success
    assert_line --index 0 "allocate 40 MiB 40 64"
    assert_line --index 2 "importer adds 40 64"
    assert_line --index 3 "importer frees 40 64"
    assert_line --index 5 "free 0 64"
    assert_line --index 7 "trim keep 0 MiB 0 0"
}

@test "what a full pool refuses stands on what is still pending there, and leads past its limit" {
    local program=docs/clinic/10_tight_memory_wrong journal=$BATS_TEST_TMPDIR/journal
    make -s BACKEND=simulator "build/simulator/$program"
    SIM_JOURNAL=$journal LD_LIBRARY_PATH=build/simulator run "build/simulator/$program"
    assert_failure 1
    run python - "$journal" <<'PYTHON'
import json, re, sys
from book import memory_picture
journal = [json.loads(line) for line in open(sys.argv[1])]
pools = memory_picture.chosen(journal, ("cudaMallocFromPoolAsync", "cudaFreeAsync"))
svg = memory_picture.draw(pools, 720).svg("x", "the point", "the form")
box = re.search(r'<rect class="refused" x="\S+ y="([0-9.]+)" width="\S+ height="([0-9.]+)"', svg)
limit = re.search(r'<line class="limit" x1="\S+ y1="([0-9.]+)"', svg)
top, bottom = float(box[1]), float(box[1]) + float(box[2])
pending = re.search(r'<path class="pending s-1" d="M\S+ ([0-9.]+)', svg)
print(top < float(limit[1]) < bottom, abs(bottom - float(pending[1])) < 4)
PYTHON
    assert_success
    assert_output "True True"
}

@test "without the host a picture has the streams' part; what is not to scale shows no time" {
    run python - "$JOURNALS/10_reuse_events" <<'PYTHON'
import json, sys
from book import chosen
from book import order_picture
journal = [json.loads(line) for line in open(sys.argv[1])]
order = order_picture.read(journal, (), chosen.choose(journal, pool=3), host=False)
print(order.columns, len(order.items), sum(len(item.edges) for item in order.items))
svg = order_picture.draw(order, 356).svg("x", "the point", "the form")
print("cuda" in svg, "rotate" in svg, "µs" in svg, 'class="event"' in svg)
print(*order_picture.table(order)[0])
PYTHON
    assert_success
    assert_line --index 0 --regexp '^\[[0-9]+, [0-9]+\] [0-9]+ 1$'
    assert_line --index 1 "False False False True"
    assert_line --index 2 "µs where what takes"
}

@test "calls are chosen by function and line; a hidden call that changes a figure is an error" {
    run python tests/book/chosen_calls.py
    assert_output ""
}

@test "a text that lies on another one, or leaves its picture, is an error" {
    run python - <<'PYTHON'
from book import svg
def attempt(*texts):
    canvas = svg.Canvas(200)
    try:
        for x, base, words in texts:
            canvas.text(x, base, words)
        print("drawn")
    except ValueError as error:
        print(error)
attempt((0, 20, "one"), (0, 40, "two"))
attempt((0, 20, "one"), (10, 24, "two"))
attempt((0, 20, "one"), (190, 20, "two"))
PYTHON
    assert_line --index 0 "drawn"
    assert_line --index 1 '"two" lies on "one"'
    assert_line --index 2 '"two" leaves the picture'
}

@test "the drawing of costs has every recorded figure, and the one of access every recorded row" {
    local figure
    run python -c '
from book import drawings
print(drawings.DRAWINGS["costs"].table())
print(drawings.DRAWINGS["devices"].table())'
    assert_success
    for figure in $(grep -oE '^~ +[0-9].*  (cuda|pool)' tests/lessons/05_cost/expected/output.txt |
        grep -oE '[0-9]+\.[0-9]+'); do
        assert_output --partial "'$figure'"
    done
    assert_equal "$(grep -oE "'(none|all)', 'GPU [01]'" <<<"$output" | wc -l)" \
        "$(grep -cE '^(none|all) ' tests/lessons/14_peer_access/expected/output.txt)"
}

@test "make picture-08 draws a program that is reported, with the missing edges in red" {
    accepted OPEN= make picture-08
    assert_line --regexp '^hazard: '
    assert_line "Open: $PWD/build/pictures/08_stream_order.html"
    run cat build/pictures/08_stream_order.html
    assert_output --partial "Memory over time"
    assert_output --partial "Stream order"
    assert_output --partial 'class="missing"'
    assert_output --partial "the two accesses with one number"
    assert_output --partial '>add ✗1 ✗2<'
    refute_output --partial "$PWD"
    refute_output --partial 'src="http'
}

@test "make picture-08 FILE=solutions/08_stream_order.c: the events' arrows, and nothing red" {
    accepted OPEN= make picture-08 FILE=solutions/08_stream_order.c
    run cat build/pictures/08_stream_order.html
    assert_output --partial 'class="event"'
    refute_output --partial 'class="missing"'
}

@test "make picture-16 draws both processes" {
    accepted OPEN= make picture-16 FILE=solutions/16_ipc_pool.c
    run cat build/pictures/16_ipc_pool.html
    assert_output --partial "Stream order, process 1"
    assert_output --partial "Stream order, process 2"
}

@test "make picture-01 of a program without a CUDA call says that there is nothing to draw" {
    echo 'int main(void) { return 0; }' >"$BATS_TEST_TMPDIR/none.c"
    run as_typed OPEN= make picture-01 "FILE=$BATS_TEST_TMPDIR/none.c"
    assert_failure
    assert_output --partial "none made no CUDA call, so there is nothing to draw."
}

@test "make trace-10 writes what Chrome's trace format requires" {
    local trace=build/pictures/10_reuse_events.json journal=build/pictures/10_reuse_events.jsonl
    accepted make trace-10 FILE=solutions/10_reuse_events.c
    assert_output --partial "$PWD/$trace"
    run jq -r '
        def need(what; test): if test then empty else what end;
        .traceEvents as $all
        | need("no list of events"; ($all | type) == "array" and ($all | length) > 100),
          ($all[] | need("an unknown phase: \(.ph)"; .ph | IN("X", "i", "C", "M", "s", "f"))),
          ($all[] | need("no process: \(.)"; (.pid | type) == "number")),
          ($all[] | select(.ph != "M")
           | need("no time: \(.)"; (.ts | type) == "number" and .ts >= 0)),
          ($all[] | select(.ph == "X") | need("no duration: \(.)"; .dur >= 0 and (.tid > 0))),
          ($all[] | select(.ph == "i") | need("no scope: \(.)"; .s | IN("t", "p", "g"))),
          ($all[] | select(.ph == "C") | need("no counter: \(.)"; .args | length > 0)),
          ($all | map(select(.ph == "s") | .id)) as $from
        | ($all | map(select(.ph == "f") | .id)) as $to
        | need("arrows without an end"; ($from | sort) == ($to | sort)
              and ($from | unique | length) == ($from | length)),
          ($all | map(select(.ph == "X")) | group_by(.tid)[] | sort_by(.ts) as $row
           | range(1; $row | length)
           | need("slices of a thread overlap: \($row[.])";
                  $row[. - 1].ts + $row[. - 1].dur <= $row[.].ts + 0.001))' "$trace"
    assert_success
    assert_output ""
    # What it has is what the journal has.
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "call")] | length' "$trace")" \
        "$(jq -s 'map(select(.call and (.did | not))) | length' "$journal")"
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "work")] | length' "$trace")" \
        "$(jq -s 'map(select(.did == "run")) | length' "$journal")"
    run jq -r '.traceEvents[] | select(.name == "thread_name") | .args.name' "$trace"
    assert_line "host"
    assert_line "stream 1"
    assert_line "legacy stream"
    assert_equal \
        "$(jq '[.traceEvents[] | select(.name == "pool 2, MiB").args.reserved]|max + 0' "$trace")" \
        "$(jq -s 'map(select(.pool == 2) | .reserved // 0) | max / 1048576' "$journal")"
}

# bats test_tags=long
@test "every picture has a key, and in a browser no text leaves it, lies on another or is small" {
    local width page=$BATS_TEST_TMPDIR/pictures.html
    find_chromium
    need_chromium
    python - "$JOURNALS" >"$page" <<'PYTHON'
import json, sys
from pathlib import Path
from book import drawings, fonts, memory_picture, order_picture, scaled_picture
print("<!DOCTYPE html><meta charset=utf-8><style>body { margin: 16px }")
for sheet in ("colors", "pictures"):
    print(Path(f"docs/_static/{sheet}.css").read_text())
print(fonts.style() + "</style>")
def show(name, draw):
    print('<div class="picture">')
    for form, width in (("wide", 720), ("narrow", 356)):
        svg = draw(width).svg(name + form, name, name)
        assert '<text x="28"' in svg, f"{name}, {width} wide, has no key"  # behind the first sign
        print(f'<div class="{form}">{svg}</div>')
    print("</div>")
for name, drawing in drawings.DRAWINGS.items():
    show(name, drawing.draw)
    heads, rows = drawing.table()
    assert rows and {len(row) for row in rows} == {len(heads)}, f"{name} has no table"
for file in sorted(Path(sys.argv[1]).iterdir()):
    journal = [json.loads(line) for line in file.read_text().splitlines()]
    # Figures in KiB, as those of 21 in the narrow form, touch each other where columns are many.
    if any(line.get("reserved") and "pool" in line for line in journal) and file.name[:2] != "21":
        pools = memory_picture.chosen(journal, most=40)[:6]
        show(f"memory-{file.name}", lambda width: memory_picture.draw(pools, width))
    order = order_picture.read(journal, most=50)
    show(f"order-{file.name}", lambda width: order_picture.draw(order, width))
    runs = order_picture.read(journal, (*order_picture.RUNS, *order_picture.WAITS), most=50)
    show(f"scaled-{file.name}", lambda width: scaled_picture.draw(runs, width))
boxes = Path("tests/book/picture_boxes.js").read_text()
print(f"<script>document.title =\n{boxes}</script>")
PYTHON
    for width in 390 1400; do
        # A phone's scrollbar takes no room.
        run timeout 600 "$CHROMIUM" --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
            "--user-data-dir=$BATS_TEST_TMPDIR/profile" "--window-size=$width,900" --dump-dom \
            "file://$page"
        assert_success
        run grep -o '<title>measured.*</title>' <<<"$output"
        assert_output --regexp '<title>measured [0-9]{4,}: nothing wrong</title>'
    done
}

@test "the rungs of the ladder are one table: pictures read what the journal's words come from" {
    cat >"$BATS_TEST_TMPDIR/rungs.c" <<'C'
#include <stdio.h>
int main(void)
{
#define RUNG(id, name, when, cost, because) \
    printf("%s||%s|%s|%s\n", name, when, cost, because);
#define RUNG_IF(id, name, policy, when, cost, because) \
    printf("%s|%s|%s|%s|%s\n", name, #policy, when, cost, because);
#include "mem/rungs.def"
}
C
    "${CC:-gcc}" -Isimulator "$BATS_TEST_TMPDIR/rungs.c" -o "$BATS_TEST_TMPDIR/rungs"
    run python -c '
from book.rungs import RUNGS
for rung in RUNGS:
    print(*vars(rung).values(), sep="|")'
    assert_output "$("$BATS_TEST_TMPDIR/rungs")"
    # The order is that in which reuse.c tries them.
    run bash -c "sed -n '/^struct reuse_result reuse_take/,/^}/p' simulator/mem/reuse.c |
        sed -nE 's/.*result.rung = [^;R]*(REUSE_[A-Z_]+).*;/\1/p' | grep -v FAILED"
    assert_output "$(sed -nE 's/^RUNG(_IF)?\(([A-Z_]+),.*/REUSE_\2/p' simulator/mem/rungs.def)"
    # Nowhere else stands why an allocation has its memory, or the list of policies.
    local words
    while IFS='|' read -r _ words _ _ because; do
        run grep -rlF --include='*.[ch]' --include='*.py' --include='*.js' -e "$because" \
            ${words:+-e "\"$words\""} simulator docs
        assert_output ""
    done < <("$BATS_TEST_TMPDIR/rungs")
}
