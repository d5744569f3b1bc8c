# Lesson 22: a caching allocator on top of one pool. Judges $LESSON: the check calls the cache with
# sequences of its own, and the program replays recorded traces. The figures come from the journal.
load ../grading/check

setup_file() { lesson_setup 22_capstone; }

# ---- the check calls the cache ----

# ask order NUMBER..., ask random SEED, ask small SEED: tests/lessons/asked_cache.h calls the cache.
# Reads the figures of the run.
declare -gA figure
ask() {
    local name value words=${*:2} refused=$CHECK_FOLDER/cache_refused
    [ ! -e "$refused" ] || after_the_rest
    JUDGES_HAZARDS=1 ask_lesson asked_cache 'cache_take, cache_give and cache_trim can be called
        for other traces than those in tests/simulator/traces.' "$@" || {
        : >"$refused"
        return 1
    }
    [ -e "$CHECK_RUN.figures" ] || asked_figures "$1" "$words" >"$CHECK_RUN.figures"
    figure=()
    while IFS='=' read -r name value; do figure[$name]=$value; done <"$CHECK_RUN.figures"
    [ -n "${figure[wrong]}" ] || return 0
    : >"$refused"
    missed "Expected: a part lies in a piece of the pool, has the bytes that are asked for, and
        shares none with another part that is in use; cache_take, cache_give and cache_trim return
        to who called them." "Happened: ${figure[wrong]}."
}

