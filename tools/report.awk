# Reads what bats --tap prints and reports it to a person: the failures are printed again at the
# end, so that the end of a log has them. (What a student reads of a check is
# tests/grading/report.py.)
#
# The last line begins "N passed, N failed"; the exit status is 0 only when tests ran and none
# failed.

/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }

/^(not )?ok [0-9]+ / {
    name = $0
    sub(/^(not )?ok [0-9]+ /, "", name)
    if ($1 == "not") { failed++; report("MISS", name) }
    else if (match(name, / # skip/)) {
        skipped++
        reason = substr(name, RSTART + 8)
        sub(/^ */, "", reason)
        sub(/^\(/, "", reason); sub(/\)$/, "", reason)
        name = substr(name, 1, RSTART - 1)
        report("skip", name ": " (reason == "" ? "no reason was given" : reason))
    }
    else { passed++; report("ok", name) }
    next
}

/^# / { put("        " substr($0, 3)); next }
/^#$/ { put(""); next }
{ put($0) }

function report(word, text) {
    missed = word == "MISS"
    put(sprintf("  %-4s  %s", word, text))
}

function put(line) {
    print line
    if (missed) misses = misses line "\n"
    fflush()
}

END {
    ran = passed + failed + skipped
    if (plan + 0 == 0 || ran == 0) { print "No test ran."; failed++ }
    else if (ran != plan) {
        printf "%d of %d tests ran.\n", ran, plan
        failed += ran < plan ? plan - ran : 1
    }
    if (misses != "") printf "\nThe failures again:\n%s", misses
    print ""
    print (passed + 0) " passed, " (failed + 0) " failed" (skipped ? ", " skipped " skipped" : "")
    exit failed > 0
}
