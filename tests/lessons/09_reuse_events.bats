# Lesson 09: which event lets another stream have freed memory. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 09_reuse_events; }

# trials: for each pool its two blocks, in the giver's and in the taker's stream, and the free
# between them.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def trials: [ok("cudaMemPoolCreate")[].pool] as $pools
        | ok("cudaMallocFromPoolAsync") as $blocks | ok("cudaFreeAsync") as $frees
        | [$pools[] as $pool | [$blocks[] | select(.pool == $pool)] as $b | select($b | length == 2)
        | {pool: $pool, first: $b[0].n, second: $b[1].n, giver: $b[0].stream, taker: $b[1].stream,
            from: $b[1].from,
            freed: ([$frees[] | select(.allocation == $b[0].allocation) | .n] | first)}];
    def flags($name): [trials[] as $t | [ok("cudaMemPoolSetAttribute")[]
        | select(.pool == $t.pool and .attribute == $name and .n < $t.first) | .value] | last];'

# Every line that was printed: is it the prediction that happened?
predictions_hold() {
    local order policy predicted happened why
    read -r order policy predicted happened < <(
        awk '/predicted .* happened / && $5 != $7 { print $1, $3, $5, $7; exit }' <<<"$output"
    ) || true
    [ -n "$order" ] || return 0
    case $order,$policy in
    *,off) why="with the policy off no event lets another stream have the memory." ;;
    F,*) why="a free that is pending, and no event: the taker cannot have the memory." ;;
    FRW,* | RFRW,*) why="the wait takes the newest record, and the free is in front of that one: the
        taker comes after the free." ;;
    RFW,*) why="the record stands for what was in the giver before it. The free came later: the
        taker waits for the event, not for the free." ;;
    FWR,*) why="a wait for an event that was not recorded yet waits for nothing. What is recorded
        later does not reach back to it." ;;
    RWFR,*) why="the wait took the record that was there, before the free. The second record changes
        nothing about that wait." ;;
    *) why="$([ "$happened" = same ] && echo some || echo no) wait took a record that was made after
        the free. The rule walks through the calls, whatever their order." ;;
    esac
    missed "Expected: $why" "Happened: for the calls $order with the policy $policy you predicted
        $predicted, it was $happened."
}

# Orders that the program does not try, with its own try_calls and predict_same: what the simulated
# device does with them is what happened.
other_orders() {
    run_lesson   # a program that cannot be judged is told so
    local CHECK_FOLDER=$CHECK_FOLDER/orders
    if [ ! -e "$CHECK_FOLDER" ]; then
        mkdir "$CHECK_FOLDER"
        cp "$CHECK_LESSON" "$CHECK_FOLDER/lesson.c"
        cat >"$CHECK_FOLDER/orders.c" <<'END'
#define main lesson_main
#include "lesson.c"
#undef main

int main(void)
{
    const char *orders[] = {"FRRW", "FRWR", "FWRW", "RFWRW", "RRFW", "WRFRW"};
    cudaStream_t giver, taker;
    CHECK(cudaStreamCreateWithFlags(&giver, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&taker, cudaStreamNonBlocking));
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        (void)try_calls(1, orders[i], 64, giver, taker);
    CHECK(cudaStreamDestroy(taker));
    CHECK(cudaStreamDestroy(giver));
    return 0;
}
END
        compile_lesson "$CHECK_FOLDER/orders.c" >"$CHECK_FOLDER/compiler" 2>&1 ||
            tell_sentences "Expected: try_calls(follow, calls, mib, giver, taker) as it was at the
                start: the check calls it with other orders." \
                "Happened: $(grep -am 1 error "$CHECK_FOLDER/compiler" | cut -c 1-300)" \
                >"$CHECK_FOLDER/refused"
    fi
    run_lesson
    # shellcheck disable=SC2034  # for try_it
    CHECK_COMMAND="put this order into those of main, then make 09"
}

@test "seven pools, each with the policies that its line says, before its first block" {
    run_lesson
    expect_journal "$QUESTIONS"' trials | length == 7' \
        'seven trials, each with a pool of its own and two blocks from it: put back what was
            there.' \
        "$QUESTIONS"' "\(trials | length) pools gave two blocks each."' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseFollowEventDependencies") == [1, 1, 1, 1, 1, 1,
            0]' \
        'follow event dependencies is set on the pool that the blocks come from: on in six trials,
            off in the last.' \
        "$QUESTIONS"' "it was set to " + (flags("cudaMemPoolReuseFollowEventDependencies")
            | tostring) + " on these pools."' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseAllowOpportunistic")
            + flags("cudaMemPoolReuseAllowInternalDependencies") | unique == [0]' \
        'the other two policies are off on each of these pools, so that only an event can explain
            what happens.' \
        "$QUESTIONS"' "opportunistic: " + (flags("cudaMemPoolReuseAllowOpportunistic") | tostring)
            + ", internal: " + (flags("cudaMemPoolReuseAllowInternalDependencies") | tostring)
            + "."'
}

@test "the free is pending when the taker allocates" {
    run_lesson
    expect_journal "$QUESTIONS"' [trials[] as $t
        | ([ok("launch_hold")[] | select(.stream == $t.giver and .n < $t.freed and .n > $t.first)]
        | length == 1)
        and ([ok("cudaStreamSynchronize")[], ok("cudaDeviceSynchronize")[],
            ok("cudaEventSynchronize")[] | select(.n > $t.first and .n < $t.second)] | length == 0)]
        | length == 7 and all' \
        'in each trial the giver holds at a closed gate before the free, and nothing is synchronised
            before the second allocation. Otherwise the wait of the host would explain a reuse.' \
        "$QUESTIONS"' "\(ok("launch_hold") | length) holds, \([trials[] as $t
            | ok("cudaStreamSynchronize")[] | select(.n > $t.first and .n < $t.second)]
            | length) synchronises between the allocations."'
}

@test "events are recorded in the giver, and the taker waits for them" {
    run_lesson
    expect_journal "$QUESTIONS"' trials as $all | ($all | length == 7)
        and ([$all[] as $t | ok("cudaEventRecord")[] | select(.n > $t.first and .n < $t.second)
            | .stream == $t.giver] | length == 8 and all)
        and ([$all[] as $t | ok("cudaStreamWaitEvent")[] | select(.n > $t.first and .n < $t.second)
            | .stream == $t.taker] | length == 6 and all)' \
        'each event is recorded in the stream that frees, and the stream that allocates next waits
            for it.' \
        "$QUESTIONS"' "events were recorded in streams "
            + ([trials[] as $t | ok("cudaEventRecord")[] | select(.n > $t.first and .n < $t.second)
            | .stream] | tostring)
            + ", and streams " + ([trials[] as $t | ok("cudaStreamWaitEvent")[]
                | select(.n > $t.first and .n < $t.second) | .stream] | tostring) + " waited."' \
        -- "$QUESTIONS"' [trials[].from] == ["new", "event", "new", "event", "new", "new", "new"]' \
        'the pool follows an event in two trials, FRW and RFRW, and grows in the others.' \
        "$QUESTIONS"' "the second blocks came from: " + ([trials[].from] | join(", ")) + "."'
}

@test "the prediction holds for every order of calls" {
    run_lesson
    predictions_hold
    expect_right 09_reuse_events
}

@test "the prediction holds for blocks of 20 MiB, of which two need less than two steps each" {
    run_lesson 20
    predictions_hold
    expect_right 09_reuse_events.20
}

@test "the prediction is a rule: it holds for orders that the program does not try" {
    other_orders
    predictions_hold
    expect_clean
}
