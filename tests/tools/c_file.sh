# shellcheck shell=bash
# What is odd about a C file that cannot be compiled, in a sentence on stdout. Sourced.

expect_c_file() { # expect_c_file FILE
    if [ -d "$1" ]; then
        echo "$1 is a folder, not a C file."
    elif [ ! -f "$1" ]; then
        echo "$1 does not exist. If it was renamed or deleted: git checkout -- $1 brings it back."
    elif IFS= read -r -d '' _ <"$1"; then
        echo "$1 contains a NUL byte, which a C file must not have. Save it as plain text."
    else
        return 0
    fi
    return 1
}

does_not_compile() { # does_not_compile FILE, below what the compiler printed
    echo "$1 does not compile. Begin with the first line above that has the word error."
}
