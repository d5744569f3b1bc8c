# Writes calls.inc: the calls of a list, calls.def or driver_calls.def, with the parameters that a
# header declares. Its input is the preprocessed header, then -v list=1, then the list. Also writes
# a file into `folder` for each source file that a heading of the list names: the prototypes of the
# functions that do the work of the calls below the heading.
#
#   CALL(name, cost, flags)          ->  CALL(streams, name, ..., parameters, work, arguments)
#   OWN(name, ..., flags)            ->  OWN(streams, name, ..., stream, parameters, work,
#                                            arguments)
#   CALL(..., flags, expression)     ->  the same, and BODY(name, work, expression)
#   TWIN(name, ..., twin)            ->  TWIN(streams, name, ..., twin, stream, parameters,
#   TWIN(name, ..., twin, (values))           arguments, cost_arguments)
#
#   streams         PTSZ or PTDS, if the header declares a twin of that suffix for programs with
#                   per-thread default streams; otherwise ONE
#   stream          the parameter hStream, or NULL if there is none
#   parameters      of the exported function
#   work            the parameters of do_NAME, which does the work
#   arguments       the values that the exported function passes to do_NAME, or to do_TWIN
#   cost_arguments  the same without the struct call, because the cost depends on them
function trimmed(text)
{
    gsub(/[ \n\t]+/, " ", text)
    gsub(/^ | $/, "", text)
    return text
}
# Splits the parameters of a function into types[] and names[], and returns their number.
function split_parameters(text, types, names,    list, count, i)
{
    if (text == "void")
        return 0
    count = split(text, list, ",")
    for (i = 1; i <= count; i++) {
        match(list[i], /[A-Za-z_0-9]+ *$/)
        names[i] = trimmed(substr(list[i], RSTART))
        types[i] = trimmed(substr(list[i], 1, RSTART - 1))
    }
    return count
}
# The arguments of a twin are the parameters, of which those of the driver's own types are cast.
function arguments_of(text, twin,    i, count, types, names, twin_types, ignored, result)
{
    count = split_parameters(text, types, names)
    split_parameters(twin, twin_types, ignored)
    for (i = 1; i <= count; i++)
        result = result (i > 1 ? ", " : "") \
            (twin != "" && types[i] ~ /^(const )?(CU|cuuint)/ ? "(" twin_types[i] ")" : "") names[i]
    return result
}
# Prints the line of a call. `more`: what follows the parameters, before the arguments.
function written(kind, given, symbol, more, text, arguments,    streams, call)
{
    streams = (symbol "_ptsz") in declared ? "PTSZ" : (symbol "_ptds") in declared ? "PTDS" : "ONE"
    call = arguments == "" ? "(&call)" : "(&call, " arguments ")"
    print kind "(" streams ", " given \
        (kind !~ /OWN|TWIN/ ? "" : text ~ /CUstream hStream/ ? ", hStream" : ", NULL") \
        ", (" text "), " more call \
        (kind == "TWIN" ? ", (" arguments ")" : "") ")"
}
# Declares the function that does the work of a call.
function declare(symbol, work)
{
    if (!begun[prototypes]++)
        printf("#pragma once\n#include \"api/%s.h\"\n",
               prototypes ~ /driver_/ ? "driver" : "call") >prototypes
    print "cudaError_t do_" symbol work ";" >prototypes
}
BEGIN {
    kinds = split("CALL LAUNCH OWN TWIN BODY NVCC OTHER", kind_names, " ")
}
!list {
    if (match($0, /(cudaError_t|CUresult)[ \n]+[A-Za-z_0-9]+\(/)) {
        text = substr($0, RSTART)
        name = text
        sub(/\(.*/, "", name)
        sub(/.*[ \n]/, "", name)
        sub(/^[^(]*\(/, "", text)
        sub(/\)[^)]*$/, "", text)
        declared[name] = trimmed(text)
    }
    next
}
# A kind of line that an includer does not define expands to nothing, and a launch to a call.
!has_kinds++ {
    for (i = 1; i <= kinds; i++)
        print "#ifndef " kind_names[i] "\n#define " kind_names[i] \
            (kind_names[i] == "LAUNCH" ? " CALL" : "(...)") "\n#endif"
}
END {
    for (i = 1; i <= kinds; i++)
        print "#undef " kind_names[i]
}
/^(CALL|LAUNCH|OWN|TWIN)\(/ {
    # A call ends with the line that closes its parentheses.
    while (!/\)$/ || gsub(/\(/, "(") != gsub(/\)/, ")")) {
        line = $0
        if ((getline) <= 0)
            break
        $0 = line " " trimmed($0)
    }
    kind = $0
    sub(/\(.*/, "", kind)
    given = substr($0, length(kind) + 2)
    sub(/\)$/, "", given)
    split(given, fields, ", *")
    symbol = fields[1] (kind == "OWN" || kind == "TWIN" ? fields[2] : "")
    if (kind == "TWIN") {
        twin = declared[fields[5]]
        text = symbol in declared ? declared[symbol] : twin
        arguments = arguments_of(text, twin)
        if (match(given, /, *\(.*\)$/)) {
            arguments = substr(given, RSTART)
            sub(/^, *\(/, "", arguments)
            sub(/\)$/, "", arguments)
            given = substr(given, 1, RSTART - 1)
        }
        written(kind, given, symbol, "", text, arguments)
        next
    }
    if (!(symbol in declared)) {
        print "No header declares " symbol "." >"/dev/stderr"
        exit 1
    }
    text = declared[symbol]
    work = "(struct call *call" (text == "void" ? "" : ", " text) ")"
    declare(symbol, work)
    # An expression follows the flags.
    if (match(given, "^[^,]*,[^,]*,[^,]*" (kind == "OWN" ? ",[^,]*,[^,]*" : "")) \
        && RLENGTH < length(given)) {
        print "BODY(" symbol ", " work ", (" trimmed(substr(given, RLENGTH + 2)) "))"
        given = substr(given, 1, RLENGTH)
    }
    written(kind, given, symbol, work ", ", text, arguments_of(text, ""))
    next
}
match($0, /\(api\/[a-z_]+\.c/) {
    prototypes = folder "/" substr($0, RSTART + 5, RLENGTH - 6) "inc"
}
# OTHER of calls.def is for the list of unmodeled functions alone.
/^NVCC\(|^OTHER\(.*,/
