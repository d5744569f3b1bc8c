# For sed -E -f. Lines of a program's output that begin with "~" depend on the machine. This keeps
# their words and replaces numbers, quoted text and runs of blanks.
/^~/ {
    s/"[^"]*"/"..."/g
    s/-?[0-9]+(\.[0-9]+)?/N/g
    s/ +/ /g
}
