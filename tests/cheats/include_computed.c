/* Lessons: all. The same, with a name that the preprocessor puts together. */
#define QUOTED(text)  #text
#define NAME_OF(text) QUOTED(text)
#define LESSON        @name@
#define FILE_OF(name) NAME_OF(../solutions/name.c)
#include FILE_OF(LESSON)
