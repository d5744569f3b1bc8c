/* Finds out whether a program ignores the result of a call, by reading its next instructions. */
#include "os/result.h"

#include <stdint.h>
#include <string.h>

#define INSTRUCTIONS_MAX 32

/* An x86-64 instruction that is known not to read rax. */
struct known {
    /* The length, or 0 if the instruction is not known. */
    size_t bytes;
    /* The number of the register that it overwrites, or -1; 0 is rax. */
    int overwrites;
};

/* Reads an operand, a register or an address computed from registers, and moves `*at` to its end.
 * Returns the operand's register (-1: it is in memory), or -2 if the address needs rax. */
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

/* Opcodes that move, compute with, or compare: a register and an operand; a number of one byte,
 * which comes last, and an operand; a number of four bytes and an operand. */
static const unsigned char two_operands[] = {0x01, 0x03, 0x09, 0x0b, 0x21, 0x23,
                                             0x29, 0x2b, 0x33, 0x39, 0x3b, 0x85};
static const unsigned char with_byte[] = {0x80, 0x83, 0xc1, 0xc6}, with_int[] = {0x81};
/* After 0x0f: no-operations, and opcodes of vector registers, none of which is rax. */
static const unsigned char of_vectors[] = {0x10, 0x11, 0x12, 0x14, 0x16, 0x1e, 0x28, 0x29,
                                           0x57, 0x58, 0x59, 0x6c, 0x6f, 0x7f, 0xd6, 0xef};
#define IS_ONE_OF(list, op) (memchr(list, (int)(op), sizeof(list)) != NULL)

static struct known read_instruction(const unsigned char *code)
{
    const struct known unknown = {0, -1};
    const unsigned char *at = code;
    while (*at == 0x64 || *at == 0x66 || *at == 0xf2 || *at == 0xf3)
        at++;
    const bool has_prefix = at != code;
    const unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    const bool is_long = *at == 0x0f;
    at += is_long;
    const unsigned op = *at++;
    const int low = (int)((op & 7) | (rex & 1) << 3);
    if (!is_long) {
        if (op == 0x90 || op == 0xc9 || (op >= 0x50 && op <= 0x57 && low)) /* nop, leave, push */
            return (struct known){(size_t)(at - code), -1};
        if (op >= 0x58 && op <= 0x5f) /* pop */
            return (struct known){(size_t)(at - code), low};
        if (op >= 0xb8 && op <= 0xbf && !has_prefix) /* mov number, register */
            return (struct known){(size_t)(at - code) + (rex & 8 ? 8 : 4), low};
        if (op == 0xe8) /* call: it returns something else */
            return (struct known){(size_t)(at - code) + 4, 0};
    }
    const int reg = (int)((*at >> 3 & 7) | (rex & 4) << 1);
    const int operand = read_operand(&at, rex);
    const size_t bytes = (size_t)(at - code);
    if (is_long && op == 0x1f) /* nop */
        return (struct known){bytes, -1};
    if (operand == -2)
        return unknown;
    if (is_long && IS_ONE_OF(of_vectors, op))
        return (struct known){bytes, -1};
    if (is_long) /* movzx, movsx */
        return operand && (op & 0xf6) == 0xb6 ? (struct known){bytes, reg} : unknown;
    if (IS_ONE_OF(two_operands, op))
        return operand && reg ? (struct known){bytes, -1} : unknown;
    if (IS_ONE_OF(with_byte, op))
        return operand ? (struct known){bytes + 1, -1} : unknown;
    if (IS_ONE_OF(with_int, op) && !has_prefix)
        return operand ? (struct known){bytes + 4, -1} : unknown;
    switch (op) {
    case 0x8b: /* mov operand, register */
    case 0x8d: /* lea */
    case 0x63: /* movslq */ return operand == 0 ? unknown : (struct known){bytes, reg};
    case 0x89: /* mov register, operand */
        return reg == 0 ? unknown : (struct known){bytes, operand};
    case 0xc7: /* mov number, operand */
        return has_prefix ? unknown : (struct known){bytes + 4, operand};
    case 0x31: /* xor register, itself */
        return operand == reg ? (struct known){bytes, reg} : unknown;
    case 0xff: /* call at an address, or a jump to another function, from the linker's table */
        return operand && (reg == 2 || (reg == 4 && at[-5] == 0x25)) ? (struct known){bytes, 0}
                                                                     : unknown;
    default: return unknown;
    }
}

#ifdef __x86_64__
/* Reads at most `most` instructions, and after a branch half of the rest on each path. */
static bool ignores(const unsigned char *at, unsigned most)
{
    for (; most; most--) {
        int32_t distance;
        const bool is_long = *at == 0x0f;
        if (*at == 0xeb || *at == 0xe9) { /* jmp */
            memcpy(&distance, at + 1, sizeof distance);
            at += *at == 0xeb ? 2 + (int8_t)at[1] : 5 + distance;
            continue;
        }
        if (is_long ? (at[1] & 0xf0) == 0x80 : (*at & 0xf0) == 0x70) { /* a branch */
            memcpy(&distance, at + 2, sizeof distance);
            const unsigned char *next = at + (is_long ? 6 : 2);
            return ignores(next, most / 2)
                && ignores(next + (is_long ? distance : (int8_t)at[1]), most / 2);
        }
        const struct known k = read_instruction(at);
        if (!k.bytes)
            return false;
        if (k.overwrites == 0)
            return true;
        at += k.bytes;
    }
    return false;
}
#endif

bool os_code_ignores_result(const void *code)
{
#ifdef __x86_64__
    return ignores(code, INSTRUCTIONS_MAX);
#else
    (void)code, (void)read_instruction;
    return false;
#endif
}