# What the harness asks is computed here once more, from the seed and the places that it printed:
# the journal must have each use of each part, in this order. An order has scenes; a trim begins the
# next one.
asked_figures() {
    [ -s "$journal" ] || return 0
    awk -v mode="$1" -v words="$2" -v answers="$CHECK_RUN/stdout" '
        function text(key) {
            if (!match($0, "\"" key "\":\"[^\"]*"))
                return ""
            return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
        }
        function number(key, none) {
            if (!match($0, "\"" key "\":[0-9]+"))
                return none
            return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
        }
        function below(most) {
            seed = (seed * 1103 + 12345) % 1048576
            return int(seed / 7) % most
        }
        function add(op, id) {
            what[++ops] = op
            who[ops] = id
            scene[ops] = scenes
        }
        function take(some, into) {
            bytes[ids] = some
            stream[ids] = into
            add("take", ids)
            seed = (seed + place[ids]) % 1048576
            live[++lives] = ids
            return ids++
        }
        function give(i) {
            add("give", live[i])
            live[i] = live[lives--]
        }
        function give_id(id, i) {
            for (i = 1; i <= lives; i++)
                if (live[i] == id) {
                    give(i)
                    return
                }
        }
        function in_turn(some, into, n, i) {
            n = split(into, field, " ")
            for (i = 1; i <= n; i++) {
                take(some, field[i])
                give(1)
            }
        }
        function trim() { scenes++ }
        function order(i, used_in, some, left, right) {
            split(words, used_in, " ")
            some = used_in[5] + 0
            left = used_in[6] + 0
            right = used_in[7] + 0
            in_turn(some, used_in[1] " " used_in[2] " " used_in[3])
            trim()
            in_turn(some, used_in[2] " " used_in[2] " " used_in[2] " " used_in[2] " " used_in[3])
            trim()
            in_turn(2 * some, used_in[4])
            take(some, used_in[2])
            take(some, used_in[3])
            give(1)
            give(1)
            trim()
            for (i = 0; i < 6; i++) {
                take(left, used_in[1])
                take(right, used_in[2])
                give(1 + i % 2)
                give(1)
                in_turn(left + right, used_in[1 + int(i / 2)])
                trim()
            }
            take(left, used_in[1])
            take(right, used_in[2])
        }
        function random(i, some, large, now) {
            for (i = 0; i < 10; i++) {
                some[i] = (1 + below(48)) * 1048576
                some[i] -= below(9) * 512
            }
            while (ids < 60) {
                large = ids % 12 == 11
                while (large && lives) give(1 + below(lives))
                now = large ? 600 * 1048576 + 4096 * ids : some[below(10)]
                take(now, below(5))
                while (lives > 6 || lives && below(3) == 0) give(1 + below(lives))
            }
        }
        function small(i, step, layer, new, kept, soon) {
            for (i = 0; i < 40; i++) take(4096 * (1 + below(400)), 0)
            for (step = 1; step <= 12; step++)
                for (layer = 0; layer < 8; layer++) {
                    new = take(65536 * (4 + step), 0)
                    if (step > 1) give_id(kept[layer])
                    kept[layer] = new
                    for (i = 0; i < 3; i++) soon[i] = take(512 * (1 + below(2000)), 0)
                    for (i = 0; i < 3; i++) give_id(soon[i])
                }
        }
        # The peak of live bytes when each size is rounded up to a power of two.
        function powers(i, power, now, most) {
            for (i = 1; i <= ops; i++) {
                for (power = 512; power < bytes[who[i]]; power *= 2) { }
                now += what[i] == "take" ? power : -power
                if (now > most) most = now
            }
            return most
        }
        function refuse(words) { if (wrong == "") wrong = words }
        function shown(id) { return bytes[id] " bytes for streams[" stream[id] "]" }
        # A part is used for the first time: which parts lay there before, of which streams?
        function placed(id, i, n, other, of, from) {
            begin[id] = number("inner_offset", 0)
            at[id] = number("allocation", -1)
            if (!(at[id] in piece))
                refuse("the part of " shown(id) " does not come from the pool")
            else if (begin[id] + bytes[id] > piece[at[id]])
                refuse("the part of " shown(id) " ends behind its piece of " piece[at[id]] " bytes")
            for (i = 0; i < id; i++) {
                if (at[i] != at[id] || begin[i] + bytes[i] <= begin[id] ||
                    begin[id] + bytes[id] <= begin[i]) continue
                if (i in used)
                    refuse("the parts of " shown(i) " and of " shown(id) " overlap, both in use")
                of[stream[i]]
                other += stream[i] != stream[id]
            }
            if (other) moved++
            n = 0
            for (i = 0; i < 8; i++) if (i in of) from = from (n++ ? " and " : "") "streams[" i "]"
            before[id] = n < 2 ? "" : from
            used[id]
            if (++in_use[at[id]] > most) most = in_use[at[id]]
        }
        BEGIN {
            while ((getline line < answers) > 0)
                if (split(line, field, " ") == 9 && field[1] == "cache_take") {
                    if (field[2] + 0 in place) refuse("the program printed " line " again")
                    place[field[2] + 0] = field[9]
                }
            seed = words + 0
            scenes = k = 1
            ids = lives = ops = stage = 0
            if (mode == "order") order()
            if (mode == "random") random()
            if (mode == "small") small()
            while (lives) give(1)
        }
        /"did":"run"/ { next }
        /"did":"hazard"/ {
            if (text("call") ~ /^launch_/) unordered = 1
            else if (text("call") ~ /^cudaFree/) freed_in_use++
            next
        }
        /"did":"exit"/ { left = number("live", 0); next }
        /"did"/ { next }
        {
            call = text("call")
            pool = number("pool", -1)
            allocation = number("allocation", -1)
        }
        call == "cudaStreamCreateWithFlags" { streams[made++] = number("stream", -1); next }
        call == "cudaMemPoolCreate" {
            if (pools++ == 0) plain = pool
            else if (pools == 2) cache = pool
            next
        }
        pools && pool == plain {
            if ((held = number("reserved", 0)) > plain_peak) plain_peak = held
            if (call != "cudaMallocFromPoolAsync") next
            for (plain_op++; what[plain_op] == "give"; plain_op++) { }
            if (bytes[who[plain_op]] != number("bytes", 0))
                refuse("the plain pool was asked for other sizes than the cache")
            plain_takes++
            is_plain[allocation]
            next
        }
        pools > 1 && pool == cache && (held = number("reserved", 0)) > peak { peak = held }
        call == "cudaMallocFromPoolAsync" && pools > 1 && pool == cache {
            taken++
            piece[allocation] = number("bytes", 0)
            if (!largest || piece[allocation] > largest) largest = piece[allocation]
        }
        call == "cudaFreeAsync" && !(allocation in is_plain) { returned++ }
        call == "cudaStreamWaitEvent" { waits++ }
        call != "launch_fill" && call != "launch_add" { next }
        k > ops { refuse("a kernel used memory behind the last step"); next }
        {
            id = who[k]
            whole = bytes[id] <= 262144
            if (stage == 0 && what[k] == "take") placed(id)
            if (call != (stage == 0 && what[k] == "take" ? "launch_fill" : "launch_add") ||
                number("value", -1) != id + 1 || number("stream", -1) != streams[stream[id]] ||
                number("bytes", 0) != (stage ? 4 : whole ? bytes[id] : 262144) ||
                allocation != at[id] ||
                number("inner_offset", 0) != begin[id] + (stage ? bytes[id] - 4 : 0))
                refuse("step " k " is to " what[k] " the part of " shown(id) "; another use of" \
                    " memory came in between")
            if (unordered && what[k] == "take" && !first_bad) {
                first_bad = scene[k]
                bad = id
            }
            unordered = 0
            if (!whole && !stage) { stage = 1; next }
            stage = 0
            if (what[k] == "give") { delete used[id]; in_use[at[id]]-- }
            k++
        }
        END {
            mib = 1048576
            if (k <= ops) refuse("after " k - 1 " of " ops " uses of parts the program ended")
            if (mode == "small" && plain_takes != ids)
                refuse("the plain pool was asked for " plain_takes + 0 " of " ids " allocations")
            printf "wrong=%s\nscene=%d\nlast=%s\n", wrong, first_bad, first_bad ? shown(bad) : ""
            printf "before=%s\n", first_bad ? before[bad] : ""
            printf "freed_in_use=%d\nleft=%d\n", freed_in_use, left
            printf "plain_peak=%d\npeak=%d\n", plain_peak / mib, peak / mib
            printf "powers=%d\nlargest=%d\n", powers() / mib, largest / mib
            printf "taken=%d\nreturned=%d\nwaits=%d\n", taken, returned, waits
            printf "most=%d\nmoved=%d\nparts=%d\n", most, moved, ids
        }' "$journal"
}

