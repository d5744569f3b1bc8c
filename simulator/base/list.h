/* Doubly linked lists of items with `next` and `previous`, which are NULL at the ends. Lists that
 * begin with `first` and have no `last` are pushed to and taken from; others are appended to and
 * removed from. Needs the lock. */
#ifndef SIM_BASE_LIST_H
#define SIM_BASE_LIST_H

#define LIST_PUSH(first, item)          \
    do {                                \
        (item)->previous = NULL;        \
        (item)->next = (first);         \
        if (first)                      \
            (first)->previous = (item); \
        (first) = (item);               \
    } while (0)

/* Branches, because a processor predicts one sooner than it computes where to write. */
#define LIST_TAKE(first, item)                         \
    do {                                               \
        if ((item)->previous)                          \
            (item)->previous->next = (item)->next;     \
        else                                           \
            (first) = (item)->next;                    \
        if ((item)->next)                              \
            (item)->next->previous = (item)->previous; \
    } while (0)

#define LIST_APPEND(first, last, item)                 \
    do {                                               \
        (item)->previous = (last);                     \
        (item)->next = NULL;                           \
        *((last) ? &(last)->next : &(first)) = (item); \
        (last) = (item);                               \
    } while (0)

#define LIST_REMOVE(first, last, item) \
    do {                               \
        if (!(item)->next)             \
            (last) = (item)->previous; \
        LIST_TAKE(first, item);        \
    } while (0)

/* Ends each item of a list by this function, which frees it. */
#define LIST_END(first, end)                                                \
    do {                                                                    \
        for (__typeof__(first) item = (first), after; item; item = after) { \
            after = item->next;                                             \
            end(item);                                                      \
        }                                                                   \
    } while (0)

#endif
