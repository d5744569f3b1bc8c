/* What os_web_site (os/os.h) points to: a place in the source of the program. A page finds no line
 * from a return address, so whoever calls CUDA leaves the place there first. */
#ifndef SIM_OS_WEB_SITE_H
#define SIM_OS_WEB_SITE_H

struct os_web_site {
    const char *file;
    unsigned line;
    /* The call as the source has it; NULL: not known. */
    const char *call;
};

/* Leaves the place where this stands, with the text of the call there. */
#define OS_WEB_STANDS_HERE(text)                                            \
    (os_web_site = ({                                                       \
         static const struct os_web_site here = {__FILE__, __LINE__, text}; \
         (void *)&here;                                                     \
     }))

/* The program ends with this status: main has returned, or exit was called. */
void os_web_exits(int status);

#endif
