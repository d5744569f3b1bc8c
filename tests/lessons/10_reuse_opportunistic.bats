# Lesson 10: finished or not decides, if the policy is on; the host's wait decides in any case.
# Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 10_reuse_opportunistic; }

# trials: for each pool its two blocks, in the giver's and in the taker's stream, and the free
# between them.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def trials: [ok("cudaMemPoolCreate")[].pool] as $pools
        | ok("cudaMallocFromPoolAsync") as $blocks | ok("cudaFreeAsync") as $frees
        | [$pools[] as $pool | [$blocks[] | select(.pool == $pool)] as $b | select($b | length == 2)
        | {pool: $pool, first: $b[0].n, second: $b[1].n, giver: $b[0].stream, taker: $b[1].stream,
            from: $b[1].from,
            freed: ([$frees[] | select(.allocation == $b[0].allocation) | .n] | first)}];
    def between($t): .[$t.freed:$t.second] | map(select(.n > $t.freed and .n < $t.second));
    def waits($t): [between($t)[] | select(.call == ("cudaStreamSynchronize",
        "cudaDeviceSynchronize", "cudaEventSynchronize"))];
    def asked($t): [between($t)[] | select(.call == "cudaStreamQuery")];
    def flags($name): [trials[] as $t | [ok("cudaMemPoolSetAttribute")[]
        | select(.pool == $t.pool and .attribute == $name and .n < $t.first) | .value] | last];
    def history($i): trials[$i] as $t | if $t == null then "that trial was not made."
        else "between free and allocation: "
        + ([between($t)[] | select(.call != null) | "\(.call) of stream \(.stream): \(.result)"]
            | group_by(.) | map("\(length) x \(.[0])") | join(", ") | if . == "" then "no call"
            else . end) + "." end;'

# Every line that was printed: is it the prediction that happened?
predictions_hold() {
    local policy free predicted happened why
    read -r policy free predicted happened < <(
        awk '/predicted .* happened / && $6 != $8 { print $2, $4, $6, $8; exit }' <<<"$output"
    ) || true
    [ -n "$policy" ] || return 0
    case $policy,$free in
    *,synchronised) why="what the host has waited for may go to every stream, whatever the
        policy." ;;
    *,pending) why="the device has not reached the free: no stream but the one that freed may have
        the memory, whatever the policy." ;;
    on,*) why="the policy is on and the device has reached the free: the other stream gets the
        memory." ;;
    *) why="with the policy off, that the device has finished counts for nothing, and neither does a
        query that says so. Asking is not waiting." ;;
    esac
    missed "Expected: $why" "Happened: for the policy $policy and a free that is $free you predicted
        $predicted, it was $happened."
}

@test "six pools, each with the policies that its line says, before its first block" {
    run_lesson
    expect_journal "$QUESTIONS"' trials | length == 6' \
        'six trials, each with a pool of its own and two blocks from it: put back what was there.' \
        "$QUESTIONS"' "\(trials | length) pools gave two blocks each."' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseAllowOpportunistic") == [1, 1, 1, 0, 0, 0]' \
        'the opportunistic policy is set on the pool that the blocks come from: on in three trials,
            off in three.' \
        "$QUESTIONS"' "it was set to " + (flags("cudaMemPoolReuseAllowOpportunistic") | tostring)
            + " on these pools."' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseFollowEventDependencies")
            + flags("cudaMemPoolReuseAllowInternalDependencies") | unique == [0]' \
        'the other two policies are off on each of these pools, so that nothing else can explain
            what happens.' \
        "$QUESTIONS"' "events: " + (flags("cudaMemPoolReuseFollowEventDependencies") | tostring)
            + ", internal: " + (flags("cudaMemPoolReuseAllowInternalDependencies") | tostring)
            + "."'
}

@test "pending is made certain: the giver holds until after the allocation" {
    run_lesson
    expect_journal "$QUESTIONS"' . as $all | trials as $t | ($t | length == 6)
        and ([$t[0], $t[3]] | all(. as $t
        | ([$all[] | select(.did == "run" and .op == "hold" and .stream == $t.giver
            and .n > $t.first) | .n] | first) as $opened
        | $opened != null and $opened > $t.second and ($all | waits($t) == [])))' \
        'in the first and the fourth trial the gate opens after the second allocation, and nothing
            is waited for before it.' \
        "$QUESTIONS history(0)"
}

@test "finished is made certain: the giver is asked until it says so, and nobody waits" {
    run_lesson
    expect_journal "$QUESTIONS"' . as $all | trials as $t | ($t | length == 6)
        and ([$t[1], $t[4]] | all(. as $t
        | ($all | asked($t) | last) as $answer | $answer.result == "cudaSuccess"
            and $answer.stream == $t.giver))' \
        'in the second and the fifth trial cudaStreamQuery of the stream that freed is repeated
            until it answers cudaSuccess. A sleep proves nothing, another stream says nothing.' \
        "$QUESTIONS history(1)" \
        -- "$QUESTIONS"' . as $all | trials as $t | [$t[1], $t[4]]
            | all(. as $t | $all | waits($t) == [])' \
        'in the second and the fifth trial the host only asks. With a synchronise they would be the
            third and the sixth.' \
        "$QUESTIONS history(1)"
}

@test "synchronised: the host waits for the giver" {
    run_lesson
    expect_journal "$QUESTIONS"' . as $all | trials as $t | ($t | length == 6)
        and ([$t[2], $t[5]] | all(. as $t
        | $all | any(waits($t)[]; .stream == $t.giver or .call == "cudaDeviceSynchronize")))' \
        'in the third and the sixth trial the stream that freed is synchronised between the free and
            the second allocation.' \
        "$QUESTIONS history(2)" \
        -- "$QUESTIONS"' [trials[].from] == ["new", "opportunistic", "synchronized", "new", "new",
            "synchronized"]' \
        'luck gives the block in one trial, the host'"'"'s wait in two; in the others the pool
            grows.' \
        "$QUESTIONS"' "the second blocks came from: " + ([trials[].from] | join(", ")) + "."'
}

@test "the prediction holds for every policy and state" {
    run_lesson
    predictions_hold
    expect_right 10_reuse_opportunistic
}

@test "the prediction holds under another schedule and for blocks of 40 MiB" {
    # shellcheck disable=SC2034  # for run_lesson
    SIM_ENV=(SIM_SCHEDULE=late)
    run_lesson 40
    predictions_hold
    expect_right 10_reuse_opportunistic.40
}
