# shellcheck shell=bash
# What the checks of the lessons share. A check is tests/lessons/NN_name.bats; it judges one C file,
# $LESSON, on the simulated device:
#
#   load ../tools/helpers
#   setup_file() { lesson_setup 06_release_threshold; }
#   @test "the output is the one a device prints" {
#       run_lesson
#       expect_right 06_release_threshold
#   }
#   @test "the same with 96 MiB" {
#       run_lesson 96
#       expect_right 06_release_threshold.96
#   }
#   @test "the threshold is set before the first free" {
#       run_lesson
#       expect_journal 'any(.[]; .call == "cudaMemPoolSetAttribute")' \
#           'The program sets the release threshold.'
#   }
#
#   lesson_setup NAME         compiles $LESSON (default: solutions/NAME.c) in a folder of its own
#   run_lesson [ARGUMENT...]  runs it, once for all tests that need the same run; sets $status,
#                             $output, $errors (what it printed on stdout and stderr) and $journal
#                             (a file). SIM_ENV=(SIM_SCHEDULE=late) before it gives the simulated
#                             device more environment
#   run_both [ARGUMENT...]    the same for a program of two processes: $journal then holds the lines
#                             of both, each with "of": "exporter", the process that exported a pool
#                             (else the one that came first), or "importer"
#   expect_output NAME        stdout is tests/lessons/expected/NAME.txt; lines that begin with "~"
#                             depend on the machine and are compared in their words, not in their
#                             numbers (tests/tools/machine.sed)
#   expect_right NAME         expect_clean and expect_output; when the program found itself
#                             incorrect and printed no reason, the line that differs comes first
#   expect_journal JQ SENTENCE [JQ] [-- JQ SENTENCE [JQ]]...
#                             the boolean JQ holds for the journal as one array; SENTENCE is what is
#                             expected of the program, the second JQ what happened instead. More
#                             behind "--" are judged in order, by one jq
#   expect_clean              exit status 0, no hazard, nothing left allocated, nothing that the
#                             simulated device does not know
#   expect_status N SENTENCE  the exit status is N
#   draw NAME LEAST MOST      sets NAME to a whole number from LEAST to MOST. It depends on NAME,
#                             the lesson and SEED, which make check-NN draws and the suite sets to
#                             1: a table of known answers does not pass
#   ask_lesson HARNESS SENTENCE [ARGUMENT...]
#                             compiles tests/lessons/HARNESS.h behind the lesson, whose main has
#                             another name, and runs it: HARNESS calls the student's functions with
#                             arguments of the check's own. What it prints is a miss; SENTENCE is
#                             what is expected of a file with which it does not compile or end
#   after_the_rest            for the last tests, which judge what is printed: skips the test when
#                             one before it has missed. Who only prints does not get a point
#   missed LINE...            a test fails with these words, with what stderr had, and with where to
#                             read
#   miss LINE...              a test fails with these words alone
#
# A program that does not compile, does not end, floods its folder or dies of a signal is reported
# once; the other tests of the file are then skipped. tests/tools/run.sh is how it is run.

cd "${BASH_SOURCE[0]%/*}/../.." || exit 1
ROOT=$PWD
unset MAKEFLAGS MAKELEVEL MFLAGS   # a make that runs the suite gives nothing to the makes inside it
export WORKBOOK_PROGRESS=none      # what tests check is no progress of the reader's

# The Bats libraries, where Debian, Ubuntu or a hand put them. The checks of lessons do without.
# What their load.bash does is done here: it starts a process for each file.
load_libraries() {
    local library folder file
    for library in bats-support bats-assert bats-file; do
        for folder in /usr/lib/bats /usr/share/bats /usr/lib; do
            [ -e "$folder/$library/load.bash" ] || continue
            # shellcheck source=/dev/null
            for file in "$folder/$library"/src/*.bash; do source "$file"; done
            break
        done
    done
}
[[ "${BATS_TEST_FILENAME##*/}" == [0-9][0-9]_* ]] || load_libraries

# What answers questions about a journal. Where gojq is installed it does: it answers as jq does,
# and begins in a tenth of the time of jq 1.6, which is a sixth of what a check takes.
if [ -z "${CHECK_JQ:-}" ]; then
    CHECK_JQ=jq
    if type -P gojq >/dev/null; then CHECK_JQ=gojq; fi
    export CHECK_JQ