# ask_order: memory goes from stream to stream, in scenes: 1 and 2 from one to the next; 3: the
# second hands on what it never used; 4 and later: neighbors of two streams return, and their bytes
# are asked for together.
ask_order() { draw_order; ask order "${drawn[@]}"; }
draw_order() {
    local a b c bytes left right
    draw a 0 7
    draw b 1 3
    draw c 4 6
    draw bytes 100 240
    draw left 60 120
    draw right 60 120
    drawn=("$a" $(((a + b) % 8)) $(((a + c) % 8)) $(((a + 7) % 8)))
    drawn+=($((512 * bytes)) $((512 * left)) $((512 * right)))
}

@test "every use is ordered: behind another stream, behind a third, in joined parts" {
    local drawn
    run_lesson
    ask_order
    case ${figure[scene]} in
    0) ;;
    1 | 2)
        [ "${figure[waits]}" != 0 ] || missed "Expected: memory that one stream returned goes to
            another only after the other waits for an event: the last use may be running." \
            "Happened: memory went from stream to stream, and no event was waited for."
        missed "Expected: the event that is waited for was recorded after the part's last use, so
            after its return: an event has the position at which it was recorded." \
            "Happened: the part of ${figure[last]} was used in another stream before, and the
                stream does not wait for that use." ;;
    3)
        missed "Expected: order is handed on: when a part goes from one stream to a second and on to
            a third, the third waits for an event that is recorded in the second after the second's
            own wait. Also when the second stream used only one half of the part, and the third gets
            the other half." \
            "Happened: the part of ${figure[last]} was used in the first stream before, and the
                third does not wait for that use. ${figure[waits]} waits were made in all." ;;
    *)
        [ -n "${figure[before]}" ] || missed "Expected: a stream waits for the last use of each part
            that lay where its new part lies." \
            "Happened: the part of ${figure[last]} lies where another stream's part lay, and the
                stream does not wait for that use."
        missed "Expected: two idle neighbors are joined when they belong to one stream; those of two
            streams only when one stream has waited for the other. A joined part has one stream: who
            takes it waits for that stream alone, or for none." \
            "Happened: the part of ${figure[last]} was joined of parts of
                ${figure[before]}, and its stream does not wait for all of them. Look at where
                parts are joined: in cache_give?" ;;
    esac
}

