#!/usr/bin/env bats
# The questions of a lesson in a browser, and the ticks in the table of lessons: Chromium loads the
# page from a file, with a script that answers as a reader would.

load ../suite

PAGE=04_release_threshold

setup_file() {
    export FOLDER=$BATS_FILE_TMPDIR/book
    find_chromium
    [ -n "$CHROMIUM" ] || return 0
    build_book
    [ -e "$BOOK/$PAGE.html" ] || return 0
    # The book's own page, in a folder where these tests write beside it.
    mkdir -p "$FOLDER"
    cp -a "$BOOK/_static" "$BOOK/$PAGE.html" "$FOLDER"
    echo >"$FOLDER/_static/passed.js"
    small_book
}

# A page of its own, in which the answers of three questions stand in one line of the run.
small_book() {
    local pages=$BATS_FILE_TMPDIR/pages
    mkdir -p "$pages"
    cat >"$pages/index.rst" <<'PAGE'
Small
=====

.. predict:: How many after the free?
   :run: solutions/04_release_threshold
   :kind: MiB
   :fields:
      | ^ +0 +0 +\d+ +(\d+)

.. predict:: How many after the other stream is synchronized?
   :run: solutions/04_release_threshold
   :kind: MiB
   :fields:
      | ^ +0 +0 +\d+ +\d+ +\d+ +(\d+)

.. predict:: How many after the stream of the free is synchronized?
   :run: solutions/04_release_threshold
   :kind: MiB
   :fields:
      | ^ +0 +0 .* (\d+) +\d+$

.. predict:: And with these thresholds?
   :run: solutions/04_release_threshold
   :kind: MiB
   :fields:
      48 MiB | ^ +48 +0 .* (\d+) +\d+$
      64 MiB | ^ +64 +0 .* (\d+) +\d+$
   :beliefs:
      64 MiB = 128 | The free returned nothing? | Which call covers it?
      31 | You answer as if a segment could be cut. | How large is one?
   :why: Segments are returned *whole*, and the threshold counts.

.. predict:: Is any left with threshold 0?
   :run: solutions/04_release_threshold 40
   :kind: none=0 / some
   :fields:
      | ^ +0 +0 .* (\d+) +\d+$
   :why: Nothing is below the threshold.
PAGE
    build/venv/bin/sphinx-build -q -E -c . -d "$BATS_FILE_TMPDIR/small-trees" "$pages" \
        "$BATS_FILE_TMPDIR/small" >"$BATS_FILE_TMPDIR/small.log" 2>&1
    cp "$BATS_FILE_TMPDIR/small/index.html" "$FOLDER/small.html"
}

setup() {
    need_chromium
    need_book
}

# in_browser PAGE BEFORE AFTER: runs the script AFTER when the page was loaded, and BEFORE ahead of
# the page's own scripts. What it wrote with say() is in $output; no script has an error.
in_browser() {
    local page=$FOLDER/tried.html
    {
        echo "<script>$2
            const said = [];
            const say = (...words) => said.push(words.join(' '));
            const at = (query) => document.querySelector(query);
            const answer = (id, value) => {
                at('#' + id).value = value;
                at('#' + id).dispatchEvent(new Event('input'));
            };
            const check = (name) => at('#' + name + ' button[type=submit]').click();
            addEventListener('error', (event) => say('error:', event.message));
            addEventListener('load', () => {
                $3
                document.body.innerHTML = '<pre id=said></pre>';
                at('#said').textContent = said.join('\\n');
            });</script>"
        cat "$FOLDER/$1.html"
    } >"$page"
    run said "$page"
    refute_output --partial "error:"
}
said() {
    "$CHROMIUM" --headless=new --no-sandbox --disable-gpu --user-data-dir="$BATS_TEST_TMPDIR/user" \
        --virtual-time-budget=5000 --dump-dom "file://$1" 2>/dev/null |
        sed -n '/<pre id="said">/,/<\/pre>/p' |
        sed '1s/^ *//; s/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g'
}

