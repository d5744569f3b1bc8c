/* Is the result of a call looked at? Functions that ignore it and functions that use it ask about
 * their own instructions, whatever the compiler makes of them. The tests compile this file with
 * several optimizations. A result that is used must never count as ignored. Prints how many of the
 * ignored results were taken for used. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "os/result.h"

static volatile int result, kept;
static volatile double sums[8];
static char buffer[64];
static bool expects_ignored;
static int missed, mistaken;

__attribute__((noinline)) static int asked(const void *p, long n)
{
    const bool ignored = os_code_ignores_result(__builtin_return_address(0));
    missed += expects_ignored && !ignored;
    mistaken += !expects_ignored && ignored;
    buffer[(uintptr_t)p % 8] = (char)n;
    return result;
}

#define FUNCTION(name) __attribute__((noinline)) static void name(int a)

FUNCTION(then_bytes)
{
    const char zero = 0;
    asked(buffer, a);
    memcpy(buffer + 3, &zero, 1);
    asked(&a, 1);
    puts("");
}
FUNCTION(in_a_loop)
{
    for (int i = 0; i < a; i++)
        asked(buffer + i, i);
    puts("");
}
FUNCTION(before_a_branch)
{
    asked(buffer, a);
    if (a > 1)
        puts("x");
    else
        putchar('y');
    puts("");
}
FUNCTION(before_doubles)
{
    asked(buffer, a);
    for (int i = 0; i < 8; i++)
        sums[i] = 0;
    printf("%d\n", buffer[a]);
}

FUNCTION(as_condition)
{
    if (asked(buffer, a))
        puts("failed");
}
FUNCTION(later)
{
    const int e = asked(buffer, a);
    buffer[0] = 0;
    if (a > 2)
        puts("between");
    if (e)
        puts("failed");
}
FUNCTION(inverted)
{
    const bool good = !asked(buffer, a);
    sums[0] = 1;
    kept = good;
}
FUNCTION(together)
{
    int e = 0;
    for (int i = 0; i < a; i++)
        e |= asked(buffer, i);
    kept = e;
}
FUNCTION(as_number) { sums[1] = asked(buffer, a); }
FUNCTION(in_a_switch)
{
    switch (asked(buffer, a)) {
    case 1: puts("1"); break;
    case 2: putchar('2'); break;
    case 7: kept = 7; break;
    }
}
FUNCTION(as_argument) { printf("%d\n", asked(buffer, a)); }

int main(void)
{
    void (*const ignoring[])(int) = {then_bytes, in_a_loop, before_a_branch, before_doubles};
    void (*const using[])(int) = {as_condition, later,       inverted,   together,
                                  as_number,    in_a_switch, as_argument};
    expects_ignored = true;
    for (size_t i = 0; i < sizeof ignoring / sizeof *ignoring; i++)
        ignoring[i](3);
    expects_ignored = false;
    for (size_t i = 0; i < sizeof using / sizeof *using; i++)
        using[i](3);
    fprintf(stderr, "missed %d, mistaken %d\n", missed, mistaken);
    return mistaken;
}
