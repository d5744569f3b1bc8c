# Reads what bats --tap prints and reports it to a person.
#
#   lesson=NN_name   reports to the student who checks that lesson: the first miss in full, and the
#                    names of the others (all=1: all in full), in lines of 100 columns; the points
#                    are those of make grade; brief=1 leaves out the skipped tests and the last
#                    lines
#   without it       the failures are printed again at the end, so that the end of a log has them
#
# The last line begins "N passed, N failed"; the exit status is 0 only when tests ran and none
# failed.

/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }

# first_miss.sh counts the points.
/^possible [0-9]+, [0-9]+ given$/ { possible = $2 + 0; given = $3 + 0; next }
/^points [0-9]+$/ { points = $2; next }
/^no points: / { next }

/^(not )?ok [0-9]+ / {
    name = $0
    sub(/^(not )?ok [0-9]+ /, "", name)
    release()
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

# Of the misses after the first a student sees the names.
lesson != "" && !all && failed > 1 { next }

# What a run wrote to stderr is shown once, though each of its tests has it. Numbers of processes
# and addresses may differ.
lesson != "" && /^# On stderr it printed:$/ { held = 1; heading = $0; text = key = ""; next }
held && /^#     / {
    text = text "        " substr($0, 3) "\n"
    line = $0
    gsub(/process [0-9]+|0x[0-9a-f]+/, "", line)
    key = key line "\n"
    next
}
held { release() }

/^# / { put("        " substr($0, 3)); next }
/^#$/ { put(""); next }
{ put($0) }

# What was held back of stderr.
function release(    lines, n, i) {
    if (!held) return
    held = 0
    if (key in shown) put("        On stderr it printed the same as above.")
    else {
        put("        " substr(heading, 3))
        n = split(text, lines, "\n")
        for (i = 1; i < n; i++) put(lines[i])
    }
    shown[key] = 1
}

function report(word, text) {
    missed = word == "MISS"
    if (word != "skip" || !brief) put(sprintf("  %-4s  %s", word, text))
    fflush()
}

function put(line) {
    if (lesson == "") print line
    else wrap(line)
    if (missed) misses = misses line "\n"
    fflush()
}

# A line in lines of 100 columns. They hang below the text behind its label ("  MISS  ",
# "  read       "), else two columns in. A compiler's excerpt ("   12 |     call();") stays whole.
function wrap(line,    hang, cut) {
    if (length(line) <= 100 || line ~ /^ *[0-9]* +\|/) { print line; return }
    match(line, /^ */)
    hang = RLENGTH + 2
    if (match(line, /^ *[A-Za-z]+( [A-Za-z]+)*:?  +/) && RLENGTH < 40) hang = RLENGTH
    while (length(line) > 100) {
        for (cut = 101; cut > hang && substr(line, cut, 1) != " "; cut--);
        if (cut <= hang) {   # one long word
            cut = index(substr(line, 102), " ")
            if (!cut) break
            cut += 101
        }
        print substr(line, 1, cut - 1)
        line = sprintf("%" hang "s", "") substr(line, cut + 1)
    }
    print line
}

function points_of() {
    if (points == "") return ""
    return ". Points: " points " of " possible (given ? "; " given " passed at the start and " \
        (given > 1 ? "give" : "gives") " no point" : "")
}

END {
    release()
    ran = passed + failed + skipped
    if (plan + 0 == 0 || ran == 0) { print "No test ran."; failed++ }
    else if (ran != plan) {
        printf "%d of %d tests ran.\n", ran, plan
        failed += ran < plan ? plan - ran : 1
    }
    if (brief) exit failed > 0
    if (lesson == "" && misses != "") printf "\nThe failures again:\n%s", misses
    print ""
    if (lesson != "" && !all && failed > 1 && ran == plan)
        print "Begin with the first miss. ALL=1 shows " (failed == 2 ? "both" : "all " failed) \
            " in full."
    print (passed + 0) " passed, " (failed + 0) " failed" \
        (skipped ? ", " skipped " skipped" : "") points_of()
    exit failed > 0
}