# bats test_tags=long
@test "a reader answers: the reply names what the run printed, and the run is shown at the end" {
    in_browser $PAGE '' "
        const folded = () => !!at('.predict-fold[hidden]');
        say('folded', folded());
        check('predict-1');
        say(at('#predict-1 .predict-verdict').textContent);
        [128, 128, 0].forEach((each, n) => answer('predict-1-field-' + (n + 1), each));
        check('predict-1');
        say(at('#predict-1 .predict-verdict').textContent);
        say(at('#predict-1 .predict-reply pre').textContent);
        answer('closing-2-field-1', '256 MiB');
        check('closing-2');
        say(at('#closing-2 .predict-mark').textContent, '/',
            at('#closing-2 .predict-reply').textContent);
        answer('closing-2-field-1', '0 MiB');
        check('closing-2');
        say('folded', folded());
        for (const field of [1, 2, 3]) answer('predict-2-field-' + field, '32');
        check('predict-2');
        say(at('#predict-2 .predict-verdict').textContent);
        answer('predict-2-field-1', '31');
        check('predict-2');
        say(at('#predict-2 .predict-verdict strong').textContent,
            at('#predict-2-field-1-mark').textContent);
        answer('predict-3-field-1', '1');
        check('predict-3');
        at('#predict-3 button[type=button]').click();
        say(at('#predict-3-field-2-mark').textContent);
        say('folded', folded());
        say(Object.keys(localStorage).join());
        say(JSON.parse(localStorage['workbook:predict:$PAGE']).values['predict-2-field-2']);"
    assert_line --index 0 "folded true"
    assert_line --index 1 --partial "Answer first"
    assert_line --index 2 "Correct."
    assert_line --index 3 --partial "threshold  live  allocated"
    assert_line --index 4 --regexp '^ +0 +0 +128 +128 '
    assert_line --index 5 "✗ not what it printed / "
    assert_line --index 6 "folded true"
    assert_line --index 7 --regexp '^1 of 3 correct\. .*try once more'
    assert_line --index 8 --regexp '^0 of 3\. ✗ the answer is 32 MiB$'
    assert_line --index 9 --regexp '^the answer is [0-9]+ MiB$'
    assert_line --index 10 "folded false"
    assert_line --index 11 "workbook:predict:$PAGE"
    assert_line --index 12 "32"
}

# bats test_tags=long
@test "the browser keeps the answers, and the closing questions reply with their reason" {
    in_browser $PAGE "localStorage['workbook:predict:$PAGE'] = JSON.stringify(
            {values: {'predict-2-field-1': '32'}, checked: {'predict-2': true}, shown: true});" "
        say(at('#predict-2-field-1').value, at('#predict-2-field-1-mark').textContent);
        say('folded', !!at('.predict-fold'));
        say(document.querySelectorAll('[aria-labelledby=\"closing-2-question\"]').length);
        answer('closing-2-field-1', '0');
        check('closing-2');
        say(at('#closing-2 .predict-verdict').textContent);
        say(at('#closing-2 .predict-reply').textContent.replace(/\\s+/g, ' '));
        say(at('.predict-forget button').textContent);"
    assert_line --index 0 --partial "32 ✓ correct"
    assert_line --index 1 "folded false"
    assert_line --index 2 "2"
    assert_line --index 3 "Correct."
    assert_line --index 4 --partial "The attribute is in bytes"
    assert_line --index 5 "Forget my answers"
}

# The page "small": questions whose answers stand in the same line of a run, and a reason.
# bats test_tags=long
@test "a reply hides what an open question asks, wherever it stands, until that is answered" {
    in_browser small '' "
        const line = (name) =>
            say(at('#' + name + ' .predict-reply pre').textContent.split('\\n')[1] + '|');
        answer('predict-1-field-1', '128');
        check('predict-1');
        line('predict-1');
        answer('predict-2-field-1', '128');
        check('predict-2');
        line('predict-1');
        line('predict-2');
        answer('predict-3-field-1', '0');
        check('predict-3');
        line('predict-1');"
    assert_line --index 0 --regexp '^ +0 +0 +128 +128 +128 +\? +\? +\?\|$'
    assert_line --index 1 --regexp '^ +0 +0 +128 +128 +128 +128 +\? +\?\|$'
    assert_line --index 2 --regexp '^ +0 +0 +128 +128 +128 +128 +\? +\?\|$'
    assert_line --index 3 --regexp '^ +0 +0 +128 +128 +128 +128 +0 +0\|$'
}

# bats test_tags=long
@test "a second try, an empty field, verdicts bound to their fields, a prediction's reason" {
    in_browser small '' "
        const mark = (id) => at('#' + at('#' + id).getAttribute('aria-describedby')
            .split(' ').pop()).textContent;
        const state = (id) => at('#' + id).getAttribute('aria-invalid') + ' ' + mark(id);
        answer('predict-4-field-1', '5');
        check('predict-4');
        say(state('predict-4-field-1'), '/', state('predict-4-field-2'));
        say(at('#predict-4 .predict-verdict').textContent);
        check('predict-4');
        say(at('#predict-4 .predict-reply').textContent + '|');
        answer('predict-4-field-1', '32');
        say(state('predict-4-field-1'));
        check('predict-4');
        say(at('#predict-4 .predict-verdict').textContent);
        say(at('#predict-4 .predict-reply').textContent + '|');
        answer('predict-4-field-2', 'many');
        check('predict-4');
        say(state('predict-4-field-2') + at('#predict-4 .predict-reply').textContent + '|');
        answer('predict-4-field-2', '7');
        check('predict-4');
        say(state('predict-4-field-1'), '/', state('predict-4-field-2'));
        say(at('#predict-4 .predict-reply > p:last-child').textContent);
        say(at('.predict-why').checkVisibility(), at('.predict-verdict').getAttribute('role'));"
    assert_line --index 0 "true ✗ not what it printed / null "
    assert_line --index 1 --regexp '^0 of 2 correct\. 1 is empty\. .*try once more'
    assert_line --index 2 "|"
    assert_line --index 3 "null "
    assert_line --index 4 "1 of 2 correct. 1 is empty."
    assert_line --index 5 "|"
    assert_line --index 6 "true ✗ expected a number|"
    assert_line --index 7 "null ✓ correct / true ✗ the answer is 64 MiB"
    assert_line --index 8 "Segments are returned whole, and the threshold counts."
    assert_line --index 9 "false status"
}

