/* The target of os_web_site (os/os.h): a place in the program's source. A page cannot find the line
 * of a return address, so code that calls CUDA stores its place there first. */
#ifndef SIM_OS_WEB_SITE_H
#define SIM_OS_WEB_SITE_H

struct os_web_site {
    const char *file;
    unsigned line;
    /* The call as written in the source, or NULL if unknown. */
    const char *call;
};

/* Stores the place of this expression, with the text of the call. */
#define OS_WEB_STANDS_HERE(text)                                            \
    (os_web_site = ({                                                       \
         static const struct os_web_site here = {__FILE__, __LINE__, text}; \
         (void *)&here;                                                     \
     }))

/* Called when the program ends with this status: main has returned, or exit was called. */
void os_web_exits(int status);

#endif
