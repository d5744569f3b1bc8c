#!/usr/bin/env bats
# The rooms of simulator/ and what each may include. simulator/README.md has the picture.

load ../../../tests/suite

# Prints each include of simulator/ as: FILE NAME, the name in its quotes or angle brackets.
includes() {
    find simulator -path simulator/tests -prune -o -name '*.[ch]' -exec awk '
        /^[ \t]*#[ \t]*include[ \t]*["<]/ {
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "")
            sub(/[">][^">]*$/, "\"")
            print FILENAME, $0
        }' {} + | tr -d '"'
}

@test "a room of simulator/ includes only rooms that stand below it" {
    run awk '
        BEGIN {
            split("os base module sched check mem run", below_all)
            for (i in below_all)
                height[below_all[i]] = i
            height["ptx"] = height["sched"]
            height["graph"] = height["ipc"] = 8
            height["api"] = 9
        }
        # These are outside the rooms: two are for programs, and the lists are generated.
        $2 ~ /^</ || $2 ~ /^(user_)?kernels\.h$/ { next }
        $2 ~ /^[a-z_]+\.inc$/ { next }
        {
            split($1, from, "/")
            split($2, to, "/")
            if (!(from[2] in height))
                print $1 ": " from[2] "/ is no room of simulator/README.md"
            else if (!(to[1] in height))
                print $1 " includes \"" $2 "\", which names no room"
            else if (from[2] != to[1] && height[to[1]] >= height[from[2]])
                print $1 " includes \"" $2 "\", and " to[1] "/ does not stand below " from[2] "/"
        }' <(includes)
    assert_output ""
}

@test "every hook, by which a room calls one above it, is in the table of simulator/README.md" {
    run python3 -SB simulator/tests/unit/sources.py hooks
    assert_success
    assert_output --partial '`observer` | base | api'
    # shellcheck disable=SC2016
    assert_equal "$(sort <<<"$output")" \
        "$(sed -nE 's/^\| (`[a-z_.]+` \| [a-z]+ \| [a-z, ]+) \|.*/\1/p' simulator/README.md | sort)"
}

@test "outside os/, simulator/ includes only the C standard library, CUDA and itself" {
    local c11="assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp"
    c11+=" signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string"
    c11+=" tgmath time uchar wchar wctype"
    run awk -v c11="$c11" '
        BEGIN {
            split(c11, names, " ")
            for (i in names)
                allowed["<" names[i] ".h"] = 1
            allowed["<cuda_runtime_api.h"] = allowed["<driver_types.h"] = allowed["<cuda.h"] = 1
        }
        $1 ~ /^simulator\/os\// || $2 !~ /^</ { next }
        # For C++ programs.
        $1 == "simulator/user_kernels.h" && $2 == "<initializer_list" { next }
        !($2 in allowed) { print $1 " includes " $2 ">: only os/ may" }' <(includes)
    assert_output ""
}

# Debuggers, reports, and searches name a file by its last part: "break memory.c:144".
@test "no two files of simulator/ have the same name" {
    run bash -c "find simulator -path simulator/tests -prune -o -name '*.[ch]' -printf '%f\n' |
        sort | uniq -d"
    assert_output ""
}

@test "a function that another room calls, and that needs the lock, begins with NEEDS_LOCK()" {
    run python3 -SB simulator/tests/unit/sources.py locks
    assert_success
    assert_line --regexp '^[1-9][0-9]{2} functions assert the lock$'
    run grep -v 'functions assert the lock$' <<<"$output"
    assert_output ""
}

@test "what a comment calls measured names its recording, which is there" {
    run python3 -SB simulator/tests/unit/sources.py measured
    assert_success
    assert_output --regexp '^[1-9][0-9]{2} comments say where something was measured$'
}

# bats test_tags=long
@test "a sanitizer build ends a call without the lock, in each room, and names the function" {
    make_sanitized address,undefined simulator/tests/unit/inside_broken
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/inside_broken
    local room program
    for room in os base sched check mem run graph ipc; do
        program=build/simulator-address-undefined/simulator/tests/unit/inside_broken
        run bounded "$program" "$room"
        [[ $status = 1 && $output == *" was called without the lock, which it needs."* ]] ||
            complain "$room, without the lock: exit status $status" "$output"
        run bounded "$program" "$room" locked
        [[ $status = 0 && $output == returned ]] ||
            complain "$room, with the lock: exit status $status" "$output"
        run bounded build/simulator/simulator/tests/unit/inside_broken "$room"
        [[ $status = 0 && $output == returned ]] ||
            complain "$room, in the ordinary build: exit status $status" "$output"
    done
    finish
}
