# Makes one TAP stream of those of several files that run at a time. Reads lines "FILE<tab>LINE"; a
# file that has ended sends an empty LINE. What a failed test has said stays in one piece, and
# comes when the file's next test has ended.

{
    at = index($0, "\t")
    file = substr($0, 1, at - 1)
    line = substr($0, at + 1)
}
line ~ /^1\.\.[0-9]+$/ { planned += substr(line, 4); next }
line == "" || line ~ /^(not )?ok [0-9]+ / { release(file) }
line == "" { next }
line ~ /^not ok / { held[file] = line; next }
file in held { held[file] = held[file] "\n" line; next }
{ print line; fflush() }

function release(file) {
    if (file in held) { print held[file]; fflush() }
    delete held[file]
}

END {
    for (file in held) release(file)
    print "1.." (planned + 0)
}
