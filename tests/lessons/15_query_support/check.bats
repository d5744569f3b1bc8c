# Lesson 15: the version before the attribute, then a pool that is created and exported, and another
# way to allocate. Judges $LESSON on several devices.
load ../grading/check

setup_file() { lesson_setup 15_query_support; }

MIB=1048576
# 115 is cudaDevAttrMemoryPoolsSupported, 119 is cudaDevAttrMemoryPoolSupportedHandleTypes.
definitions 'def name: if . == 115 then "MemoryPoolsSupported" elif . == 119
    then "MemoryPoolSupportedHandleTypes" else tostring end;
    def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def queried($attribute): [.[] | select(.call == "cudaDeviceGetAttribute"
        and .attribute == $attribute)] | length > 0;
    # A query whose error the next call does not clear: the error waits for a later check.
    def left($attribute): [.[] | select(.call != null)]
        | [range(length) as $i | select(.[$i].attribute == $attribute
            and .[$i].result != "cudaSuccess" and .[$i + 1].call != "cudaGetLastError") | $i];
    def for_pools: [.[] | select(.call != null
        and (.call | test("MemPool|FromPool|cudaMallocAsync|cudaFreeAsync")))];
    def results($call): [.[] | select(.call == $call) | .result];
    def made: ok("cudaMemPoolCreate") | length;
    def history: [.[] | select(.did == null and .call != null
        and (.call | test("Attribute|Version|Pool|Malloc|Free"))) | .call
        + (if .attribute != null then "(\(.attribute | name))" else "" end)
            + (if .result == "cudaSuccess" then "" else ": \(.result)" end)]
        | "the calls were, in order: " + (.[:20] | join(", ")) + ".";'