# bats test_tags=long
@test "a wrong answer gets the belief behind it, or which way it is off; one of two asks why" {
    in_browser small '' "
        const say_to = (name, ...values) => {
            values.forEach((each, n) => answer(name + '-field-' + (n + 1), each));
            check(name);
            say(at('#' + name + ' .predict-verdict').textContent,
                at('#' + name + ' button[type=button]').textContent);
        };
        say_to('predict-1', '200');
        say_to('predict-2', '1e0');
        say_to('predict-3', 'none');
        say_to('predict-4', '31', '64');
        localStorage.clear();
        say_to('predict-5', 'some');
        at('#predict-5 button[type=button]').click();
        say(at('#predict-5 .predict-reply > p:last-child').textContent);"
    local again="Look again, and try once more. Show the answer"
    assert_line --index 0 "Not so. 200 is too much. $again"
    assert_line --index 1 "Not so. 1e0 is too little. $again"
    assert_line --index 2 "Type a number, such as 128, 128 MiB or 0.5 GiB. Show the answer"
    assert_line --index 3 "1 of 2 correct. You answer as if a segment could be cut. How large is \
one? Show the answer"
    assert_line --index 4 "No, the other answer is right. Why? Why?"
    assert_line --index 5 "Nothing is below the threshold."
}

# bats test_tags=long
@test "numbers and units as people type them" {
    local right=(128 '128 MiB' '128 mib' 128M '128 MB' '0.125 GiB' .125g '131072 KiB' '~128'
        '134217728 bytes' '134,217,728 B' "134'217'728b") other=('128 GiB' 128k '1,28' 129 '12 8')
    in_browser small '' "
        for (const text of [$(printf '"%s",' "${right[@]}" "${other[@]}")]) {
            answer('predict-1-field-1', text);
            check('predict-1');
            say(text, String(at('#predict-1-field-1').getAttribute('aria-invalid')));
        }"
    local text
    for text in "${right[@]}"; do assert_line "$text null"; done
    for text in "${other[@]}"; do assert_line "$text true"; done
}

# bats test_tags=long
@test "the last answer ticks the lesson, and a reader ticks it on its own page" {
    local done="localStorage['workbook:done']"
    in_browser $PAGE '' "
        const questions = [...document.querySelectorAll('.predict-form')];
        const box = at('.lesson-done input');
        say(box.checked, at('.lesson-done').checkVisibility());
        for (const form of questions) {
            say($done || 'not yet');
            const [field] = form.querySelectorAll('input, select');
            answer(field.id, field.options ? field.options[1].value : '1');
            form.requestSubmit();
            if (!form.querySelector('button[type=button]').hidden) {
                form.querySelector('button[type=button]').click();
            }
        }
        say($done, box.checked, at('.sidebar-tree .current-page .lesson-tick').textContent);
        box.click();
        say($done, box.checked, at('.sidebar-tree .current-page .lesson-tick').textContent + '|');"
    local questions
    questions=$(grep -c '^not yet$' <<<"$output")
    [ "$questions" -ge 3 ] || miss "The page has $questions questions." "$output"
    assert_line --index 0 "false true"
    assert_line --index "$questions" "not yet"
    assert_line --index $((questions + 1)) '{"04_release_threshold":true} true  ✓, done'
    assert_line --index $((questions + 2)) '{} false |'
}

