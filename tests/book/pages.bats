#!/usr/bin/env bats
# The sources of the book's pages: what can be seen of them without building it. The rest is in
# book.bats.

load ../suite

@test "every lesson has its page, and every page its lesson and its time" {
    local lesson page minutes
    assert_equal "$(basename -s .rst docs/[0-9][0-9]_*.rst)" "$(lessons)"
    for lesson in $(lessons); do
        grep -qx "   $lesson" docs/index.rst ||
            complain "docs/index.rst lacks $lesson in its toctree."
        page=$(sed -n 's|.*Page: *docs/\([0-9a-z_]*\).*|\1|p' "lessons/$lesson.c")
        [ "$page" = "$lesson" ] || complain "lessons/$lesson.c names the page \"$page\"."
        minutes=$(sed -n 's/^minutes = //p' "tests/lessons/$lesson/manifest.ini")
        [ "$minutes" -lt 100 ] || minutes='[a-z]* hours' # "four hours, in two evenings"
        grep -qE "^\*About ${minutes}( minutes)?[,.]" "docs/$lesson.rst" ||
            complain "docs/$lesson.rst does not say that it takes about $minutes minutes."
    done
    finish
}

@test "README.md has the table of the manifests and the addresses that CITATION.cff has" {
    local copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/tests/grading" "$copy/tools"
    cp -r tests/lessons "$copy/tests"
    cp tools/usage.py "$copy/tools"
    cp tests/grading/manifest.py "$copy/tests/grading"
    cp README.md CITATION.cff "$copy"
    python3 -SB "$copy/tests/grading/manifest.py" readme
    diff "$copy/README.md" README.md || miss "Type: python3 tests/grading/manifest.py readme"
    sed 's|^# url: .*|url: "https://book.example/pools" # the pages|
        s|^# repository-code: .*|repository-code: https://github.com/a/b|' CITATION.cff \
        >"$copy/CITATION.cff"
    python3 -SB "$copy/tests/grading/manifest.py" readme
    grep -qxF '[Read the book](https://book.example/pools) · '\
'[Releases](https://github.com/a/b/releases) · `git clone https://github.com/a/b`' \
        "$copy/README.md" || complain "$(head -20 "$copy/README.md")"
    sed -i 's|<!-- the addresses.*||' "$copy/README.md"
    run python3 -SB "$copy/tests/grading/manifest.py" readme
    assert_failure
    assert_output --partial "README.md lacks <!-- the addresses"
}

@test "every place that names a lesson by its number has the right one" {
    run python3 -SB tests/book/lesson_numbers.py
    assert_success
    assert_output ""
}

# Else a heading is a paragraph, or the paragraph a word with its meaning, and Sphinx says nothing.
@test "a heading's rule is below it, and a paragraph goes on where it began" {
    run awk 'FNR == 1 { before = above = "" }
        /[^ ] (----+|====+|~~~~+)$/ || /^   / && length(above) > 80 && before == "" \
            && above ~ /^[^ .#0-9]/ { print FILENAME ":" FNR ": " $0 }
        { before = above; above = $0 }' docs/*.rst docs/*/*.rst
    assert_output ""
}

@test "every file that a page names is there" {
    local path named='(^|[^/A-Za-z0-9._-])(lessons|solutions|simulator|tests|docs)/'
    named+='[A-Za-z0-9_./-]*[A-Za-z0-9_]'
    while read -r path; do
        [ -e "$path" ] || [ -e "$path.c" ] ||
            complain "$path is not there: $(grep -lr --include='*.rst' "$path" docs |
                tr '\n' ' ')names it."
    done < <(grep -ohrE --include='*.rst' "$named" docs | sed -E 's/^[^a-z]//' | sort -u)
    finish
}

# noticed ALONE TOOL: what two columns of the recorded table of litmus programs say of
# compute-sanitizer, in numbers: that failed on the GPU alone, of all; noticed; kinds; complaints
# about correct programs; told apart.
noticed() {
    awk -F ' [|] ' -v alone="$1" -v tool="$2" '
        /^## / { correct = /^## Correct/ }
        NF < 7 || /^[|] (program|-)/ { next }
        {
            name = substr($1, 3)
            sub(/_wrong$/, "", name)
            noticed = $tool !~ /^nothing/
            complaint = $tool
            sub(/^stopped after [0-9]+ s; /, "", complaint)   # the same, and the time was up
        }
        correct {
            all++
            if (!noticed) next
            reported++
            if ($tool ~ /^stopped after [0-9]+ s$/) late++
            if ($tool ~ /Program hit cudaError/) on_purpose++
            if (name in found && found[name] == complaint) { same++; of_kind[is[name]]++ }
            next
        }
        {
            programs++
            failed += $alone !~ /^nothing/
            total[$2]++
            if (noticed) { found[name] = complaint; is[name] = $2; count++; kind[$2]++ }
        }
        END {
            u = "unordered writes"
            print failed, programs, count, kind["use after free"] " of " total["use after free"], \
                kind[u] " of " total[u], reported, all, late, on_purpose, same, count - same, \
                kind[u] - of_kind[u] " of the " total[u]
        }' OFS='|' docs/recorded/litmus.md
}

