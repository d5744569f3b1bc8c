# shellcheck shell=bash
# What the checks of the lessons share. A check is tests/lessons/NN_name.bats; it judges one C file,
# $LESSON, on the simulated device:
#
#   load ../grading/check
#   setup_file() { lesson_setup 04_release_threshold; }
#   @test "the output is the one a device prints" {
#       run_lesson
#       expect_right 04_release_threshold
#   }
#   @test "the same with 96 MiB" {
#       run_lesson 96
#       expect_right 04_release_threshold.96
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
#                             numbers (tests/grading/machine.sed)
#   expect_right NAME         expect_clean and expect_output; when the program found itself
#                             incorrect and printed no reason, the line that differs comes first
#   expect_journal JQ SENTENCE [JQ] [-- JQ SENTENCE [JQ]]...
#                             the boolean JQ holds for the journal as one array; SENTENCE is what is
#                             expected of the program, the second JQ what happened instead. More
#                             behind "--" are judged in order, by one jq
#   in_journal JQ             prints what the JQ gives for that array
#   definitions 'def NAME: JQ; ...'
#                             what each JQ behind it may use
#   expect_clean              exit status 0, no hazard, nothing left allocated, nothing that the
#                             simulated device does not know
#   expect_status N SENTENCE  the exit status is N
#   draw NAME LEAST MOST      sets NAME to a whole number from LEAST to MOST. It depends on NAME,
#                             the lesson and SEED, which make check-NN draws and the suite sets to
#                             1: a table of known answers does not pass
#   ask_lesson HARNESS SENTENCE [ARGUMENT...]
#                             compiles tests/lessons/HARNESS.h behind the lesson, whose main has
#                             another name, and runs it: HARNESS calls the student's functions with
#                             arguments of the check's own, and prints what they returned. Sets
#                             $status, $output, $errors and $journal as run_lesson does, from one
#                             run for all tests that ask the same. It misses when HARNESS does not
#                             compile with the file or does not end well; SENTENCE is what is
#                             expected of such a file. JUDGES_HAZARDS=1 before it: a hazard is no
#                             miss, the test judges it
#   expect_answers SENTENCE QUESTION ANSWER [QUESTION ANSWER]...
#                             after ask_lesson: each QUESTION has one line "QUESTION = ANSWER" in
#                             the output, in any order. SENTENCE is the rule that they follow
#   after_the_rest            for the last tests, which judge what is printed: skips the test when
#                             one before it has missed. Who only prints does not get a point
#   missed LINE...            a test fails with these words, with what stderr had, and with where to
#                             read
#   miss LINE...              a test fails with these words alone
#
# A program that does not compile, does not end, floods its folder or dies of a signal is reported
# once; the other tests of the file are then skipped. tests/grading/run.sh is how it is run.

cd "${BASH_SOURCE[0]%/*}/../.." || exit 1
ROOT=$PWD
unset MAKEFLAGS MAKELEVEL MFLAGS   # a make that runs the suite gives nothing to the makes inside it
export WORKBOOK_PROGRESS=none      # what tests check is no progress of the reader's

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
    # Lesson 14 starts itself again.
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
        "$BASH" tests/grading/program.sh "$1" "$CHECK_FOLDER/${2:-program}" "${included[@]}"
}

# The check's own code behind the lesson, for ask_lesson. No macro of the student's file changes it.
asked_code() { # asked_code HARNESS [LINE]
    awk -F '[^A-Za-z0-9_]+' '{ for (i = 1; i <= NF; i++) if ($i ~ /^[A-Za-z]/ && !seen[$i]++)
        print "#undef " $i }' tests/lessons/{asked,"$1"}.h
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

# A check remembers that a test has missed.
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
        "$BASH" tests/grading/run.sh "$folder" LD_LIBRARY_PATH="$CHECK_LIBRARY" \
            SIM_JOURNAL="$ROOT/$journal" "${SIM_ENV[@]}" -- "$ROOT/$CHECK_FOLDER/program" "$@"
    fi
    read -r status <"$folder/status"
    text_of output "$folder/stdout"
    text_of errors "$folder/stderr"

    number=$((status - 128)) ended=
    [ ! -s "$folder/ended" ] || read -r ended <"$folder/ended"
    if [ -z "$ended" ] && { [ "$number" -le 0 ] || ! kill -l "$number" >/dev/null 2>&1; }; then
        return 0
    fi
    case $ended in
    time)
        lines "The program did not end within ${CHECK_SECONDS:-5} seconds and was stopped: is \
there a loop or a wait that never ends?" ;;
    flood) flood_sentence ;;
    memory)
        lines "The program needed more than 2 GiB of memory and was stopped: is there a loop that \
allocates host memory?" ;;
    journal)
        lines "The journal of the run is not the one that the simulated device wrote. A program \
returns from main or calls exit, and leaves the files of its run alone." ;;
    machine) lines "This machine is too busy to judge the program." ;;
    *)
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