GOES_ON='the host waits for no stream in cache_take and cache_give, except where a piece is
    returned: cache_take records an event in the stream that returned the memory, and makes the
    other stream wait for it. To ask again and again (cudaStreamQuery in a loop) is to wait.'

@test "memory goes from stream to stream, and the host does not wait" {
    local drawn
    run_lesson
    ask_order
    [ "${figure[moved]}" -gt 0 ] || missed "Expected: memory that one stream returned serves another
        stream, too, which waits for an event first." \
        "Happened: three streams needed the same number of bytes in turn, and none got what another
            had returned."
    # Who hands memory on and never waits, as the starter does, has not begun.
    [ "${figure[scene]}" = 0 ] || [ "${figure[waits]}" != 0 ] || after_the_rest
    JUDGES_HAZARDS=1 ask_lesson asked_cache "$GOES_ON" held "${drawn[@]}" || return
    # shellcheck disable=SC2154  # ask_lesson sets errors
    [[ $errors != *"waiting forever"* ]] || missed "Expected: $GOES_ON" \
        "Happened: streams[${drawn[0]}] returned a part and is held by a kernel; the host waits for
            it before streams[${drawn[1]}] has a part."
}

@test "trim: a piece is returned after every use of its parts" {
    local seed sequence drawn expected='before a piece is returned to the pool in one stream, that
        stream waits for every other stream that used a part of it.'
    run_lesson
    draw seed 1 1000000
    for sequence in order random; do
        if [ $sequence = order ]; then ask_order; else ask random "$seed"; fi
        # Who joins parts of two streams frees them without a wait, too.
        [ "${figure[scene]}" = 0 ] || after_the_rest
        [ "${figure[freed_in_use]}" = 0 ] || missed "Expected: $expected" "Happened: a piece was
            freed in one stream, and another stream could still be using a part of it."
        [ "${figure[scene]}" = 0 ] || missed "Expected: a stream waits for the last use of each part
            that lay where its new part lies, also for those that are joined before a new piece is
            taken." \
            "Happened: the part of ${figure[last]} lies where another stream's part lay, and the
                stream does not wait for that use."
        [ "${figure[left]}" = 0 ] || missed "Expected: at the end every part is idle, and cache_trim
            returns every piece to the pool; also a piece whose parts are idle in several
            streams." "Happened: pieces left: ${figure[left]} of ${figure[taken]}."
    done
}

@test "a program with little memory: at most 1.15 times what cudaMallocAsync reserves" {
    local seed bar happened
    run_lesson
    draw seed 1 1000000
    ask small "$seed"
    bar=$((figure[plain_peak] * 115 / 100))
    happened="Happened: ${figure[peak]} MiB reserved; pieces taken: ${figure[taken]}"
    [ "${figure[peak]}" -gt "$bar" ] || return 0
    if [ "${figure[most]}" -le 1 ]; then
        missed "Expected: large pieces are cut into parts: at most $bar MiB reserved, 1.15 times
            what cudaMallocAsync needs." "$happened; no piece ever had two parts in use."
    elif [ "${figure[largest]}" -gt 64 ]; then
        missed "Expected: a small program needs few pieces, and small ones: at most $bar MiB
            reserved, 1.15 times what cudaMallocAsync needs. Take pieces of one segment, 32 MiB, at
            first, and larger ones when the cache has more." \
            "$happened; the largest piece has ${figure[largest]} MiB."
    else
        missed "Expected: idle memory is found again: at most $bar MiB reserved, 1.15 times what
            cudaMallocAsync needs. Join neighbors, take the smallest part that fits, and round sizes
            up to multiples of 512 bytes, not to powers of two." "$happened."
    fi
}

# ---- the program replays recorded traces ----