fi

# lines WORDS...: each on a line
lines() { printf '%s\n' "$@"; }

miss() {
    lines "$@"
    return 1
}

# folder_for FILE MARK: where a file is checked, named after its folder and itself, into $folder
folder_for() {
    local file=$PWD/${1%.c}
    folder=${file%/*}
    folder=build/check/${folder##*/}$2${file##*/}
}

lesson_setup() {
    local name=$1 file=${LESSON:-solutions/$1.c} library=build/simulator folder
    [ -z "${SANITIZE:-}" ] || library=build/simulator-${SANITIZE//,/-}
    export CHECK_NAME=$name CHECK_LESSON=$file CHECK_LIBRARY=$ROOT/$library
    export CHECK_GOAL=${name%%_*}
    CHECK_GOAL=${CHECK_GOAL/\//-}   # clinic/03: make clinic-03
    [[ $file == */lessons/$name.c ]] || [ "$file" = "lessons/$name.c" ] || CHECK_GOAL+=" FILE=$file"
    # The student's runs are found in build/check/NN_name; others, which may run at the same time,
    # elsewhere.
    if [ -z "${CHECK_FOLDER:-}" ]; then
        case $file in
        lessons/*) CHECK_FOLDER=build/check/$name ;;
        *)
            folder_for "$file" .
            CHECK_FOLDER=$folder${SANITIZE:+-$SANITIZE} ;;
        esac
    fi
    # Lesson 12 starts itself again.
    local starts=$'\n'"$name:[^"$'\n'"]* execl[ "$'\n'"]"
    if [ -n "${CHECK_SEAL:-}" ] && [[ $(<tests/lessons/imports.txt) =~ $starts ]]; then
        export CHECK_SEAL="exec"
    fi
    export CHECK_FOLDER BATS_NO_PARALLELIZE_WITHIN_FILE=true   # the tests of a check share its runs
    [ ! -e "$CHECK_FOLDER" ] || rm -rf "$CHECK_FOLDER"
    mkdir -p "$CHECK_FOLDER"
    if [ ! -e "$library/libcudart.so.13" ]; then
        echo "The simulated device is not built. Type: make simulator" >"$CHECK_FOLDER/refused"
    elif [ -n "${CHECK_PROGRAM:-}" ]; then   # compiled already
        cp "$CHECK_PROGRAM" "$CHECK_FOLDER/program"
    elif compile_joined; then
        :
    else
        compile_lesson "$file" >"$CHECK_FOLDER/compiler" 2>&1 || case $? in
        124)
            echo "The compiler did not finish $file within $((2 * ${CHECK_SECONDS:-5}))" \
                "seconds and 2 GiB, and was stopped." >"$CHECK_FOLDER/refused" ;;
        *)
            grep -av '^make' "$CHECK_FOLDER/compiler" | cut -c 1-300 |
                awk 'NR <= 40 { print } { last = $0 } END { if (NR > 40) print "...\n" last }' \
                    >"$CHECK_FOLDER/refused" ;;
        esac
    fi
}

compile_lesson() { # compile_lesson FILE [NAME OF THE PROGRAM [NAME FOR ITS INSPECTION]]
    local included=() inspect=
    # A case of the clinic is not graded, and a sanitizer has imports of its own.
    [ -n "${SANITIZE:-}" ] || [[ $CHECK_NAME == clinic/* ]] || inspect="$CHECK_NAME ${3:-}"
    [ "$1" = "$CHECK_LESSON" ] || included=("$CHECK_LESSON" tests/lessons/asked*.h)
    CHECK_INSPECT=$inspect \
        tests/tools/program.sh "$1" "$CHECK_FOLDER/${2:-program}" "${included[@]}"
}

# The check's own code behind the lesson, for ask_lesson. No macro of the student's file changes it.
asked_code() { # asked_code HARNESS [LINE]
    grep -ohE '\b[A-Za-z]\w*' tests/lessons/{asked,"$1"}.h | sort -u | sed 's/^/#undef /'
    # It runs once, so it is not optimized: that would be a quarter of the compiler's time.
    lines "${2:-}" '#pragma GCC optimize 0' '#include "workbook.h"' \
        "#include \"$ROOT/tests/lessons/asked.h\"" "#include \"$ROOT/tests/lessons/$1.h\""
}

# One program for the lesson and for ask_lesson takes half the time of two. Where the check's code
# needs what the lesson may not import, where it cannot be joined with the student's file, and where
# that does not compile, they are compiled one by one.
compile_joined() {
    local harness joined=$CHECK_FOLDER/joined.c text
    text=$(<"$BATS_TEST_FILENAME")
    [[ $text =~ (asked_[a-z]+) ]] || return
    harness=${BASH_REMATCH[1]} text=$(<tests/lessons/imports.txt)
    [[ -e tests/lessons/$harness.h && $text != *$'\n'"${harness}_program:"* ]] || return
    # The reports name the lines of the student's file.
    {
        lines '#define main lesson_main' "#line 1 \"$CHECK_LESSON\""
        cat "$CHECK_LESSON"
        lines '' "#line 1 \"$harness\""
        asked_code "$harness" '#define ASKED_OR_RUN'
    } >"$joined" 2>/dev/null
    compile_lesson "$joined" >/dev/null 2>&1 && ln "$CHECK_FOLDER/program" \
        "$CHECK_FOLDER/${harness}_program"
}

# A check remembers that a test has missed. With CHECK_FIRST_MISS=1 (make watch) the tests after the
# first that misses are skipped.
[ -z "${CHECK_NAME:-}" ] || teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || : >"$CHECK_FOLDER/missed"
}

# For a test that judges what is printed: it is skipped when a test before it has missed.
after_the_rest() {
    [ ! -e "$CHECK_FOLDER/missed" ] || skip "first repair what is missed above"
}

# Ends the test with the words of $CHECK_FOLDER/refused: the first test fails, the others are
# skipped.
refuse() {
    if mkdir "$CHECK_FOLDER/refusal_shown" 2>/dev/null; then
        cat "$CHECK_FOLDER/refused"
        return 1
    fi
    skip "the program could not be checked, see the first miss"
}

# text_of NAME FILE: the first 100000 bytes of the file, without NUL bytes and line ends behind the
# last, into the variable. Every run needs it twice.
text_of() {
    local LC_ALL=C text
    IFS= read -r -N 100000 text <"$2" || true
    text=${text%$'\n'}
    [[ $text != *$'\n' ]] || text=$(printf '%s' "$text")
    printf -v "$1" '%s' "$text"
}

# shellcheck disable=SC2034  # output and journal are for the tests
run_lesson() {
    local words=("${SIM_ENV[@]}" "$@") folder number ended
    if [ -e "$CHECK_FOLDER/refused" ]; then
        refuse
        return
    fi
    [ -z "${CHECK_FIRST_MISS:-}" ] || [ ! -e "$CHECK_FOLDER/missed" ] ||
        skip "a test before this one has missed"
    folder=$CHECK_FOLDER/run${words[*]/#/-}
    folder=${folder// /}
    output='' errors=''
    CHECK_RUN=$folder CHECK_COMMAND="${SIM_ENV[*]}${SIM_ENV[*]:+ }make $CHECK_GOAL"
    CHECK_COMMAND+="${1:+ ARGS=\"$*\"}${SIM_ENV[*]:+ BACKEND=simulator}"
    journal=$folder/journal.jsonl journals=()
    # The simulated device does the same again when it is given the same: one run is enough for all
    # tests that need it.
    if [ ! -e "$folder" ]; then
        mkdir "$folder"
        "$BASH" tests/tools/run.sh "$folder" LD_LIBRARY_PATH="$CHECK_LIBRARY" \
            SIM_JOURNAL="$ROOT/$journal" "${SIM_ENV[@]}" -- "$ROOT/$CHECK_FOLDER/program" "$@"
    fi
    read -r status <"$folder/status"
    text_of output "$folder/stdout"
    text_of errors "$folder/stderr"

    number=$((status - 128)) ended=
    [ ! -s "$folder/ended" ] || read -r ended <"$folder/ended"
    case $ended in
    time)
        lines "The program did not end within ${CHECK_SECONDS:-5} seconds and was stopped: is \
there a loop or a wait that never ends?" ;;
    flood)
        lines "The program printed too much and was stopped: is there a loop that never ends?" ;;
    memory)
        lines "The program needed more than 2 GiB of memory and was stopped: is there a loop that \
allocates host memory?" ;;
    journal)
        lines "The journal of the run is not the one that the simulated device wrote. A program \
returns from main or calls exit, and leaves the files of its run alone." ;;
    machine) lines "This machine is too busy to judge the program." ;;
    *)
        if [ "$number" -le 0 ] || ! kill -l "$number" >/dev/null 2>&1; then return 0; fi
        lines "The program died of signal SIG$(kill -l "$number"): $(signal_sentence "$number")" ;;
    esac >"$folder/refused"
    mv "$folder/refused" "$CHECK_FOLDER/refused"
    { printed; try_it; } >>"$CHECK_FOLDER/refused"
    refuse
}

draw() {
    local text="${SEED:-1} $CHECK_NAME $1" hash=2166136261 i code   # FNV-1a
    for ((i = 0; i < ${#text}; i++)); do
        printf -v code '%d' "'${text:i:1}"
        hash=$(((hash ^ code) * 16777619 & 0xffffffff))
    done
    printf -v "$1" '%d' $(($2 + hash % ($3 - $2 + 1)))
}

ask_lesson() {
    local harness=$1 sentence=$2 file=$CHECK_FOLDER/$1.c program=${1}_program folder words
    local word=asked-$SRANDOM
    shift 2
    run_lesson   # a file that cannot be judged is reported once
    if [ ! -e "$CHECK_FOLDER/$program" ]; then
        # What the check's own code uses is declared before the student's file.
        {
            lines '#define _GNU_SOURCE' '#include "workbook.h"' '#define main lesson_main' \
                "#include \"$(realpath "$CHECK_LESSON")\""
            asked_code "$harness"
        } >"$file"
        compile_lesson "$file" "$program" "$program" >"$CHECK_FOLDER/compiler" 2>&1 || {
            missed "Expected: $sentence" \
                "Happened: $(grep -am 1 'error' "$CHECK_FOLDER/compiler" | cut -c 1-300)"
            return
        }
    fi
    folder=$CHECK_FOLDER/$harness-$*
    folder=${folder// /-}
    mkdir -p "$folder"
    "$BASH" tests/tools/run.sh "$folder" LD_LIBRARY_PATH="$CHECK_LIBRARY" "${SIM_ENV[@]}" -- \
        "$ROOT/$CHECK_FOLDER/$program" "$@" "$word"
    text_of words "$folder/stdout"
    if [ "$(<"$folder/status")" = 0 ] && [[ $words == *"$word" ]]; then
        words=${words%"$word"}
    else
        words=$(lines "Expected: $sentence" \
            "Happened: called by the check, it did not end, or it died or ended the program.")
    fi
    [ -z "$words" ] || missed "$words"
}

# A process that lives beside the first has a journal of its own.
run_both() {
    local file exporter of
    run_lesson "$@"
    [ -s "$journal" ] || return 0
    journals=("$journal"*)
    journal=$CHECK_RUN/both.jsonl
    [ ! -e "$journal" ] || return 0
    exporter=$(grep -l '"cudaMemPoolExportToShareableHandle".*"cudaSuccess"' "${journals[@]}" |
        head -n 1)
    for file in "${journals[@]}"; do
        of=importer
        [ "$file" != "${exporter:-${journals[0]}}" ] || of=exporter
        sed 's/}$/,"of":"'$of'"}/' "$file"
    done >"$journal"
}

signal_sentence() {
    case $(kill -l "$1") in
    SEGV | BUS)
        echo "it touched memory that is not its own. The host cannot read or write device memory" \
            "through a pointer." ;;
    ABRT) echo "it, or a library, gave up (abort)." ;;
    FPE) echo "an arithmetic error, such as a division by zero." ;;
    *) echo "something ended it from outside, or it did so itself." ;;
    esac
}

# ---- what a miss shows ----

printed() { # the first lines of stderr
    if [ -n "$errors" ]; then
        echo "On stderr it printed:"
        # What differs in an address only is printed once: a line, with the indented lines that
        # belong to it.
        awk '/^[^ ]/ { key = $0; gsub(/0x[0-9a-f]+/, "", key); again = seen[key]++ } !again' \
            <<<"$errors" | head -n 20 | cut -c 1-400 | sed 's/^/    /'
    fi
}

# CHECK_PAGE: the page's file, for a check that is no lesson's. The book, which shows what a check
# prints, gives a name that is not there: what it shows is the same before and after it is built.
page() {
    local html=build/docs/html/${CHECK_PAGE:-$CHECK_NAME.html}
    if [ -e "${html%%#*}" ]; then echo "$html"; else echo "make book builds and opens it"; fi
}

try_it() {
    echo "See it yourself: $CHECK_COMMAND"
    echo "Its files: $CHECK_RUN"
    echo "The page: $(page)"
    [[ $CHECK_NAME == */* ]] || echo "A hint: make hint-${CHECK_NAME%%_*}"
}

# A sentence too long for a line of its check goes on in the next one, indented. It is printed as
# one line.
print_sentences() {
    local text line_end=$'\n +'
    for text; do
        while [[ $text =~ $line_end ]]; do text=${text/"${BASH_REMATCH[0]}"/ }; done
        lines "$text"
    done
}

missed() {
    print_sentences "$@"
    printed
    try_it
    return 1
}

visible() { # one line, with what cannot be seen made visible
    local line=${1:0:200}
    if [[ $line == *[![:print:]]* ]]; then printf '%q' "$line"; else printf '%s' "$line"; fi
}

# ---- expectations ----

words() { sed -E -f "$ROOT/tests/tools/machine.sed" "$@"; }

expect_status() {
    [ "$status" = "$1" ] ||
        missed "Expected: ${2:-exit status $1.}" "Happened: exit status $status."
}

expect_output() {
    local expected=tests/lessons/expected/$1.txt number=0 wanted difference lines=() words=()
    [ -e "$expected" ] || {
        lines "$expected is not there: nothing to compare with."
        return 1
    }
    if cmp -s "$expected" "$CHECK_RUN/stdout" ||
        cmp -s <(words "$expected") <(words "$CHECK_RUN/stdout"); then
        return 0
    fi
    if [ ! -s "$CHECK_RUN/stdout" ]; then
        missed "Expected: the lines of $expected on stdout." \
            "Happened: stdout is empty. Was nothing printed, or stdout closed?"
        return
    fi
    mapfile -t lines <<<"$output"
    mapfile -t words < <(words <<<"$output")
    while IFS= read -r wanted; do
        if [ "$number" -ge "${#lines[@]}" ]; then
            lines "The output ends after line $number." "Expected next: $(visible "$wanted")"
            break
        elif [ "$(words <<<"$wanted")" != "${words[number]}" ]; then
            difference="differs"
            [[ $wanted != "~"* ]] || difference+=" in its words (its numbers are the machine's)"
            lines "Line $((number + 1)) of the output $difference." \
                "Expected: $(visible "$wanted")" "Happened: $(visible "${lines[number]}")"
            break
        fi
        number=$((number + 1))
    done <"$expected"
    if [ "$number" = "$(wc -l <"$expected")" ]; then
        wanted=${lines[number]:-a missing line end, a NUL byte or an empty line}
        lines "The output goes on after its last expected line (line $number)." \
            "Happened: $(visible "$wanted")"
    fi
    printed
    echo "The whole expected output: $expected, recorded on a real device."
    try_it
    return 1
}

expect_right() {
    if [ "$status" = 1 ] && [ -z "$errors" ]; then expect_output "$1" || return; fi
    expect_clean || return
    expect_output "$1"
}

# All expectations of a call go to one jq, which takes longer to begin than to judge. It prints
# "met", or the number of the first that is not, what came instead of true, and what happened.
expect_journal() {
    local sentences=() conditions=() happened=() number judge='"met"' result value
    while [ $# -ge 2 ]; do
        conditions+=("$1")
        sentences+=("$2")
        shift 2
        happened+=(empty)
        if [ $# != 0 ] && [ "$1" != -- ]; then
            happened[-1]=$1
            shift
        fi
        if [ "${1:-}" = -- ]; then shift; fi
    done
    [ $# = 0 ] || {
        miss "expect_journal: a question has no sentence, or no -- before it: $1"
        return
    }
    if [ ! -s "$journal" ]; then
        missed "Expected: ${sentences[0]}" "Happened: the program made no CUDA call at all: the \
journal of the simulated device is empty."
        return
    fi
    # A condition may end in a comment: its parenthesis is closed on a line of its own.
    for ((number = ${#conditions[@]} - 1; number >= 0; number--)); do
        judge="outcome(${conditions[number]}
            ) as \$value | if \$value == [true] then $judge
            else \"$number\", (\$value | shown), (try (${happened[number]}
            ) catch \"the error \\(.)\") end"
    done
    judge='def outcome(condition): try [condition] catch {error: .};
        def shown: if type == "object" then "the error \(.error)"
            else map(tojson) | join(" and ") end;'" $judge"
    mapfile -t result < <("$CHECK_JQ" -r -s "$judge" "$journal" 2>&1)
    [ "${result[*]}" != met ] || return 0
    number=${result[0]} value=${result[1]:-}
    if [[ $number == [0-9]* ]]; then
        print_sentences "Expected: ${sentences[number]}"
        if [ "${happened[number]}" != empty ]; then
            echo "Happened: $(lines "${result[@]:2}")"
        fi
        [ "$value" = false ] || echo "(The check's question gave $value, neither true nor false.)"
    else
        print_sentences "Expected: ${sentences[0]}"
        lines "Happened: the journal could not be read: ${result[*]}"
    fi
    printed
    try_it
    return 1
}

# One word for how a run ended: that of its first process that did not end well. Every check needs
# it, and jq takes ten times as long as awk to begin. In a JSON line a text between quotes that
# stand bare is a key or a whole value.
how_it_ended() {
    awk 'function judge() {
            if (last !~ /^{.*"did":"exit".*}$/) word = "left"
            else if (last !~ /"hazards":0[,}]/) word = "hazard"
            else if (last !~ /"live":0[,}]/) word = "live"
            else if (unsupported) word = "unsupported"
        }
        FNR == 1 && NR > 1 && !word { judge(); unsupported = 0 }
        /"did":"unsupported"/ { unsupported = 1 }
        { last = $0 }
        END { if (!word) judge(); print word ? word : "clean" }' "${journals[@]:-$journal}"
}

in_journal() { "$CHECK_JQ" -r -s "$1" "$journal"; }

expect_clean() {
    if [[ $'\n'$errors == *$'\n'hazard:* ]]; then
        lines "Expected: a program whose every access is ordered." \
            "Happened: the simulated device found a hazard."
    elif [ "$status" != 0 ]; then
        lines "Expected: exit status 0." "Happened: exit status $status."
    elif [ ! -s "$journal" ]; then
        lines "Expected: CUDA calls." \
            "Happened: the program made none: the journal of the simulated device is empty."
    else
        case $(how_it_ended) in
        clean) return 0 ;;
        hazard)
            lines "Expected: a program whose every access is ordered." \
                "Happened: the simulated device found a hazard." ;;
        live)
            lines "Expected: everything that was allocated is freed at the end." \
                "Happened: allocations left: $(in_journal \
                    '[.[] | select(.did == "exit").live] | add')." ;;
        unsupported)
            lines "Expected: only calls that the simulated device models." \
                "Happened: $(in_journal \
                '[.[] | select(.did == "unsupported").call] | unique | join(", ")')." ;;
        *)
            lines "Expected: a program that returns from main or calls exit." \
                "Happened: it left in another way: its journal has no last line." ;;
        esac
    fi
    printed
    try_it
    return 1
}

