# Lesson 02: the version before the attribute, the attempt after it, and another way to go. Judges
# $LESSON on several devices.
load ../tools/helpers

setup_file() { lesson_setup 02_query_support; }

MIB=1048576
# 115 is cudaDevAttrMemoryPoolsSupported, 119 is cudaDevAttrMemoryPoolSupportedHandleTypes.
QUESTIONS='def name: if . == 115 then "MemoryPoolsSupported" elif . == 119
    then "MemoryPoolSupportedHandleTypes" else tostring end;
    def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def asked($attribute): [.[] | select(.call == "cudaDeviceGetAttribute"
        and .attribute == $attribute)] | length > 0;
    def for_pools: [.[] | select(.call != null
        and (.call | test("MemPool|FromPool|cudaMallocAsync|cudaFreeAsync")))];
    def made: ok("cudaMemPoolCreate") | length;
    def history: [.[] | select(.did == null and .call != null
        and (.call | test("Attribute|Version|Pool|Malloc|Free"))) | .call
        + (if .attribute != null then "(\(.attribute | name))" else "" end)
            + (if .result == "cudaSuccess" then "" else ": \(.result)" end)]
        | "the calls were, in order: " + (.[:20] | join(", ")) + ".";'

# on SETTING...: the lesson as it runs on such a device
# shellcheck disable=SC2034  # SIM_ENV is for run_lesson
on() {
    SIM_ENV=("$@")
    run_lesson
    SIM_ENV=()
}

# says WORDS SENTENCE: a line of the output ends with these words
says() {
    if grep -qE -- "$1\$" <<<"$output"; then return 0; fi
    missed "Expected: $2" "Happened: it printed \"$(grep '^so ' <<<"$output" | tr -s ' ')\" and
        \"$(tail -n 1 <<<"$output" | tr -s ' ')\"."
}

@test "on a device of today: a pool is made for each handle type, and destroyed again" {
    run_lesson
    expect_journal "$QUESTIONS"' [.[] | select(.call == "cudaMemPoolCreate")
        | .result] == ["cudaSuccess", "cudaErrorInvalidValue"]' \
        'one pool is tried for file descriptors, which works, and one for Win32 handles, which Linux
            refuses: the type goes into props.handleTypes.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' made == (ok("cudaMemPoolDestroy") | length)' \
        'a pool that was only made to see whether it can be made is destroyed at once.' \
        "$QUESTIONS"' "\(made) made, \(ok("cudaMemPoolDestroy") | length) destroyed."' \
        -- "$QUESTIONS"' [ok("cudaMallocAsync")[] | select(.bytes == '$((8 * MIB))')]
            | length == 1' \
        'the block of 8 MiB comes from cudaMallocAsync: this device has pools.' \
        "$QUESTIONS history"
}

@test "before 11.2 (SIM_DRIVER_VERSION=11010): no unknown attribute, no pool, the other way" {
    on SIM_DRIVER_VERSION=11010
    expect_journal "$QUESTIONS"' (asked(115) or asked(119)) | not' \
        'a driver older than 11.2 is not asked about pools, it would answer cudaErrorInvalidValue.
            cudaDriverGetVersion says how old it is: 11.2 is 11020.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' for_pools | length == 0' \
        'on a device without pools, no call that needs them: they answer cudaErrorNotSupported.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' ok("cudaMalloc") as $block | ($block | length == 1)
            and $block[0].bytes == '$((8 * MIB))'
        and ([ok("cudaFree")[] | select(.allocation == $block[0].allocation)] | length == 1)' \
        'the block then comes from cudaMalloc, and goes with cudaFree.' \
        "$QUESTIONS history"
    expect_clean
    says 'cudaMalloc, sharing not possible' 'the program says that it goes the way of cudaMalloc.'
    says 'last element +42' 'the work is done all the same: the last element is 42.'
}

@test "from 11.2 on (SIM_DRIVER_VERSION=11020): pools, but no question about handle types" {
    on SIM_DRIVER_VERSION=11020
    expect_journal "$QUESTIONS"' asked(119) | not' \
        'a driver older than 11.3 is not asked for cudaDevAttrMemoryPoolSupportedHandleTypes: it
            does not know that attribute.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' asked(115) and (ok("cudaMallocAsync") | length == 1)' \
        'driver 11.2 has pools: it is asked for cudaDevAttrMemoryPoolsSupported, and the block comes
            from cudaMallocAsync.' \
        "$QUESTIONS history"
    expect_clean
    on SIM_DRIVER_VERSION=11030
    expect_journal "$QUESTIONS"' asked(115) and asked(119)' \
        'driver 11.3 knows both attributes, so both are asked (SIM_DRIVER_VERSION=11030).' \
        "$QUESTIONS history"
    says 'cudaMallocAsync, sharing through a file descriptor' \
        'with driver 11.3 pools can be shared through a file descriptor.'
}

@test "where the attribute promises too much (SIM_HANDLE_TYPES=0, as in WSL2): pools, no sharing" {
    on SIM_HANDLE_TYPES=0
    expect_journal "$QUESTIONS"' asked(119) and made == 0' \
        'the attribute promises file descriptors and no pool can be made for them: the attempt is
            made with that handle type and is refused.' \
        "$QUESTIONS history"
    says 'sharing not possible' 'what the attempt said counts, not what the attribute promised:
        sharing is not possible.'
    expect_journal "$QUESTIONS"' ok("cudaMallocAsync") | length == 1' \
        'a device that cannot share pools has pools all the same: the block comes from
            cudaMallocAsync.' \
        "$QUESTIONS history"
    expect_clean
}

@test "it prints what a real device prints, also for 24 MiB" {
    run_lesson
    expect_right 02_query_support
    run_lesson 24
    expect_right 02_query_support.24
}
