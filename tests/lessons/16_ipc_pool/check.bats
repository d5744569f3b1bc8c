# Lesson 16: a pool crosses to another process as a file descriptor. The student chooses the handle
# type, sends the descriptor and gives access in the importer. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 16_ipc_pool; }

definitions 'def of($of; $call): [.[] | select(.of == $of and .call == $call)];
    def ok($of; $call): [of($of; $call)[] | select(.result == "cudaSuccess")];
    def imports: of("importer"; "cudaMemPoolImportFromShareableHandle");
    def pool: [imports[] | select(.result == "cudaSuccess") | .pool] | first;
    def grants($of): [ok($of; "cudaMemPoolSetAccess")[] | select(.value == 3)];
    def imported: if imports == [] then "The importer imported no pool."
        else "The first import was by " + ({closed: "a closed descriptor",
            "a pool": "the descriptor of a pool", "another file": "the descriptor of another file"}
            [imports[0].descriptor // ""] // "no descriptor")
            + ", and returned \(imports[0].result)." end;
    def granted: "Calls that gave access: \(grants("exporter") | length) in the exporter, "
        + "\(grants("importer") | length) in the importer.";'

# What a program wrote on its way, where a sentence of its own helps more than the question that it
# leaves open.
# shellcheck disable=SC2154  # run_lesson sets errors
wrote() { # wrote REGEXP SENTENCE
    [[ ! $output$errors =~ $1 ]] || {
        print_sentences "Expected: $2" \
            "Happened: $(grep -hE -- "$1" <<<"$output"$'\n'"$errors" | head -n 1 | cut -c 1-200)"
        try_it
        return 1
    }
}

# reached CALL: what comes after this call of one process follows from its failure, which is missed
# in a test before.
# shellcheck disable=SC2154  # run_lesson sets journal
reached() { grep -qsE "\"call\":\"$1\".*\"cudaSuccess\"" "$journal" || after_the_rest; }
IMPORTED=("pool != null"
    'the importer imports the pool. All that this test looks at comes after that.'
    'imported')

@test "the pool is created for a file descriptor" {
    run_both
    expect_journal 'of("exporter"; "cudaMemPoolExportToShareableHandle")
        + of("importer"; "cudaMemPoolExportToShareableHandle") | .[0].result == "cudaSuccess"' \
        'the pool can be exported: the field handleTypes of cudaMemPoolProps names the handle type
            at creation. Later it cannot be added (YOUR WORK, 1 of 3).' \
        'of("exporter"; "cudaMemPoolExportToShareableHandle")
            + of("importer"; "cudaMemPoolExportToShareableHandle")
            | if . == [] then "cudaMemPoolExportToShareableHandle was not called."
                else "cudaMemPoolExportToShareableHandle returned \(.[0].result)." end'
}

@test "the descriptor arrives as a descriptor" {
    run_both
    reached cudaMemPoolExportToShareableHandle
    wrote 'sendmsg: Bad file descriptor' \
        'the descriptor is open when it is sent. Close it after that: a descriptor that is on its
            way stays open.'
    wrote 'cudaErrorInitializationError' \
        'the second process is made before the first CUDA call. After one, no CUDA call works in a
            child; an inherited descriptor does not help.'
    wrote 'sent another message' \
        'the descriptor and the parcel in one message, the first one: the importer waits for no
            other (send_with_descriptor).'
    wrote 'a number, no descriptor' 'the message with the parcel carries the descriptor itself:
        send_with_descriptor sends both (YOUR WORK, 2 of 3). The number alone means nothing, because
        each process has a table of open files of its own, and a descriptor that comes with another
        message comes too late.'
    wrote 'ImportFromShareableHandle\([^,]+, *(\(void ?\*\) ?)?&[^,]+, .*cudaError' \
        'the import gets the descriptor itself, converted to void *, and not the address of the int
            that holds it. (The export does take an address.)'
    expect_journal 'imports | length == 0 or .[0].descriptor != "closed"' \
        'the importer keeps the descriptor open until the import is done. The pool does not need it
            after that.' \
        'imported' \
        -- 'imports | length == 0 or .[0].descriptor == "a pool"' \
        'the descriptor that is sent is the one from cudaMemPoolExportToShareableHandle.' \
        'imported' \
        -- '(ok("exporter"; "cudaMemPoolExportToShareableHandle") | length > 0)
            and pool != null' \
        'one process exports the pool, another process imports it.' \
        '"exports: \(ok("exporter"; "cudaMemPoolExportToShareableHandle") | length). "
            + imported' \
        -- '[.[] | select(.did == "exit" and .of == "exporter") | .descriptors // 0] | add // 0
            | . == 0' \
        'the exporter closes its descriptor when it is sent: a process may have only so many open
            files, and has no use for this one any more.' \
        '"it was still open at the end of the exporter."'
}

@test "GPU 1 has access in the importer" {
    run_both
    reached cudaMemPoolImportFromShareableHandle
    expect_journal "${IMPORTED[@]}" \
        -- 'ok("importer"; "cudaMemPoolImportPointer") | length == 1
        and .[0].process != null' \
        'the importer imports one allocation of the imported pool (cudaMemPoolImportPointer).' \
        '"it imported \(ok("importer"; "cudaMemPoolImportPointer") | length)."' \
        -- 'pool as $pool | any(grants("importer")[]; .device == 1
            and .pool == $pool)' \
        'the importer gives GPU 1 access to the imported pool (cudaMemPoolSetAccess), before GPU 1
            adds. Access that the exporter gives does not cross to another process (YOUR WORK, 3 of
            3).' \
        'granted' \
        -- 'ok("importer"; "cudaMemPoolImportPointer")[0] as $data | ok("importer";
            "launch_add") | length == 1 and .[0].allocation == $data.allocation' \
        'the importer adds 1 to that allocation.' \
        '"\(ok("importer"; "launch_add") | length) launches of add in the importer."' \
        -- 'grants("importer")[0].n < ok("importer"; "launch_add")[0].n' \
        'the importer gives GPU 1 access before GPU 1 adds.' \
        '"cudaMemPoolSetAccess came after launch_add."' \
        -- 'ok("importer"; "launch_add")[0] as $add | [ok("importer";
            "cudaStreamCreate")[] | select(.stream == $add.stream)][0] as $made
            | [ok("importer"; "cudaSetDevice")[] | select(.n < $made.n)] | last.device == 1' \
        'GPU 1 adds: cudaSetDevice makes it current before the stream of the add is created, as in
            the starter.' \
        '"another GPU was current when the stream of launch_add was created."' \
        -- '(ok("importer"; "cudaFreeAsync") | length == 1)
            and (ok("exporter"; "cudaFreeAsync") | length == 1)' \
        'each of the two frees: the importer its import, the exporter its allocation.' \
        '"frees in the importer: \(ok("importer"; "cudaFreeAsync")
            | length), in the exporter: \(ok("exporter"; "cudaFreeAsync") | length)."'
}

@test "the importer tries what an imported pool cannot do, the exporter trims its own" {
    run_both
    [[ $errors != *cudaErrorIllegalAddress* ]] || after_the_rest   # GPU 1 had no access
    reached cudaMemPoolImportFromShareableHandle
    expect_journal "${IMPORTED[@]}" \
        -- '. as $all | ["cudaMallocFromPoolAsync", "cudaDeviceSetMemPool",
        "cudaMemPoolExportToShareableHandle", "cudaMemPoolTrimTo", "cudaMemPoolGetAttribute",
        "cudaMemPoolSetAttribute"]
        | all(.[]; . as $call | $all | of("importer"; $call) | length == 1
            and .[0].result == "cudaErrorInvalidValue")' \
        'the importer tries six calls on its pool, and each is refused: the starter has them behind
            the import by a closed descriptor.' \
        '"calls of the importer that were refused: "
            + ([.[] | select(.of == "importer" and .result == "cudaErrorInvalidValue") | .call]
            | if . == [] then "none" else join(", ") end) + "."' \
        -- 'imports | length == 2 and .[1].descriptor == "closed"' \
        'the importer closes the descriptor after the import, and tries to import by it once
            more.' \
        '"imports by: " + ([imports[] | .descriptor // "nothing"] | join(", "))
            + "."' \
        -- 'ok("exporter"; "cudaMemPoolTrimTo") | length == 1 and .[0].reserved == 0' \
        'the exporter trims its pool after its free, and the pool then reserves nothing.' \
        '"bytes reserved after each trim: " + ([ok("exporter"; "cudaMemPoolTrimTo")[]
            | "\(.reserved)"] | if . == [] then "no trim" else join(", ") end) + "."'
}

@test "it prints what a real device prints, also for a size that takes one segment" {
    local ONE_SEGMENT
    after_the_rest
    draw ONE_SEGMENT 1 9
    run_both
    expect_right 16_ipc_pool
    run_both "$ONE_SEGMENT"
    expect_right 16_ipc_pool.24
}

@test "where no pool can be shared (SIM_HANDLE_TYPES=0) it prints why, and ends with status 77" {
    after_the_rest
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_HANDLE_TYPES=0)
    run_lesson
    expect_status 77 'where cudaMemPoolCreate refuses a pool for file descriptors the lesson is
        skipped: exit status 77.'
    [[ "$output" == skipped:*cudaMemPoolCreate* ]] ||
        miss "Expected: a line that begins with \"skipped:\" and names the call." \
            "Happened: $(visible "$output")"
}