# ---- for the tests of the workbook itself ----

# tool NAME: sets $program to clang-format, ruff, shellcheck, codespell or proselint, or skips the
# test with the reason
tool() {
    program=$("$ROOT/tests/tools/format.sh" where "$1" 2>"$BATS_TEST_TMPDIR/why") ||
        skip "$1 could not be had: $(tail -n 1 "$BATS_TEST_TMPDIR/why")"
}

# Skips a test that reads the list of the repository's files.
need_git_clone() {
    git rev-parse --git-dir >/dev/null 2>&1 ||
        skip "this copy is no git clone: its files are unknown"
}

# The book, built once in a run of the suite by the first test file that needs it, in $BOOK. What
# make docs printed is in $BOOK_OUTPUT, and why it failed in $BOOK_FAILED. BOOK_LACKS is set when
# Sphinx could not be installed.
build_book() {
    export BOOK=$ROOT/build/docs/html BOOK_OUTPUT=$BATS_RUN_TMPDIR/book
    export BOOK_FAILED=$BOOK_OUTPUT.failed
    {
        flock 9
        [ -e "$BOOK_OUTPUT" ] || make_book
    } 9>"$BATS_RUN_TMPDIR/book.lock"
    if [ -e "$BOOK_OUTPUT.lacks" ]; then
        BOOK_LACKS=$(<"$BOOK_OUTPUT.lacks")
        export BOOK_LACKS
    fi
}

