/* Lessons: 04. The check's own code, which stands behind the student's, is to print nothing. */
#define predict_reserved original
@solution@
#undef predict_reserved
static size_t predict_reserved(size_t segment, size_t used) { return segment + used; }
#define printf(...) 0
#define puts(text)  0
