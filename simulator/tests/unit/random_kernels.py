"""Writes a program of CUDA C++ with random kernels: random_kernels.py SEED COUNT >program.cu

Each kernel's body is also compiled for the host. The program runs both on the same numbers, prints
the kernels that differ in a bit, and at its end how many it has compared."""

import random
import sys

INTEGERS = {"i": "int", "u": "unsigned", "l": "long long", "v": "unsigned long long"}
FLOATS = {"f": "float", "d": "double"}
TYPES = {**INTEGERS, **FLOATS}
NAMES = [letter + str(n) for letter in TYPES for n in range(3)]
HELPERS = r"""
#include <cmath>
#include <cstdio>
#include <cstring>
#define BOTH static __host__ __device__ __forceinline__
#ifdef __CUDA_ARCH__
#define DEVICE(here, there) here
#else
#define DEVICE(here, there) there
#endif
static unsigned reversed(unsigned x)
{
    unsigned r = 0;
    for (int n = 0; n < 32; n++) r |= (x >> n & 1) << (31 - n);
    return r;
}
static unsigned permuted(unsigned x, unsigned y, unsigned s)
{
    unsigned long long both = x | (unsigned long long)y << 32;
    unsigned r = 0;
    for (int n = 0; n < 4; n++) r |= (unsigned)(both >> 8 * (s >> 4 * n & 7) & 255) << 8 * n;
    return r;
}
BOTH int popc(unsigned x) { return DEVICE(__popc(x), __builtin_popcount(x)); }
BOTH int popcll(unsigned long long x) { return DEVICE(__popcll(x), __builtin_popcountll(x)); }
BOTH int clz(unsigned x) { return DEVICE(__clz(x), x ? __builtin_clz(x) : 32); }
BOTH int clzll(unsigned long long x) { return DEVICE(__clzll(x), x ? __builtin_clzll(x) : 64); }
BOTH unsigned brev(unsigned x) { return DEVICE(__brev(x), reversed(x)); }
BOTH unsigned perm(unsigned x, unsigned y, unsigned s)
{
    return DEVICE(__byte_perm(x, y, s), permuted(x, y, s));
}
BOTH int high(int x, int y) { return DEVICE(__mulhi(x, y), (int)((long long)x * y >> 32)); }
BOTH unsigned long long highll(unsigned long long x, unsigned long long y)
{
    return DEVICE(__umul64hi(x, y), (unsigned long long)((unsigned __int128)x * y >> 64));
}
BOTH unsigned funnel(unsigned x, unsigned y, unsigned s)
{
    return DEVICE(__funnelshift_l(x, y, s),
                  (unsigned)(((unsigned long long)y << 32 | x) << (s & 31) >> 32));
}
BOTH unsigned bits(float x)
{
    unsigned b;
    memcpy(&b, &x, 4);
    return x == x ? b : 0x7fffffff;
}
BOTH unsigned long long bits(double x)
{
    unsigned long long b;
    memcpy(&b, &x, 8);
    return x == x ? b : ~0ull >> 1;
}
/* C leaves open which zero is the greater one; a GPU says. */
template <class T> static T greater(T x, T y)
{
    return x != x ? y : y != y ? x : x > y || (x == y && !std::signbit(x)) ? x : y;
}
template <class T> BOTH T greatest(T x, T y) { return DEVICE(fmax(x, y), greater(x, y)); }
template <class T> BOTH T least(T x, T y) { return DEVICE(fmin(x, y), -greater(-x, -y)); }
BOTH float plain(unsigned x) { return (float)(int)(x & 0xffffff) * 0.125f - 1000.0f; }
BOTH int whole(double x) { return x > -1e9 && x < 1e9 ? (int)x : 7; }
BOTH unsigned long long mix(unsigned long long h, unsigned long long x)
{
    return (h ^ x) * 0x9E3779B97F4A7C15ull + (h >> 29);
}
"""