# Replays a trace and reads the figures of the run. The first pool that is created is the plain one,
# the second the cache's. Everybody has these traces: who only prints their figures has missed
# something above.
replay() {
    local name value journal_whole
    after_the_rest
    run_lesson "$@"
    [ -e "$journal" ] || : >"$journal"
    journal_whole=$journal
    # what expect_clean reads of the journal; the whole of it is long
    journal=$CHECK_RUN/short.jsonl
    if [ ! -e "$journal" ]; then
        grep -E '"did":"(start|hazard|unsupported|exit)"' "$journal_whole" >"$journal" || true
        figures "$journal_whole" >"$CHECK_RUN/figures"
    fi
    figure=()
    while IFS='=' read -r name value; do figure[$name]=$value; done <"$CHECK_RUN/figures"
    figure[pairs]=$(grep -c '^a' "tests/simulator/traces/$1.csv")
    figure[allocations]=$((5 * figure[pairs]))
    figure[lines]=tests/lessons/expected/22_capstone$([ "$1" = small ] || echo ".$1").txt
}

# An allocation of the journal is a piece. Its uses say how many parts of it are in use.
figures() {
    awk '
        function text(key) {
            if (!match($0, "\"" key "\":\"[^\"]*"))
                return ""
            return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
        }
        function number(key) {
            if (!match($0, "\"" key "\":[0-9]+"))
                return -1
            return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
        }
        /"did":"run"/ { next }
        /"did":"hazard"/ { if (text("kind") != "leak") hazards++; next }
        /"did":"exit"/ { left = number("live"); next }
        { call = text("call"); pool = number("pool") }
        call == "cudaMemPoolCreate" {
            if (plain == "")
                plain = pool
            else if (cache == "")
                cache = pool
            next
        }
        pool != -1 && pool == plain {
            if ((held = number("reserved")) > plain_peak)
                plain_peak = held
            next
        }
        pool != -1 && pool == cache && /"reserved"/ {
            if ((held = number("reserved")) > peak)
                peak = held
            end = held
        }
        call == "cudaMallocFromPoolAsync" && pool == cache {
            taken++
            piece[number("allocation")] = 1
            next
        }
        call ~ /^cudaMalloc/ { elsewhere++; next }
        call == "cudaFreeAsync" { returned++; next }
        call == "cudaEventRecord" { records++; next }
        call == "cudaStreamWaitEvent" { waits++; next }
        call ~ /^launch_/ { b = number("allocation"); if (!(b in piece)) next }
        call == "launch_fill" {
            fills++
            if (++live[b] > most) most = live[b]
            s = number("stream")
            if (b in last && last[b] != s) moved++
            last[b] = s
        }
        call == "launch_add" { adds++; live[b] -= 0.5 }
        END {
            mib = 1048576
            printf "hazards=%d\nleft=%d\n", hazards, left
            printf "plain_peak=%d\npeak=%d\nend=%d\n", plain_peak / mib, peak / mib, end / mib
            printf "taken=%d\nelsewhere=%d\nreturned=%d\n", taken, elsewhere, returned
            printf "records=%d\nwaits=%d\n", records, waits
            printf "fills=%d\nadds=%d\nmost=%d\nmoved=%d\n", fills, adds, most, moved
        }' "$1"
}

fail() { missed "Expected: $1" "Happened: $2"; }

# What the program below END OF YOUR WORK does: it reads the trace, replays it through a plain pool
# and through the cache, and uses every part.
expect_uses() {
    [ "${figure[fills]} ${figure[adds]}" = "${figure[pairs]} $((2 * figure[pairs]))" ] ||
        fail "the cache's parts come from its pool and are used by a kernel when they are taken and
            by two before they return: ${figure[pairs]} parts. The code below END OF YOUR WORK does
            that: leave it as it is." \
            "${figure[fills]} first and ${figure[adds]} last uses."
    [ "${figure[elsewhere]}" = 0 ] ||
        fail "all memory comes from the cache's one pool." \
            "${figure[elsewhere]} allocations came from elsewhere."
}

expect_replay() {
    expect_uses
    [ -e "${figure[lines]}" ] || {
        miss "${figure[lines]} is not there: nothing to compare with."
        return
    }
    cmp -s <(head -n 2 "${figure[lines]}") <(head -n 2 <<<"$output") ||
        fail "the first two lines print what the trace has and what a plain pool needs, as recorded
            on a real device: $(head -n 2 "${figure[lines]}" | tr -s ' ' | paste -sd ';')." \
                "$(head -n 2 <<<"$output" | tr -s ' ' | paste -sd ';')."
}

