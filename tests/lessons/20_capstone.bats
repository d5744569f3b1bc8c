# Lesson 20: a caching allocator on top of one pool. Judges $LESSON with five traces, and with a
# random walk: the figures come from the journal.
load ../tools/helpers

setup_file() { lesson_setup 20_capstone; }

# Replays a trace and reads the figures of the run. The first pool that is created is the plain one,
# the second the cache's.
declare -gA figure
replay() {
    local name value journal_whole
    run_lesson "$1"
    [ -e "$journal" ] || : >"$journal"
    journal_whole=$journal
    # what expect_clean reads of the journal; the whole of it is long
    journal=$CHECK_RUN/short.jsonl
    if [ ! -e "$journal" ]; then
        grep -E '"did":"(start|hazard|unsupported|exit)"' "$journal_whole" >"$journal" || true
        figures "$journal_whole" >"$CHECK_RUN/figures"
    fi
    while IFS='=' read -r name value; do figure[$name]=$value; done <"$CHECK_RUN/figures"
    figure[pairs]=$(grep -c '^a' "${2:-tests/simulator/traces/$1.csv}")
    figure[allocations]=$((5 * figure[pairs]))
    figure[lines]=tests/lessons/expected/20_capstone$([ "$1" = small ] || echo ".$1").txt
}

# under SCHEDULE: for the runs that follow. A run without a word has the measured one.
# shellcheck disable=SC2034  # run_lesson reads it
under() {
    SIM_ENV=()
    [ "$1" = measured ] || SIM_ENV=(SIM_SCHEDULE="$1")
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

fail() { # fail EXPECTED HAPPENED; hazards are shown where the order is asked for, and nowhere else
    print_sentences "Expected: $1" "Happened: $2"
    # shellcheck disable=SC2154  # run_lesson sets errors
    [[ "${FUNCNAME[1]}" != expect_order && "$errors" == hazard:* ]] || printed
    try_it
    return 1
}

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

expect_order() { # expect_order TRACE SCHEDULE
    [ "${figure[hazards]}" = 0 ] || if [ "$1" = tangle ] && [ "${figure[waits]}" -gt 0 ]; then
        fail "order is handed on: when a part goes from one stream to a second and on to a third,
            the third waits for an event that is recorded in the second after the second's own
            wait." \
            "under the schedule $2 events were waited for (${figure[waits]} times), and uses of the
                same memory are not ordered."
    elif [ "$1" = trim ]; then
        fail "before a piece is returned to the pool in one stream, that stream waits for every
            other stream that used a part of it." \
            "under the schedule $2 a piece was freed in one stream, and another stream could still
                be using a part of it."
    elif [ "${figure[waits]}" = 0 ]; then
        fail "memory that one stream returned goes to another only after the other waits for an
            event: the last use may be running." \
            "under the schedule $2 memory went from stream to stream, and no event was waited for."
    else
        fail "the event that is waited for was recorded after the part's last use, so after its
            return: an event has the position at which it was recorded." \
            "under the schedule $2 events were waited for (${figure[waits]} times), and uses of the
                same memory are not ordered."
    fi
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

@test "small: the parts are used in order, nothing is left, and little is reserved" {
    replay small
    expect_replay
    expect_order small measured
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

@test "four-streams: every use is ordered, under every schedule" {
    local schedule
    for schedule in measured late random:1; do
        under "$schedule"
        replay four-streams
        expect_order four-streams "$schedule"
    done
    expect_replay
}

@test "tangle: the order holds across three streams" {
    under late
    replay tangle
    expect_order tangle late
    expect_replay
}

# A walk of 60 allocations of ten sizes in five streams, with more than any piece of the walk holds
# now and then: a cache that returns idle pieces must then return pieces of several streams.
random_walk() {
    local seed
    draw seed 1 1000000
    awk -v seed="$seed" '
        function below(n) { seed = (seed * 1103 + 12345) % 1048576; return int(seed / 7) % n }
        function end(i) {
            print "f," ids[i] "," size[ids[i]] "," stream[ids[i]]
            ids[i] = ids[live--]
        }
        BEGIN {
            print "op,id,bytes,stream"
            id = live = 0
            for (i = 0; i < 10; i++) some[i] = (1 + below(48)) * 1048576 - 512 * below(9)
            while (id < 60) {
                if (id % 12 == 11) {
                    while (live) end(1 + below(live))
                    size[id] = 600 * 1048576 + 4096 * id
                } else
                    size[id] = some[below(10)]
                stream[id] = below(5)
                print "a," id "," size[id] "," stream[id]
                ids[++live] = id++
                while (live > 6 || live && below(3) == 0) end(1 + below(live))
            }
        }'
}

@test "trim: a piece is returned after every use of its parts" {
    local schedule walk=$CHECK_FOLDER/tests/simulator/traces/walk.csv
    under late
    replay trim
    expect_uses
    expect_order trim late
    expect_nothing_left
    # Where the program looks for traces, from the folder of its run upward.
    mkdir -p "${walk%/*}"
    random_walk >"$walk"
    for schedule in measured late; do
        under "$schedule"
        replay walk "$walk"
        expect_uses
        # What a person types has no such folder above it.
        # shellcheck disable=SC2034  # try_it reads it
        CHECK_COMMAND=${CHECK_COMMAND/ARGS=\"walk\"/ARGS=\"$walk\"}
        expect_order walk "$schedule"
        expect_nothing_left
    done
}

@test "four-streams: memory goes from stream to stream, so that four need little more than one" {
    replay four-streams
    [ "${figure[moved]}" -gt 0 ] ||
        fail "memory that one stream returned serves another stream, too, which waits for an event
            first: the streams of this trace need their memory in turn." \
        "no memory ever went to another stream; ${figure[peak]} MiB reserved."
    [ "${figure[waits]}" -gt 0 ] || [ "${figure[hazards]}" -gt 0 ] ||
        fail "a stream waits for an event of the other stream; the host goes on." \
            "memory went to another stream ${figure[moved]} times, and no event was waited for: does
                the host wait for streams?"
    expect_peak four-streams
    expect_few_calls
}

@test "four-streams: what the cache counts is what it did, and nothing is left at the end" {
    replay four-streams
    expect_nothing_left
    expect_counted
    [ "${figure[hazards]}" != 0 ] || expect_clean
}