class Kernel:
    """One random body."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.depth = 0

    def name(self, letter=None):
        return (letter or self.rng.choice(list(TYPES))) + str(self.rng.randrange(3))

    def constant(self, letter):
        rng = self.rng
        if letter in FLOATS:
            value = rng.choice(["0.5", "3.0", "-1.25", "0.1", "1e10", "7e-3", "123456.789"])
            return value + ("f" if letter == "f" else "")
        bits = 32 if letter in "iu" else 64
        value = rng.choice([0, 1, 2, 3, 5, 7, 31, 255, 65535, rng.getrandbits(bits - 1)])
        return f"({TYPES[letter]}){value}ull"

    def integer(self, letter):
        """An expression of an integer type: without what C leaves undefined."""
        rng, t = self.rng, TYPES[letter]
        unsigned = t if t.startswith("unsigned") else "unsigned " + t
        bits = 31 if letter in "iu" else 63
        a, b, c = self.name(letter), self.value(letter), self.value(letter)
        return rng.choice(
            [
                f"({t})(({unsigned}){a} + ({unsigned}){b})",
                f"({t})(({unsigned}){a} - ({unsigned}){b})",
                f"({t})(({unsigned}){a} * ({unsigned}){b})",
                f"({t})(({unsigned}){a} * ({unsigned}){b} + ({unsigned}){c})",
                f"({t})({a} / (({t})({b} & 1023) + 1))",
                f"({t})({a} % (({t})({b} & 65535) + 3))",
                f"({a} & {b}) ^ {c}",
                f"({a} | {b}) & ~{c}",
                f"({t})(({unsigned}){a} << (({unsigned}){b} & {bits}))",
                f"{a} >> (({unsigned}){b} & {bits})",
                f"({a} < {b} ? {c} : {a})",
                f"({a} > {b} ? {a} : {b})",
                f"({t}){self.name('iulv'[rng.randrange(4)])}",
                f"({t})popc((unsigned){a}) + ({t})clz((unsigned){b})",
                f"({t})popcll({a}) ^ ({t})clzll({b})",
                f"({t})brev((unsigned){a})",
                f"({t})perm((unsigned){a}, (unsigned){b}, (unsigned){c} & 0x7777)",
                f"({t})high((int){a}, (int){b})",
                f"({t})highll({a}, {b})",
                f"({t})funnel((unsigned){a}, (unsigned){b}, (unsigned){c})",
                f"({t})whole({self.name(rng.choice('fd'))})",
                f"({t})bits({self.name(rng.choice('fd'))})",
                f"({t})(signed char){a}",
                f"({t})(unsigned short){a}",
                f"({t})(short){b}",
                f"({t})s[({unsigned}){a} & 15]",
            ]
        )

    def real(self, letter):
        rng, t = self.rng, TYPES[letter]
        suffix = "f" if letter == "f" else ""
        a, b, c = self.name(letter), self.value(letter), self.value(letter)
        return rng.choice(
            [
                f"{a} + {b}",
                f"{a} - {b}",
                f"{a} * {b}",
                f"{a} / {b}",
                f"fma{suffix}({a}, {b}, {c})",
                f"sqrt{suffix}(fabs{suffix}({a}))",
                f"least({a}, ({t}){b})",
                f"greatest({a}, ({t}){b})",
                f"-fabs{suffix}({a})",
                f"({a} < {b} ? {c} : {a})",
                f"({t}){self.name('iulv'[rng.randrange(4)])}",
                f"({t}){self.name(rng.choice('fd'))}",
                f"floor{suffix}({a})",
                f"trunc{suffix}({a}) + ceil{suffix}({b})",
                f"rint{suffix}({a})",
                f"copysign{suffix}({a}, {b})",
                f"({t})plain((unsigned){self.name('u')})",
            ]
        )

    def value(self, letter):
        return self.name(letter) if self.rng.random() < 0.75 else self.constant(letter)

    def condition(self):
        letter = self.rng.choice(list(TYPES))
        sign = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"{self.name(letter)} {sign} {self.value(letter)}"

    def add(self, text):
        self.lines.append("    " * (self.depth + 1) + text)

    def assignment(self):
        letter = self.rng.choice(list(TYPES))
        expression = self.integer(letter) if letter in INTEGERS else self.real(letter)
        self.add(f"{self.name(letter)} = {expression};")

    def block(self, count):
        self.depth += 1
        self.statements(count)
        self.depth -= 1

    def branch(self):
        self.add(f"if ({self.condition()}) {{")
        self.block(self.rng.randrange(1, 5))
        if self.rng.random() < 0.5:
            self.add("} else {")
            self.block(self.rng.randrange(1, 5))
        self.add("}")

    def loop(self):
        n = f"n{self.depth}"
        bound = self.rng.choice([f"(int)({self.name('u')} & 7)", str(self.rng.randrange(1, 6))])
        self.add(f"for (int {n} = 0; {n} < {bound}; {n}++) {{")
        self.block(self.rng.randrange(1, 4))
        if self.rng.random() < 0.3:
            self.add(f"    if ({self.condition()}) {self.rng.choice(['break', 'continue'])};")
        self.add("}")

    def cases(self):
        self.add(f"switch ({self.name('u')} & 7) {{")
        for n in self.rng.sample(range(8), self.rng.randrange(3, 8)):
            self.add(f"case {n}:")
            self.block(self.rng.randrange(1, 3))
            if self.rng.random() < 0.8:
                self.add("    break;")
        self.add("}")

    def statements(self, count):
        for _ in range(count):
            kind = self.rng.random()
            if kind < 0.08 and self.depth < 3:
                self.branch()
            elif kind < 0.14 and self.depth < 2:
                self.loop()
            elif kind < 0.17 and self.depth < 2:
                self.cases()
            elif kind < 0.22:
                self.add(f"s[{self.name('u')} & 15] = {self.integer('v')};")
            else:
                self.assignment()


def body(rng, n):
    kernel = Kernel(rng)
    kernel.statements(rng.randrange(8, 40))
    lines = [f"BOTH unsigned long long body{n}(unsigned long long h)", "{"]
    lines.append("    unsigned long long s[16];")
    lines.append("    for (int n = 0; n < 16; n++) s[n] = mix(h, n);")
    for letter, t in TYPES.items():
        for k in range(3):
            source = f"(h = mix(h, {k}))"
            value = f"({t}){source}" if letter in INTEGERS else f"plain((unsigned){source})"
            lines.append(f"    {t} {letter}{k} = {value};")
    lines += kernel.lines
    for name in NAMES:
        value = f"bits({name})" if name[0] in FLOATS else name
        lines.append(f"    h = mix(h, (unsigned long long){value});")
    lines.append("    for (int n = 0; n < 16; n++) h = mix(h, s[n]);")
    lines += ["    return h;", "}"]
    lines.append(f"__global__ void kernel{n}(unsigned long long *out)")
    lines.append("{")
    lines.append("    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.append(f"    out[i] = body{n}(i * 77 + SEED{n});")
    return [f"#define SEED{n} {rng.getrandbits(32)}u", *lines, "}"]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    print("// Written by random_kernels.py.", HELPERS)
    for n in range(count):
        rng = random.Random(f"{seed}.{n}")
        print("\n".join(body(rng, n)))
    print("static unsigned long long out[96], *device;\nstatic int wrong, compared;")
    print("#define COMPARE(N) { kernel##N<<<2, 48>>>(device); \\")
    print("    if (cudaGetLastError() != cudaSuccess) return 1; \\")
    print("    cudaMemcpy(out, device, sizeof out, cudaMemcpyDefault); \\")
    print("    int differ = 0; \\")
    print("    for (unsigned i = 0; i < 96; i++) differ += out[i] != body##N(i * 77 + SEED##N); \\")
    print("    compared++; wrong += differ > 0; \\")
    print('    if (differ) printf("kernel %d: %d threads differ\\n", N, differ); }')
    print("int main()\n{\n    cudaMalloc(&device, sizeof out);")
    for n in range(count):
        print(f"    COMPARE({n})")
    print("    cudaFree(device);")
    print(f'    printf("seed {seed}: %d kernels compared, %d differ\\n", compared, wrong);')
    print("    return wrong > 0;\n}")


main()
