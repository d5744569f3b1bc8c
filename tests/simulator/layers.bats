#!/usr/bin/env bats
# The rooms of simulator/ and what each may include. simulator/README.md has the picture.

load ../tools/helpers

# Prints each include of simulator/ as: FILE NAME, the name in its quotes or angle brackets.
includes() {
    find simulator -name '*.[ch]' -exec awk '
        /^[ \t]*#[ \t]*include[ \t]*["<]/ {
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "")
            sub(/[">][^">]*$/, "\"")
            print FILENAME, $0
        }' {} + | tr -d '"'
}

@test "a room of simulator/ includes only rooms that stand below it" {
    run awk '
        BEGIN {
            split("os base sched check mem run", below_all)
            for (i in below_all)
                height[below_all[i]] = i
            height["graph"] = height["ipc"] = 7
            height["api"] = 8
        }
        # These stand outside the rooms: two are for programs, one is generated.
        $2 ~ /^</ || $2 ~ /^(user_)?kernels\.h$/ || $2 == "unmodelled.inc" { next }
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

@test "outside os/, simulator/ includes only the C standard library, CUDA and itself" {
    local c11="assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp"
    c11+=" signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string"
    c11+=" tgmath time uchar wchar wctype"
    run awk -v c11="$c11" '
        BEGIN {
            split(c11, names, " ")
            for (i in names)
                allowed["<" names[i] ".h"] = 1
            allowed["<cuda_runtime_api.h"] = allowed["<driver_types.h"] = 1
        }
        $1 ~ /^simulator\/os\// || $2 !~ /^</ { next }
        # For C++ programs.
        $1 == "simulator/user_kernels.h" && $2 == "<initializer_list" { next }
        !($2 in allowed) { print $1 " includes " $2 ">: only os/ may" }' <(includes)
    assert_output ""
}

@test "no old word is left in simulator/" {
    run grep -rnE --include='*.[ch]' --include='*.def' --include='*.md' --include='*.mk' \
        'near_miss|abroad|border_|\bdeeds?\b|timeline_|host_knows|\blanes?\b|watched|accuse|chunk' \
        simulator
    # The table of words in the README names them on purpose.
    assert_equal "$(grep -v '^simulator/README.md:[0-9]*:|' <<<"$output")" ""
}