expect_nothing_left() {
    [ "${figure[left]}" = 0 ] || fail "at the end every part is idle, and cache_trim returns every
        piece to the pool; also a piece whose parts are idle in several streams." \
        "pieces left: ${figure[left]} of ${figure[taken]}."
}

expect_peak() {
    local bar=$((figure[plain_peak] * 115 / 100)) bound
    local happened="${figure[peak]} MiB, with ${figure[taken]} pieces."
    [ "${figure[peak]}" -gt "$bar" ] || return 0
    bound=$(awk -F , '
        { power = 512; while (power < $3) power *= 2 }
        /^a/ { now += power; if (now > most) most = now }
        /^f/ { now -= power }
        END { print int(most / 1048576) }' "tests/simulator/traces/$1.csv")
    if [ "${figure[most]}" -le 1 ]; then
        fail "large pieces are cut into parts: at most $bar MiB reserved, 1.15 times what
            cudaMallocAsync needs." "no piece ever had two parts in use; $happened"
    elif [ "${figure[peak]}" -ge "$bound" ] && [ "$bound" -gt "$bar" ]; then
        fail "a part has few bytes more than the trace requests: at most $bar MiB reserved, 1.15
            times what cudaMallocAsync needs. Sizes rounded up to powers of two need $bound MiB,
            however well they are packed." "$happened"
    else
        fail "idle memory is found again: at most $bar MiB reserved, 1.15 times what cudaMallocAsync
            needs. Join neighbors, take the smallest part that fits, and return idle pieces before
            a new one is taken." "$happened"
    fi
}

expect_few_calls() {
    local most=$((figure[pairs] / 10))
    [ "${figure[taken]}" -le "$most" ] ||
        fail "a piece serves many allocations, and is kept: at most $most pieces for the
            ${figure[allocations]} allocations of all rounds." "${figure[taken]} pieces were taken."
}

expect_counted() {
    local counted line='^in .* pieces taken ([0-9]+), given back ([0-9]+), '
    line+='events waited for ([0-9]+); then reserved ([0-9]+) MiB$'
    counted=$(sed -nE "s/$line/\1 \2 \3 \4/p" <<<"$output")
    [ "$counted" = "${figure[taken]} ${figure[returned]} ${figure[waits]} ${figure[end]}" ] ||
        fail "count has what the cache did: ${figure[taken]} pieces taken, ${figure[returned]}
            given back, ${figure[waits]} events waited for; at the end ${figure[end]} MiB
            reserved." \
            "the line has: ${counted:-nothing}."
    [ "${figure[end]}" = 0 ] || fail "the last trim of the pool leaves nothing in it." \
        "${figure[end]} MiB are still reserved."
}

@test "small: nothing is left, and little is reserved" {
    replay small
    expect_replay
    expect_nothing_left
    expect_clean
    expect_peak small
}

@test "resnet50-train: at most 1.15 times what cudaMallocAsync reserves" {
    replay resnet50-train
    expect_replay
    expect_peak resnet50-train
    expect_nothing_left
    expect_clean
}

@test "resnet50-train: few calls, so little time" {
    replay resnet50-train
    expect_replay
    expect_few_calls
    [ "${figure[records]}" -le $((figure[pairs] / 10)) ] ||
        fail "one stream needs no events. An event at each return costs more time than the rest of
            the cache: record one when memory changes its stream." \
        "${figure[records]} events were recorded for ${figure[allocations]} allocations."
}

@test "four-streams: four streams need little more than one, and few waits" {
    replay four-streams
    expect_replay
    expect_peak four-streams
    expect_few_calls
    [ "${figure[waits]}" -le $((figure[allocations] / 2)) ] ||
        fail "a stream waits when it takes what another one returned, for that stream alone, and not
            again for what it waited for before: at most $((figure[allocations] / 2)) waits for the
            ${figure[allocations]} allocations of all rounds." "${figure[waits]} waits."
    replay tangle
    expect_replay
}

@test "four-streams: what the cache counts is what it did, and nothing is left at the end" {
    replay four-streams
    expect_nothing_left
    expect_counted
    expect_clean
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_SCHEDULE=late)
    replay four-streams
    expect_clean
}
