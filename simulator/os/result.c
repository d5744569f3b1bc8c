/* Does a program look at the result of a call? */
#include "os/result.h"

#include <stdint.h>
#include <string.h>

#define INSTRUCTIONS_MAX 16

/* An instruction of x86-64 that does not read rax, as far as it is known here. */
struct known {
    /* 0: it is not known. */
    size_t bytes;
    /* The number of the register that it overwrites, or -1; 0 is rax. */
    int overwrites;
};

/* Reads an operand: a register, or an address computed from registers. `*at` goes behind it.
 * Returns its register (-1: it is in memory), or -2 if the address needs rax. */
static int read_operand(const unsigned char **at, unsigned rex)
{
    const unsigned modrm = *(*at)++, mode = modrm >> 6, low = modrm & 7;
    unsigned base = low | (rex & 1) << 3, index = 4;
    if (mode == 3)
        return (int)base;
    if (low == 4) {
        const unsigned sib = *(*at)++;
        base = (sib & 7) | (rex & 1) << 3;
        index = (sib >> 3 & 7) | (rex & 2) << 2;
        if (mode == 0 && (sib & 7) == 5)
            *at += 4;
    }
    if (mode == 0 && low == 5) { /* From rip on. */
        *at += 4;
        return -1;
    }
    *at += mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return !base || !index ? -2 : -1;
}

static struct known read_instruction(const unsigned char *code)
{
    const struct known unknown = {0, -1};
    const unsigned char *at = code;
    const unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    const unsigned op = *at++;
    if (op == 0x90)
        return (struct known){(size_t)(at - code), -1};
    if (op >= 0xb8 && op <= 0xbf) /* mov number, register */
        return (struct known){(size_t)(at - code) + (rex & 8 ? 8 : 4),
                              (int)((op & 7) | (rex & 1) << 3)};
    if (op == 0xe8) /* call: it returns something else */
        return (struct known){(size_t)(at - code) + 4, 0};
    const int reg = (int)((*at >> 3 & 7) | (rex & 4) << 1);
    const int operand = read_operand(&at, rex);
    const size_t bytes = (size_t)(at - code);
    if (operand == -2)
        return unknown;
    switch (op) {
    case 0x8b: /* mov operand, register */
    case 0x8d: /* lea */
    case 0x63: /* movslq */ return operand == 0 ? unknown : (struct known){bytes, reg};
    case 0x89: /* mov register, operand */
        return reg == 0 ? unknown : (struct known){bytes, operand};
    case 0xc7: /* mov number, operand */ return (struct known){bytes + 4, operand};
    case 0x31: /* xor register, itself */
        return operand == reg ? (struct known){bytes, reg} : unknown;
    case 0x83: /* add number, rsp */ return operand == 4 ? (struct known){bytes + 1, -1} : unknown;
    case 0xff: /* call at an address */
        return (reg & 7) == 2 && operand ? (struct known){bytes, 0} : unknown;
    default: return unknown;
    }
}

bool os_code_ignores_result(const void *code)
{
#ifdef __x86_64__
    const unsigned char *at = code;
    for (unsigned n = 0; n < INSTRUCTIONS_MAX; n++) {
        int32_t distance;
        if (*at == 0xeb || *at == 0xe9) { /* jmp */
            memcpy(&distance, at + 1, sizeof distance);
            at += *at == 0xeb ? 2 + (int8_t)at[1] : 5 + distance;
            continue;
        }
        const struct known k = read_instruction(at);
        if (!k.bytes)
            return false;
        if (k.overwrites == 0)
            return true;
        at += k.bytes;
    }
#else
    (void)code, (void)read_instruction;
#endif
    return false;
}
