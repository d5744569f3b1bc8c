/* Lessons: all. Nothing was done. */
@starter@