make_book() {
    local lacks
    rm -rf "$BOOK"
    if as_typed make build/venv/docs >"$BOOK_OUTPUT" 2>&1 9>&-; then
        as_typed make docs >"$BOOK_OUTPUT" 2>&1 9>&- ||
            echo "make docs ended with status $?." >"$BOOK_FAILED"
        return
    fi
    lacks=$(grep -v '^make' "$BOOK_OUTPUT" | tail -n 2 | cut -c 1-300 | tr '\n' ' ')
    echo "${lacks:-no reason was given}" >"$BOOK_OUTPUT.lacks"
    # An index that has other versions, or another file of that name: then the list is at fault, and
    # not the network.
    ! grep -qE 'from versions: [0-9]|HASHES' "$BOOK_OUTPUT" ||
        echo "docs/requirements.txt does not serve this Python." >"$BOOK_FAILED"
}

# For setup: skips the tests of a book that cannot be built here.
need_book() {
    [ -z "${BOOK_LACKS:-}" ] || [ -e "$BOOK_FAILED" ] ||
        skip "Sphinx could not be installed: $BOOK_LACKS"
}

# Runs a command as a person would type it: what Bats put into the environment would reach a make or
# a bats inside the command.
as_typed() {
    # Bats puts this folder into PATH; from 1.11 on, what is named bats there cannot be called.
    local word words=() own=${BATS_LIBEXEC:-/usr/libexec/bats-core}
    for word in "${!BATS_@}"; do words+=(-u "$word"); done
    for word in "PATH=$PATH" "$@"; do
        [[ $word != PATH=* ]] || word=${word//"$own:"/}
        words+=("$word")
    done
    env "${words[@]}" 3>&- 4>&-
}

# Builds programs under a sanitizer: make_sanitized address,undefined tests/simulator/flat...
make_sanitized() {
    local kind=$1
    shift
    make -s -C "$ROOT" BACKEND=simulator SANITIZE="$kind" "${@/#/build/simulator-${kind//,/-}/}"
}

# workbook_copy FOLDER: a copy of the workbook with what is built already, for tests that break
# something
workbook_copy() {
    mkdir -p "$1/build"
    cp -a Makefile lessons solutions simulator tests "$1"
    cp -a build/cuda "$1/build"
    mkdir "$1/build/simulator"
    cp -a build/simulator/{objects,libcudart.so.13} "$1/build/simulator"
}

lessons() { make -s list; }
first() {
    local all
    all=$(lessons)
    echo "${all%%$'\n'*}"
}

# judge FILE LESSON: the first miss of FILE in its check, in $output, and $status. Quicker than the
# next.
judge() {
    local folder
    folder_for "$1" -
    run as_typed LESSON="$1" CHECK_FOLDER="$folder" "$BASH" tests/tools/first_miss.sh "$2"
}

# check FILE LESSON: what a student sees who checks FILE, in $output and $status.
check() {
    local folder
    folder_for "$1" -
    run as_typed CHECK_FOLDER="$folder" make "check-${2%%_*}" FILE="$1"
}

# complain collects sentences; finish fails with all of them.
complaints=()
complain() { complaints+=("$@"); }
finish() { [ "${#complaints[@]}" = 0 ] || miss "${complaints[@]}"; }