@test "what is said of compute-sanitizer and of the GPU is what the recorded tables have" {
    local page line failed programs count uses writes reported all late purpose same told few
    IFS='|' read -r failed programs count uses writes reported all late purpose same told few \
        < <(noticed 3 4)
    assert_equal "$late $purpose" "7 5"   # in words on the page: seven, five
    page=$(tr -s ' \n' ' ' <docs/real_devices.rst)
    for line in "On the GPU alone $failed of the $programs returned an error, died or hung." \
        "noticed $count." \
        "$uses uses after a free" "$writes unordered writes" "about $reported of the $all correct" \
        "In $same of the $count pairs, it complained" \
        "That leaves $told of the $programs incorrect programs, and $few unordered writes."; do
        [[ $page == *"$line"* ]] || complain "docs/real_devices.rst lacks: $line"
    done
    IFS='|' read -r failed programs count uses writes newer all late purpose same told few \
        < <(noticed 5 6)
    for line in "It noticed $count of the $programs and complained about $newer of the $all" \
        "In $told of the $programs, its complaint set"; do
        [[ $page == *"$line"* ]] || complain "docs/real_devices.rst lacks: $line"
    done
    page=$(tr -s ' \n' ' ' <docs/when_something_is_wrong.rst)
    line="about $reported (2026.4.0: $newer) of $all correct programs"
    [[ $page == *"found ${uses/ of / of our } uses after a free"*"$line"* ]] ||
        complain "docs/when_something_is_wrong.rst has other counts."
    finish
}

# The loop with a kernel in each round, which is the loop that a reader has.
@test "what the pages say of a loop's rounds is what was recorded" {
    local page words text facts=simulator/tests/facts
    while IFS='|' read -r page words; do
        text=$(tr -s ' \n' ' ' <"$page")
        [[ $text == *"$words"* ]] || complain "$page lacks: $words"
    done < <(awk '
        function us(value) { return sprintf("%.0f", value) }
        FILENAME ~ /corner/ && /, synchronizes,/ {
            match($0, /: +[0-9.]+ us/)
            time = substr($0, RSTART + 1) + 0
            size = $1
            if (/keeps all/ && (!least || time < least)) least = time
            if (/keeps all/ && time > most) most = time
            if (!/a kernel/) next
            if (/keeps all/) { keeps[size] = time; next }
            factor[size] = sprintf("%.1f", time / keeps[size])
            saved[size] = us(time - keeps[size])
            slow[size] = time
        }
        FILENAME ~ /one-gpu/ && /async, threshold max, sync each/ {
            time = $8 + 0
            if (time > most) most = time
        }
        END {
            k = 1024; m = k * k; g = k * m
            print "docs/notes/cost.rst|" factor[k] " times faster for 1 KiB, " factor[m] \
                " times for 1 MiB, " factor[64 * m] " times for 64 MiB, and " us(factor[g]) \
                " times for 1 GiB"
            print "docs/notes/cost.rst|made a loop " us(factor[k]) " to " us(factor[g]) \
                " times faster"
            print "docs/notes/cost.rst|saved " saved[k] " µs a round for 1 KiB, " saved[m] \
                " µs for 1 MiB, " saved[64 * m] " µs for 64 MiB, and " \
                sprintf("%.1f", saved[g] / 1000) " ms for 1 GiB"
            print "docs/05_cost.rst|" us(factor[k]) " to " us(factor[64 * m]) \
                " times faster for up to 64 MiB, and " us(factor[g]) " times for 1 GiB"
            print "docs/05_cost.rst|a round took " us(least) " to " us(most) " µs"
            print "docs/model.rst|a round took " us(slow[m]) " µs, and :ref:`can take " \
                us(keeps[m])
            print "docs/04_release_threshold.rst|:ref:`took " us(slow[m]) " µs <note-cost-kernel>`"
            print "docs/04_release_threshold.rst|a round now took " us(keeps[m]) " µs"
            print "docs/cheat_sheet.rst|" us(keeps[m]) \
                " µs with a short kernel and a synchronization"
            print "docs/cheat_sheet.rst|" us(slow[m]) " µs with both (1 GiB: " \
                sprintf("%.1f", slow[g] / 1000) " ms)"
            print "README.md|a round took **" us(slow[m]) " µs** for 1 MiB"
            print "README.md|it took **" us(keeps[m]) " µs**"
        }' $facts/probe-corner.txt $facts/one-gpu.txt)
    finish
}

@test "every attribute of a pool that the simulated device has is in the book's table" {
    diff <(sed -n 's/^POOL_ATTRIBUTE(\(cuda\w*\),.*/\1/p' simulator/api/pool_attributes.def |
        sort) <(sed -n 's/^\(cuda\w*\) CU_MEMPOOL_ATTR_.*/\1/p' docs/calls.txt | sort) ||
        miss "Left: simulator/api/pool_attributes.def; right: docs/calls.txt."
}

@test "every variable of the simulated device is in the book's table, and no other" {
    local page=docs/simulator_reference.rst
    diff <(sed -n '/^static const char \*const names/,/;/p' simulator/base/settings.c |
        grep -o '"SIM_[A-Z_]*"' | tr -d '"' | sort) \
        <(sed -n 's/^   ``\(SIM_[A-Z_]*\).*/\1/p' "$page" | sort) ||
        miss "Left: simulator/base/settings.c; right: $page."
}
