# shellcheck shell=bash
# Refuses words that a script does not know. Sourced by scripts that a person may type:
#
#   takes PATTERN "$@"   joins the script's words by ";". If they do not match the regular
#                        expression, prints the script's heading as its usage and ends with 2
#   need_git_clone       ends with 2 where git does not know which files are the workbook's

takes() { # takes PATTERN WORD...
    local IFS=';' LC_ALL=C pattern=$1   # names of files are any bytes
    shift
    [[ "${*//;/,}" =~ ^($pattern)$ ]] && return
    {
        if [ $# = 0 ]; then echo "${0##*/}: words are missing. Its usage:"
        else echo "${0##*/} does not know these words: $(IFS=' ' && echo "$*"). Its usage:"; fi
        awk 'NR > 1 && !/^#/ { exit }
            NR > 1 && !/^# shellcheck/ { sub(/^# ?/, "    "); print }' "$0"
    } >&2
    exit 2
}

need_git_clone() {
    local why
    why=$(git ls-files --error-unmatch Makefile 2>&1) || {
        echo "${0##*/} works on the files that git knows, so it needs git and a clone made with" \
            "it: $why" >&2
        exit 2
    }
}
