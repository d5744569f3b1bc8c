# Lesson 13: a pool crosses to another process as a file descriptor, and has fewer rights there.
# Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 13_ipc_pool; }

QUESTIONS='def of($of; $call): [.[] | select(.of == $of and .call == $call)];
    def ok($of; $call): [of($of; $call)[] | select(.result == "cudaSuccess")];
    def imports: of("importer"; "cudaMemPoolImportFromShareableHandle");
    def pool: [imports[] | select(.result == "cudaSuccess") | .pool] | first;
    def told: if imports == [] then "the importer imported no pool."
        else "the descriptor of its first import: \(imports[0].descriptor //
        "none"). The answer: \(imports[0].result)." end;'

# What the program said on its way, where a sentence of its own helps more than the question that it
# leaves open.
# shellcheck disable=SC2154  # run_lesson sets errors
said() { # said REGEXP SENTENCE
    ! grep -qE -- "$1" <<<"$output$errors" || {
        tell_sentences "Expected: $2" \
            "Happened: $(grep -hE -- "$1" <<<"$output"$'\n'"$errors" | head -n 1 | cut -c 1-200)"
        try_it
        return 1
    }
}

# tell_pool and hear_pool, with which lesson 14 shares its pool, do all that is to be done here. A
# program that calls them has their names.
by_hand() {
    ! grep -qaE 'tell_pool|hear_pool' "$CHECK_FOLDER/program" ||
        missed "Expected: the message is written by hand, in send_parcel: that is what this lesson
            is about." "Happened: the program calls tell_pool or hear_pool, which
            lessons/processes.h has for lesson 14."
}

# What comes after the import is there, and the program did not get so far.
got_there() {
    expect_journal "$QUESTIONS pool != null" \
        'the importer has imported the pool. All that this test looks at comes after that.' \
        "$QUESTIONS"' "it did not come to that. First repair what is missed above; " + told'
}

@test "the descriptor arrives as a descriptor" {
    run_both
    by_hand
    said 'sendmsg: Bad file descriptor' \
        'the descriptor is open when it is sent, and it is the only one: cmsg_len is
            CMSG_LEN(sizeof(int)). Close it after that: what is on its way stays open by itself.'
    said 'sendmsg: Invalid argument' \
        'a control message that the kernel understands: type SCM_RIGHTS, and cmsg_len is
            CMSG_LEN(sizeof(int)), its head and the int.'
    said 'cudaErrorInitializationError' \
        'the second process is made before the first CUDA call. After one, no CUDA call works in a
            child; an inherited number does not help.'
    said 'more descriptors than one' \
        'one descriptor: cmsg_len is CMSG_LEN(sizeof(int)), the head and the int. CMSG_SPACE is the
            room that the two take, with padding behind the int, and the kernel reads a second
            descriptor there.'
    said 'another message than was waited for' \
        'the descriptor and the parcel in one message: the importer waits for no other. The parcel
            is the bytes of the message, the descriptor its control message; tell_with_control sends
            both.'
    said 'nothing but a number' 'a control message of level SOL_SOCKET and type SCM_RIGHTS, with the
        descriptor as its data. The number alone says nothing: each process has a table of open
        files of its own. (A control message of another level than SOL_SOCKET is overlooked.
        tell_with_control sends it beside the parcel.)'
    expect_journal "$QUESTIONS"' imports | length == 0 or .[0].descriptor != "closed"' \
        'the importer keeps the descriptor open until the import is done. Then the pool needs it no
            more.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' imports | length == 0 or .[0].descriptor == "a pool"' \
        'what is sent is the descriptor that cudaMemPoolExportToShareableHandle gave. This one is
            open, and is not the pool'\''s.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' (ok("exporter"; "cudaMemPoolExportToShareableHandle") | length > 0)
            and pool != null' \
        'one process exports the pool, another process imports it.' \
        "$QUESTIONS"' "\(ok("exporter"; "cudaMemPoolExportToShareableHandle") | length) exports; "
            + told'
}

@test "the importer works on the exporter's block" {
    run_both
    got_there
    expect_journal "$QUESTIONS"' ok("importer"; "cudaMemPoolImportPointer") | length == 1
        and .[0].process != null' \
        'the importer imports one block of the imported pool (cudaMemPoolImportPointer).' \
        "$QUESTIONS"' "it imported \(ok("importer"; "cudaMemPoolImportPointer") | length)."' \
        -- "$QUESTIONS"' ok("importer"; "cudaMemPoolImportPointer")[0] as $block | ok("importer";
            "launch_add") | length == 1 and .[0].allocation == $block.allocation' \
        'the importer adds 1 to that block.' \
        "$QUESTIONS"' "\(ok("importer"; "launch_add") | length) launches of add in the importer."' \
        -- "$QUESTIONS"' (ok("importer"; "cudaFreeAsync") | length == 1)
            and (ok("exporter"; "cudaFreeAsync") | length == 1)' \
        'each of the two frees the block: the importer its import, the exporter the block.' \
        "$QUESTIONS"' "frees in the importer: \(ok("importer"; "cudaFreeAsync")
            | length), in the exporter: \(ok("exporter"; "cudaFreeAsync") | length)."'
}

@test "the imported pool is asked for what it cannot do, the exporter trims its own" {
    run_both
    got_there
    expect_journal "$QUESTIONS"' . as $all | ["cudaMallocFromPoolAsync", "cudaDeviceSetMemPool",
        "cudaMemPoolExportToShareableHandle", "cudaMemPoolTrimTo", "cudaMemPoolGetAttribute",
        "cudaMemPoolSetAttribute"]
        | all(.[]; . as $call | $all | of("importer"; $call) | length == 1
            and .[0].result == "cudaErrorInvalidValue")' \
        'the importer tries six calls on its pool, and each is refused: put back what was there.' \
        "$QUESTIONS"' "calls of the importer that were refused: "
            + ([.[] | select(.of == "importer" and .result == "cudaErrorInvalidValue") | .call]
            | join(", ")) + "."' \
        -- "$QUESTIONS"' imports | length == 2 and .[1].descriptor == "closed"' \
        'the importer closes the descriptor after the import, and shows that it cannot be imported
            any more.' \
        "$QUESTIONS"' "imports: " + ([imports[] | .descriptor // "nothing"] | join(", ")) + "."' \
        -- "$QUESTIONS"' ok("exporter"; "cudaMemPoolTrimTo") | length == 1 and .[0].reserved == 0' \
        'the exporter trims its pool after its free, and the pool gives everything back.' \
        "$QUESTIONS"' "trims: " + ([ok("exporter"; "cudaMemPoolTrimTo")[]
            | "\(.reserved) bytes kept"] | join(", ")) + "."'
}

@test "it prints what a real device prints, also for 24 MiB" {
    run_both
    expect_right 13_ipc_pool
    run_both 24
    expect_right 13_ipc_pool.24
}

@test "where no pool can be shared (SIM_HANDLE_TYPES=0) it says so, and ends with status 77" {
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_HANDLE_TYPES=0)
    run_lesson
    expect_status 77 'where cudaMemPoolCreate refuses a pool for file descriptors the lesson is
        skipped: exit status 77.'
    [[ "$output" == skipped:*cudaMemPoolCreate* ]] ||
        miss "Expected: a line that begins with \"skipped:\" and names the call." \
            "Happened: $(visible "$output")"
}