# on SETTING... [-- ARGUMENT]: the lesson as it runs on such a device
# shellcheck disable=SC2034  # SIM_ENV is for run_lesson
on() {
    SIM_ENV=()
    while [ $# != 0 ] && [ "$1" != -- ]; do
        SIM_ENV+=("$1")
        shift
    done
    run_lesson "${@:2}"
    SIM_ENV=()
}

# prints LINE WORDS SENTENCE: the line of the output that begins with LINE ends with these words
prints() {
    local printed
    printed=$(grep -m 1 "^$1" <<<"$output" | tr -s ' ')
    [[ $printed == *"$2" ]] || missed "Expected: $3" "Happened: it printed \"$printed\"."
}

@test "today: a pool for each handle type is created, exported if it was, and destroyed" {
    run_lesson
    expect_journal 'results("cudaMemPoolCreate")
            == ["cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess"]' \
        'one pool is created for file descriptors, one for Win32 handles, which Linux refuses, and
            one for fabric handles. The program did so at the start.' \
        'history' \
        -- 'results("cudaMemPoolExportToShareableHandle")
            | . != [] and .[0] == "cudaSuccess"' \
        'the pool for file descriptors is exported (cudaMemPoolExportToShareableHandle), as a file
            descriptor.' \
        'history' \
        -- 'made == (ok("cudaMemPoolDestroy") | length)' \
        'a pool that was created only to see whether it can be shared is destroyed.' \
        '"\(made) created, \(ok("cudaMemPoolDestroy") | length) destroyed."' \
        -- 'all(.[]; (.descriptors // 0) == 0)' \
        'the descriptor that the export returned is closed (close): it is the program'"'"'s own, and
            stays open when the pool is destroyed.' \
        '"at the end of the program \(map(.descriptors // empty) | add) was open."' \
        -- '[ok("cudaMallocAsync")[] | select(.bytes == '$((8 * MIB))')]
            | length == 1' \
        'the 8 MiB come from cudaMallocAsync: this device has pools.' \
        'history'
}

@test "a driver before 11.2 (SIM_DRIVER_VERSION=11010): no error is left, no pool, cudaMalloc" {
    local mib
    draw mib 9 15
    on SIM_DRIVER_VERSION=11010 -- "$mib"
    expect_journal 'left(115) + left(119) == []' \
        'on a driver older than 11.2 the program does not query the attributes about pools: the
            query returns cudaErrorInvalidValue. cudaDriverGetVersion returns how old the driver is,
            cudaRuntimeGetVersion does not: 11.2 is 11020. (A program that queries in any case
            clears the error at once with cudaGetLastError.)' \
        'history' \
        -- 'for_pools | length == 0' \
        'on a device without pools no call that needs them: such calls return
            cudaErrorNotSupported.' \
        'history' \
        -- 'ok("cudaMalloc") as $data | ($data | length == 1)
            and $data[0].bytes == '$((mib * MIB))'
        and ([ok("cudaFree")[] | select(.allocation == $data[0].allocation)] | length == 1)' \
        "the $mib MiB then come from cudaMalloc, and are freed with cudaFree." \
        'history'
    expect_clean
    prints so 'cudaMalloc, sharing not possible' 'the program reports that it uses cudaMalloc.'
    prints 'last element' ' 42' 'the work is done there, too: the last element is 42.'
}

@test "a new driver and a device without pools (SIM_POOLS=off): the attribute decides" {
    local sentence='with a new driver on a device without pools the program takes cudaMalloc. The
        version of the driver decides which attributes can be queried, and the value of
        cudaDevAttrMemoryPoolsSupported whether this device has pools.'
    on SIM_POOLS=off
    expect_journal 'results("cudaMemPoolCreate") == []' "$sentence" \
        'history'
    prints so 'cudaMalloc, sharing not possible' "$sentence"
}

@test "drivers 11.2 and 11.3: an attribute that the driver lacks leaves no error" {
    on SIM_DRIVER_VERSION=11020
    expect_journal 'left(119) == []' \
        'on a driver older than 11.3 the program does not query
            cudaDevAttrMemoryPoolSupportedHandleTypes: the driver lacks that attribute
            (SIM_DRIVER_VERSION=11020).' \
        'history' \
        -- 'queried(115) and (ok("cudaMallocAsync") | length == 1)' \
        'driver 11.2 has pools: the program queries cudaDevAttrMemoryPoolsSupported, and the memory
            comes from cudaMallocAsync.' \
        'history'
    expect_clean
    prints so 'cudaMallocAsync, sharing through a file descriptor' \
        'with driver 11.2 nothing is promised, and the export succeeds: so a pool can be shared.'
    on SIM_DRIVER_VERSION=11030
    expect_journal 'queried(115) and queried(119)' \
        'driver 11.3 has both attributes, so both are queried (SIM_DRIVER_VERSION=11030).' \
        'history'
    prints so 'cudaMallocAsync, sharing through a file descriptor' \
        'with driver 11.3 pools can be shared through a file descriptor.'
}

@test "the attribute promises too much (SIM_HANDLE_TYPES=0): pools, and no sharing" {
    on SIM_HANDLE_TYPES=0
    expect_journal 'queried(119) and made == 0' \
        'the attribute promises file descriptors and no pool can be created for them: the program
            tries with that handle type.' \
        'history' \
        -- 'ok("cudaMallocAsync") | length == 1' \
        'a device whose pools cannot be shared still has pools: the memory comes from
            cudaMallocAsync.' \
        'history'
    prints so 'sharing not possible' 'no pool could be created for file descriptors, so sharing is
        not possible, whatever the attribute promised.'
    expect_clean
}

@test "the pool is created and its export fails (SIM_FAIL=...): pools, and no sharing" {
    on SIM_FAIL=cudaMemPoolExportToShareableHandle:1
    prints so 'sharing not possible' 'a pool was created for file descriptors and its export
        failed, so sharing is not possible.'
    expect_journal 'made == (ok("cudaMemPoolDestroy") | length)' \
        'a pool is destroyed after a failed export, too.' \
        'history' \
        -- 'ok("cudaMallocAsync") | length == 1' \
        'pools that cannot be shared are pools: the memory comes from cudaMallocAsync.' \
        'history'
    expect_clean
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 15_query_support
}
