# shellcheck shell=bash
# Says on stdout, in a sentence, why a C file cannot be compiled: for its own fault, or because a
# disk is full. Sourced.

expect_c_file() { # expect_c_file FILE
    if [ -d "$1" ]; then
        echo "$1 is a folder, not a C file."
    elif [ -e "$1" ] && [ ! -f "$1" ]; then
        echo "$1 is no file that keeps text, but a pipe, a socket or a device."
    elif [ -L "$1" ] && [ ! -e "$1" ]; then
        echo "$1 is a link that leads to no file."
    elif [ ! -e "$1" ]; then
        echo "$1 does not exist.$([[ ! -e .git || $1 != @(lessons|solutions)/* ]] ||
            echo " If it was renamed or deleted: git checkout -- $1 brings it back.")"
    elif [ ! -r "$1" ]; then
        echo "$1 cannot be read. Let its owner type: chmod u+r '$1'"
    elif [ ! -s "$1" ]; then
        echo "$1 is empty. Save it in your editor first."
    elif IFS= read -r -d '' _ <"$1"; then
        echo "$1 contains a NUL byte, which a C file must not have. Save it as plain text (UTF-8)."
    else
        return 0
    fi
    return 1
}

# Compiling writes less than this to each of the folders. Names a folder without that room.
expect_room() { # expect_room FOLDER...
    local folder written
    for folder; do
        if [ ! -w "$folder" ]; then
            echo "Nothing can be written to $folder. Copy the workbook to a folder of your own."
            return 1
        fi
        { head -c 1048576 /dev/zero >"$folder/room.$$"; } 2>/dev/null
        written=$?
        rm -f "$folder/room.$$"
        if [ "$written" != 0 ]; then
            echo "The disk is full: nothing more can be written to $folder. Make room there."
            return 1
        fi
    done
}
