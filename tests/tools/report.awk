# Reads what bats --tap prints and reports it to a person. With lesson=NN_name it speaks to the
# student who checks that lesson: the places in the test files are left out. Without it, what failed
# is printed once more at the end, where the end of a log shows it.
# The last line is "N passed, N failed"; the exit status is 0 only when tests ran and none failed.

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
    place = 0
    next
}

# "(in test file ..., line N)" and "`command' failed": where a test stopped, for those who work on
# the tests.
lesson != "" && /^# \((from function|in test file)/ { place = 1 }
lesson != "" && place { if (/' failed( with status [0-9]+)?$/ || /' failed with/) place = 0; next }

# What a run wrote to stderr is shown once, though each of its tests has it. Numbers of processes
# and addresses may differ.
lesson != "" && /^# On stderr it printed:$/ { held = 1; heading = $0; block = key = ""; next }
held && /^#     / {
    block = block "        " substr($0, 3) "\n"
    line = $0
    gsub(/process [0-9]+|0x[0-9a-f]+/, "", line)
    key = key line "\n"
    next
}
held {
    held = 0
    if (key in shown) print "        On stderr it printed the same as above."
    else printf "        %s\n%s", substr(heading, 3), block
    shown[key] = 1
}

/^# / { put("        " substr($0, 3)); next }
/^#$/ { put(""); next }
{ put($0) }

function report(word, text) {
    missed = word == "MISS"
    put(sprintf("  %-4s  %s", word, text))
    fflush()
}

function put(line) {
    print line
    if (missed) misses = misses line "\n"
}

END {
    ran = passed + failed + skipped
    if (held) printf "        %s\n%s", substr(heading, 3), block
    if (plan + 0 == 0 || ran == 0) { print "No test ran."; failed++ }
    else if (ran != plan) {
        printf "%d of %d tests ran.\n", ran, plan
        failed += ran < plan ? plan - ran : 1
    }
    if (lesson == "" && misses != "") printf "\nWhat failed, once more:\n%s", misses
    print ""
    print (passed + 0) " passed, " (failed + 0) " failed" (skipped ? ", " skipped " skipped" : "")
    exit failed > 0
}