# shellcheck disable=SC2034  # journal is for the tests
ask_lesson() {
    local harness=$1 sentence=$2 file=$CHECK_FOLDER/$1.c program=${1}_program folder ended='' last
    local count='' call given=("${SIM_ENV[@]}")
    shift 2
    local SIM_ENV=()
    run_lesson   # a file that cannot be judged is reported once
    CHECK_COMMAND="SEED=${SEED:-1} make check-$CHECK_GOAL"
    if [ ! -e "$CHECK_FOLDER/$program" ]; then
        # What the check's own code uses is declared before the student's file.
        {
            lines '#define _GNU_SOURCE' '#include "workbook.h"' '#define main lesson_main' \
                "#include \"$(realpath "$CHECK_LESSON")\""
            asked_code "$harness"
        } >"$file"
        compile_lesson "$file" "$program" "$program" >"$CHECK_FOLDER/compiler" 2>&1 || {
            errors=''
            missed "Expected: $sentence" \
                "Happened: $(grep -am 1 'error' "$CHECK_FOLDER/compiler" | cut -c 1-300)"
            return
        }
    fi
    folder=$CHECK_FOLDER/$harness${given[*]/#/-}${*/#/-}
    folder=${folder// /}
    CHECK_RUN=$folder journal=$folder/journal.jsonl journals=()
    if [ ! -e "$folder" ]; then
        mkdir "$folder"
        # What its functions left allocated is not asked here.
        "$BASH" tests/grading/run.sh "$folder" LD_LIBRARY_PATH="$CHECK_LIBRARY" \
            SIM_JOURNAL="$ROOT/$journal" SIM_CHECK=noleaks "${given[@]}" -- \
            "$ROOT/$CHECK_FOLDER/$program" "$@" asked
    fi
    read -r status <"$folder/status"
    text_of output "$folder/stdout"
    text_of errors "$folder/stderr"
    [ ! -s "$folder/ended" ] || read -r ended <"$folder/ended"
    if [ -n "$ended" ]; then
        ended="it did not end, and was stopped"
        read -r count call < <(most_frequent "$journal") || true
        [ "${count:-0}" -lt 10000 ] || ended+=" after $count calls of $call"
    elif [ "$status" = 3 ] && [ -n "${JUDGES_HAZARDS:-}" ]; then return 0
    elif [ "$status" = 3 ]; then ended="the simulated device found a hazard"
    elif [ "$status" -gt 128 ]; then ended="it died of a signal"
    elif [ "$status" != 0 ]; then ended="it ended with status $status"
    else return 0
    fi
    last=$(grep -a ' = ' <<<"$output" | tail -n 1 | cut -c 1-200)
    missed "Expected: $sentence" "Happened: called by the check, $ended${last:+; the last call \
that returned: $(visible "$last")}."
}

expect_answers() {
    local sentence=$1 answer
    local -A returned=()
    shift
    while IFS= read -r answer; do
        [[ $answer == ?*" = "* ]] || continue
        returned[${answer%% = *}]+="${answer#* = }"$'\n'
    done <<<"$output"
    while [ $# != 0 ]; do
        answer=${returned[$1]:-}
        answer=${answer%$'\n'}
        case $answer in
        "$2") ;;
        '')
            missed "Expected: $sentence" "Happened: the check called $1, and the program ended."
            return ;;
        *$'\n'*)
            missed "Expected: one answer to $1, which is $2." \
                "Happened: the program printed several: $(visible "${answer//$'\n'/, }")."
            return ;;
        *)
            missed "Expected: $sentence" "Happened: $1 returned $(visible "$answer"). It is $2."
            return ;;
        esac
        shift 2
    done
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

# most_frequent JOURNAL: the number of the most frequent calls, and their name. The calls that are
# counted are those that a check stores: the same ones each time.
most_frequent() {
    head -c $((1024 * ${CHECK_JOURNAL_KILOBYTES:-16384})) "$1" |
        LC_ALL=C grep -ao '"call":"[A-Za-z_]*"' | cut -d '"' -f 4 | sort | uniq -c | sort -rn
}

# What filled the folder of a run: what was printed, or a journal, in which each call has a line.
flood_sentence() {
    local count call long kilobytes=${CHECK_JOURNAL_KILOBYTES:-16384}
    long=$(find "$CHECK_RUN" -maxdepth 1 -name 'journal.jsonl*' -size +"$kilobytes"k | sort |
        head -n 1)
    if [ -z "$long" ]; then
        echo "The program printed too much and was stopped: is there a loop that never ends?"
        return
    fi
    read -r count call < <(most_frequent "$long")
    echo "The program made more calls than the check stores, and was stopped. The most frequent" \
        "is $call, $count times: is it in a loop that asks until something has happened? Let the" \
        "host or a stream wait for that instead."
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

words() { sed -E -f "$ROOT/tests/grading/machine.sed" "$@"; }

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

# What reads a journal may take 20 seconds of a processor and 4 GiB: a program has written it.
bounded_jq() { (ulimit -t 20 -v 4194304 && exec jq "$@"); }

DEFINITIONS=
definitions() { DEFINITIONS+=" $1"; }

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
    if [ ! -e "$journal" ]; then
        missed "Expected: ${sentences[0]}" "Happened: the program made no CUDA call at all: the \
simulated device wrote no journal."
        return
    elif [ ! -s "$journal" ]; then
        missed "${LEFT[@]}"
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
            else map(tojson) | join(" and ") end;'" $DEFINITIONS $judge"
    mapfile -t result < <(bounded_jq -r -s "$judge" "$journal" 2>&1)
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

# This is printed of a program whose journal has no last line. It is empty when the program left
# before the first lines were written.
LEFT=("Expected: a program that returns from main or calls exit."
    "Happened: it left in another way: its journal has no last line.")

in_journal() { bounded_jq -r -s "$DEFINITIONS $1" "$journal"; }

expect_clean() {
    if [[ $'\n'$errors == *$'\n'hazard:* ]]; then
        lines "Expected: a program whose every access is ordered." \
            "Happened: the simulated device found a hazard."
    elif [ "$status" != 0 ]; then
        lines "Expected: exit status 0." "Happened: exit status $status."
    elif [ ! -e "$journal" ]; then
        lines "Expected: CUDA calls." \
            "Happened: the program made none: the simulated device wrote no journal."
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
        *) lines "${LEFT[@]}" ;;
        esac
    fi
    printed
    try_it
    return 1
}
