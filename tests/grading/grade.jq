# The texts of a grade, in each of its forms. tests/grading/grade.sh calls these; docs/teaching.rst
# describes the files that result.

# Text that every format can carry: no control characters but tab and line end, nothing that XML
# forbids.
def clean: explode
    | map(select((. >= 32 and . != 127 and . < 55296) or . == 9 or . == 10
        or (. >= 57344 and . < 65534) or . >= 65536))
    | implode;

# A line without what differs from one grading to the next: the folder of this one, that of the
# workbook, the compiler's own files, and addresses. Whole lines name places on this machine.
def lasting($work): split($ENV.PWD + "/") | join("") | gsub($work + "/"; "")
    | gsub("/tmp/cc[A-Za-z0-9]{6}"; "/tmp/cc") | gsub("\\b0x[0-9a-f]{9,}"; "0x...") | clean;
def of_this_machine: test("^# (Its files|The page|A hint): ");

# ---- one lesson ----

# What first_miss.sh printed, as {plan, possible, points, why, tests: [{name, result, lines}]}. why:
# there are no points.
def tap($work): reduce .[] as $line ({plan: null, possible: 0, points: 0, why: null, tests: []};
    ($line | capture("^(?<not>not )?ok [0-9]+ (?<name>.*)$")? // null) as $test
    | if $line | test("^1\\.\\.[0-9]+$") then .plan = ($line[3:] | tonumber)
      elif $line | test("^possible [0-9]+, ") then
        .possible = ($line | capture("(?<n>[0-9]+)").n | tonumber)
      elif $line | test("^points [0-9]+$") then .points = ($line[7:] | tonumber)
      elif $line | startswith("no points: ") then .why = $line[11:]
      elif $test then
        ($test.name | capture("^(?<name>.*?) # skip *(?<why>.*)$")? // null) as $skip
        | .tests += [if $test.not then {name: $test.name, result: "failed", lines: []}
            elif $skip then {name: $skip.name, result: "skipped",
                lines: [$skip.why | ltrimstr("(") | rtrimstr(")")]}
            else {name: $test.name, result: "passed", lines: []} end]
      elif .tests == [] or ($line | startswith("#") | not) then .
      elif $line | of_this_machine then .
      elif (.tests[-1].lines | length) < 60 then .tests[-1].lines += [$line[2:] | lasting($work)]
      else . end);

# The lines of a miss as one sentence: what was expected and what happened. Of a compiler's words,
# the first error.
def sentence: if any(.[]; test("does not compile")) then
        first(.[] | select(test(": (fatal )?[eE]rror: |undefined reference to")))
            // first(.[] | select(. != "")) // ""
    else (map(test("^(On stderr it printed:|The whole expected output:|See it yourself:)"))
            | index(true)) as $stop
        | .[:$stop // length] | join(" ") end
    | if length > 400 then .[:397] | sub(" [^ ]*$"; "...") else . end;

# Numbers of processes differ from one grading to the next: they are counted in their order.
def counted: ([.tests[].lines[] | scan("\\bprocess ([0-9]+)")[0]]
        | reduce .[] as $number ([]; if index($number) then . else . + [$number] end)) as $numbers
    | .tests[].lines[] |= gsub("\\bprocess (?<number>[0-9]+)";
        "process \(.number as $number | ($numbers | index($number)) + 1)");

# The records that tests/grading/grade.sh writes, a word and a text on each line, as objects.
def records: reduce .[] as $line ([];
    ($line | index(" ")) as $at
    | $line[:$at] as $key | $line[$at + 1:] as $text
    | if $key == "lesson" then . + [{name: $text, tap: []}]
      elif $key == "tap" then .[-1].tap += [$text]
      elif $key == "file" then .[-1].file = $text[:64]
      else .[-1] += {status: $key, why: $text} end);

# $baseline: what the starters pass is to be counted again.
def judged($work; $baseline): . as $record
    | ($record.tap | tap($work) | counted) as $run
    | "The check of \($record.name)" as $check
    | {lesson: $record.name, points: 0, possible: $run.possible, status: "graded", sentence: null,
        file: $record.file, tests: $run.tests}
    | def not_run($status; $why): .status = $status | .sentence = ($why | clean);
      if $record.status then not_run($record.status; $record.why)
      elif ($run.plan // 0) == 0 then
        (first($record.tap[] | select(test("^(1\\.\\.0|(no )?poss|no points: |$)") | not))
            // "it has none" | lasting($work)) as $why
        | not_run("ungraded"; "\($check) ran no test: \($why).")
      elif ($run.tests | length) != $run.plan then
        not_run("ungraded"; "\($check) ran \($run.tests | length) of its \($run.plan) tests.")
      elif $run.why and ($baseline | not) then not_run("ungraded"; $run.why)
      else .points = $run.points
        | .sentence = (first(.tests[] | select(.result == "failed") | .lines | sentence)
            // first(.tests[] | select(.result == "skipped") | "Skipped: " + .lines[0]) // null)
      end;

# ---- one grade ----

# $setting: what the lessons share, as an object; folder: where the student's files were found.
def grade($setting; $work; $baseline; $lines):
    ($lines | records | map(judged($work; $baseline)))
    | $setting + {folder: ($setting.folder | clean),
        points: (map(.points) | add // 0), possible: (map(.possible) | add // 0), lessons: .};

def right($width): tostring | (" " * ([$width - length, 0] | max) // "") + .;
def left($width): . + (" " * ([$width - length, 0] | max) // "");

# Lines of at most so many columns, where words allow it.
def fold($width): reduce (gsub("[\n\t]"; " ") | split(" "))[] as $word ([""];
    if .[-1] == "" then .[-1] = $word
    elif (.[-1] + $word | length) < $width then .[-1] += " " + $word
    else . + [$word] end);

# A row for each lesson, and beside it what is to be done first: what was expected. What happened
# is in the check's own words. $all: how many lessons the workbook has.
def table($width; $all): ([.lessons[].lesson | length] + [10] | max) as $name
    | (.lessons[]
        | ((.lesson | left($name)) + (.points | right(4)) + " of" + (.possible | right(4))) as $row
        | if .sentence == null then $row
          else [.sentence | split(" Happened: ")[0]
                | fold([$width - 3 - ($row | length), 30] | max)[]] as $lines
            | $row + "   " + $lines[0], ($lines[1:][] | (" " * (($row | length) + 3)) + .) end),
      ("points" | left($name)) + (.points | right(4)) + " of" + (.possible | right(4))
        + if (.lessons | length) == $all then ""
          else "   for \(.lessons | length) of the \($all) lessons" end;

# The whole report of one lesson, as text.
def story: {failed: "MISS  ", skipped: "skip  "} as $words
    | ([.sentence // empty] + [.tests[] | ($words[.result] // "ok    ") + .name,
        (select(.result == "failed") | .lines[] | "        " + .)]) | join("\n");

def ungraded: [.lessons[] | select(.status == "ungraded") | .sentence];

def gradescope: {score: .points, visibility: "visible",
    output: "\(.points) of \(.possible) points. Workbook \(.workbook.commit), SEED=\(.seed).",
    tests: [.lessons[] | {name: .lesson, score: .points, max_score: .possible,
        status: (if .points == .possible then "passed" else "failed" end),
        visibility: "visible", output: story}]};

# A file that is no program yet costs no attempt.
def no_program: .status == "missing" or .status == "refused"
    or any(.tests[]; .result == "failed" and any(.lines[]; test("does not compile")));

def prairielearn: if ungraded != [] then {gradable: false, format_errors: ungraded}
    elif .lessons != [] and all(.lessons[]; no_program) then
      {gradable: false, format_errors: [.lessons[].sentence]}
    else
      {gradable: true, score: (if .possible == 0 then 0 else .points / .possible end),
        message: "\(.points) of \(.possible) points. Workbook \(.workbook.commit), SEED=\(.seed).",
        tests: [.lessons[] | {name: .lesson, points: .points, max_points: .possible,
            message: (.sentence // ""), output: story}]} end;

def attribute: " \(.key)=\"\(.value | tostring | gsub("[\n\t]"; " ") | @html)\"";
def attributes: to_entries | map(attribute) | add // "";
# A lesson of which no test ran is one test case with an error.
def cases: if .tests == []
    then [{name: "the check runs", result: "error", lines: [.sentence // ""]}]
    else .tests end;
def case_xml($lesson): "    <testcase\({classname: $lesson, name: .name} | attributes)"
    + if .result == "passed" then "/>" else ">"
        + if .result == "skipped" then "<skipped\({message: .lines[0]} | attributes)/>"
          else (if .result == "error" then "error" else "failure" end) as $tag
            | (.lines | join("\n") | @html) as $text
            | "<\($tag)\({message: (.lines | sentence)} | attributes)>\($text)</\($tag)>" end
        + "</testcase>" end;
def counts: {tests: length, failures: (map(select(.result == "failed")) | length),
    errors: (map(select(.result == "error")) | length),
    skipped: (map(select(.result == "skipped")) | length)};
def junit: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
    (([.lessons[] | cases[]] | counts | del(.skipped)) as $counts
        | "<testsuites\({name: "workbook"} + $counts | attributes)>"),
    (.lessons[] | .lesson as $lesson
        | "  <testsuite\({name: $lesson} + (cases | counts) | attributes)>",
          (cases[] | case_xml($lesson)), "  </testsuite>"),
    "</testsuites>";

# All files of a grade: behind a line that begins with a control character, which no text here has,
# and names the file, its lines.
def files($width; $all): "\u0001grade.json", .,
    "\u0001gradescope/results.json", gradescope,
    "\u0001prairielearn/results.json", prairielearn,
    "\u0001junit.xml", junit,
    "\u0001table", table($width; $all),
    "\u0001ungraded", ungraded[];