# bats test_tags=long
@test "a question comes before the call that :at: names, which ends the build if it finds none" {
    local pages=$BATS_TEST_TMPDIR/pages words
    mkdir "$pages"
    # build_question AT ARGUMENT
    build_question() {
        cat >"$pages/index.rst" <<PAGE
Question
========

.. predict:: How many after the free?
   :run: solutions/04_release_threshold $2
   :kind: MiB
   :at: $1
   :fields:
      | ^ +0 +0 +\\d+ +(\\d+)

.. stepper:: solutions/04_release_threshold
PAGE
        run build/venv/bin/sphinx-build -q -E -c . -d "$BATS_TEST_TMPDIR/trees" "$pages" \
            "$BATS_TEST_TMPDIR/html"
    }
    build_question "try_threshold: cudaFreeAsync(data" ""
    assert_success
    run grep -o 'data-asks="[^"]*"' "$BATS_TEST_TMPDIR/html/index.html"
    words='data-asks="[{]&quot;index-0&quot;: \[\[[0-9]+, &quot;predict-1&quot;\]\][}]"'
    assert_output --regexp "^$words$"
    build_question "try_threshold: cudaMallocHost(" ""
    assert_failure 1
    assert_output --partial 'no call up to the answer stands on a line of try_threshold with "cud'
    build_question "no_such: cudaFreeAsync(" ""
    assert_failure 1
    assert_output --partial "index, predict-1: no call stands in no_such"
    build_question "try_threshold: cudaFreeAsync(data" 40
    assert_failure 1
    assert_output --partial "index, predict-1: no run asks it, so :at: has no use"
}

# bats test_tags=long
@test "without scripts and in print the questions are blanks, and nothing is folded" {
    run sed -n '/id="predict-1"/,/<\/ul>/p' "$FOLDER/$PAGE.html"
    assert_output --partial '<span class="predict-blank"></span> MiB'
    refute_output --partial '<input'
    # The run in the page, where it was built, needs scripts.
    run grep -cE '[ "]hidden[ =>]' <(sed -n '/<div class="predict-until"/,/<\/section>/p' \
        "$FOLDER/$PAGE.html" | grep -v '<div class="live" ' | sed 's/<div class="stage-at"[^>]*>//')
    assert_output 0
}

# bats test_tags=long
@test "the table of lessons shows what passes, what is next, and the reader's own ticks" {
    local name look='
        const row = (name) => at("a[href^=\"" + name + "\"]").closest("tr");
        const box = (name) => row(name).querySelector("input");
        const note = (name) => row(name).querySelector(".progress-note").textContent;'
    {
        echo '<body><table class="lessons"><tbody>'
        for name in 04_release_threshold 06_trim 07_statistics; do
            echo "<tr><td><p><a href=\"$name.html\">$name</a></p></td><td>20 min</td></tr>"
        done
        echo '</tbody></table>'
        for name in site passed progress; do
            echo "<script src=\"_static/$name.js\"></script>"
        done
        echo '</body>'
    } >"$FOLDER/table.html"
    echo 'window.workbookProgress = {"04_release_threshold":
        {"passed": true, "points": 6, "of": 6}};' >"$FOLDER/_static/passed.js"
    in_browser table '' "$look
        say(box('04').checked, box('04').disabled, note('04'));
        say(box('06').checked, note('06'));
        say(box('07').checked, note('07'));
        box('06').click();
        say(note('06'), note('07'), localStorage['workbook:done']);"
    assert_line --index 0 "true true 6 of 6 points"
    assert_line --index 1 "false next"
    assert_line --index 2 "false "
    assert_line --index 3 ' next {"06_trim":true}'
    echo >"$FOLDER/_static/passed.js"
    in_browser table "localStorage['workbook:done'] = '{\"04_release_threshold\": true}';" \
        "$look
        say(box('04').checked, box('04').disabled, note('06'));"
    assert_line --index 0 "true false next"
}

# bats test_tags=long
@test "a check and a grade leave what passes for the book" {
    local copy=$BATS_TEST_TMPDIR/copy passed
    command -v jq >/dev/null || skip "no jq here"
    grading_copy "$copy"
    mkdir -p "$copy/build/docs/html/_static"
    passed=$copy/build/docs/html/_static/passed.js
    cd "$copy" || return 1
    export WORKBOOK_PROGRESS=
    run as_typed tools/check.sh 04_release_threshold
    assert_failure
    run cat "$passed"
    assert_line '  "04_release_threshold": {"passed": false, "points": null, "of": null},'
    cp solutions/04_release_threshold.c lessons
    as_typed tools/check.sh 06_trim solutions/06_trim.c   # another file is no progress
    run as_typed env ONLY="04 06" tests/grading/grade.sh
    assert_line --partial "The whole grade"
    run cat "$passed"
    assert_line '  "04_release_threshold": {"passed": true, "points": 5, "of": 5},'
    assert_line '  "06_trim": {"passed": false, "points": 0, "of": 5},'
    rm "$passed" -r build/progress
    run as_typed tools/check.sh 04_release_threshold
    assert_line "Next: make 05"
    run cat "$passed"
    assert_line '  "04_release_threshold": {"passed": true, "points": null, "of": null},'
    refute_line --partial 06_trim
}
