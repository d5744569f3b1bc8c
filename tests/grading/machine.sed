# For sed -E -f. Lines of a program's output that begin with "~" depend on the machine. This leaves
# their words and takes away the rest: numbers, what stands in quotes, and how far apart things are.
/^~/ {
    s/"[^"]*"/"..."/g
    s/-?[0-9]+(\.[0-9]+)?/N/g
    s/ +/ /g
}
