// Runs the programs of a text file, one after the other, each in a process of its own:
// scripted FILE. Each begins with "program NAME"; random_inside.py says what the lines mean.
// Of each it prints its name and, sorted, the kinds of hazards that were reported.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define FULL 0xffffffffu
#define CHECK(call)                                          \
    do {                                                     \
        cudaError_t e_ = (call);                             \
        if (e_ != cudaSuccess) {                             \
            printf("%s: %s\n", #call, cudaGetErrorName(e_)); \
            fflush(stdout);                                  \
            _exit(1);                                        \
        }                                                    \
    } while (0)

enum verb { WRITE, READ, ADD, BARRIER, SYNCWARP, SHUFFLE };
static const char *const verbs[] = {"write", "read", "add", "barrier", "syncwarp", "shuffle"};

// INDEX is BASE+OFFSET; BASE is of a thread: t its number in the block, r the same counted
// backwards, g its number in the grid, b its block, 0 nothing.
struct step {
    int verb, space, base, offset, site;
    // Who takes the step: all, t<K, t=K, t%K (those that K divides), b=K, g=K.
    int who, compared, value;
};

static __device__ int number(int base)
{
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    return base == 't' ? t
         : base == 'r' ? (int)blockDim.x - 1 - t
         : base == 'g' ? g
         : base == 'b' ? (int)blockIdx.x
                       : 0;
}

static __device__ bool takes(const step &p)
{
    int n = number(p.who == 'b' || p.who == 'g' ? p.who : 't');
    return p.who == '*' ? true
         : p.who == '<' ? n < p.compared
         : p.who == '%' ? n % p.compared == 0
                        : n == p.compared;
}

// Each barrier of a program is an instruction of its own, as in a kernel that somebody wrote.
#define BARRIER_AT(n) \
    case n: asm volatile("bar.sync 0; // " #n ::: "memory"); break;

__global__ void run(int *a, int *b, int *c, int *d, const step *steps, int count, int *out)
{
    extern __shared__ int s[];
    int g = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int n = 0; n < count; n++) {
        const step p = steps[n];
        if (takes(p)) {
            int i = number(p.base) + p.offset;
            int *m = p.space == 'a' ? a : p.space == 'b' ? b : p.space == 'c' ? c : d;
            switch (p.verb) {
            case WRITE:
                if (p.space == 's')
                    s[i] = p.value + g;
                else
                    m[i] = p.value + g;
                break;
            case READ: sum = sum * 3 + (p.space == 's' ? s[i] : m[i]); break;
            case ADD:
                if (p.space == 's')
                    atomicAdd(&s[i], 1);
                else
                    atomicAdd(&m[i], 1);
                break;
            case BARRIER:
                switch (p.site) {
                    BARRIER_AT(0)
                    BARRIER_AT(1)
                    BARRIER_AT(2)
                    BARRIER_AT(3)
                    BARRIER_AT(4)
                    BARRIER_AT(5)
                    BARRIER_AT(6)
                    BARRIER_AT(7)
                }
                break;
            case SYNCWARP: __syncwarp(); break;
            case SHUFFLE: sum += __shfl_xor_sync(FULL, sum, 1); break;
            }
        }
    }
    out[g] = sum;
}

__global__ void poke(int *m, int i, int *) { m[i] = 1; }

static int *memory[4];
static bool is_of_pool[4];

static std::vector<std::string> lines;

static std::vector<step> steps_from(size_t &at, int launch)
{
    std::vector<step> steps;
    char verb[20], who[20];
    int barriers = 0;
    for (; at < lines.size() && lines[at] != "end\n"; at++) {
        const char *line = lines[at].c_str();
        step p = {0};
        char space = 0, base = 0;
        if (sscanf(line, " %19s %c[%c+%d] by %19s", verb, &space, &base, &p.offset, who) != 5
            && sscanf(line, " %19s by %19s", verb, who) != 2) {
            printf("not a step: %s", line);
            _exit(2);
        }
        while (p.verb < SHUFFLE && strcmp(verbs[p.verb], verb))
            p.verb++;
        p.space = space;
        p.base = base;
        p.site = p.verb == BARRIER ? barriers++ : 0;
        p.value = (launch << 24) + ((int)steps.size() << 16) + 1;
        p.who = !strcmp(who, "all") ? '*' : who[1] == '=' ? who[0] : who[1];
        if (p.who == 't')
            p.who = '=';
        p.compared = strlen(who) > 2 ? atoi(who + 2) : 0;
        steps.push_back(p);
    }
    return steps;
}

static void launch(const std::vector<step> &steps, int blocks, int threads)
{
    int count = (int)steps.size(), *out;
    step *there;
    CHECK(cudaMalloc(&there, count * sizeof(step)));
    CHECK(cudaMalloc(&out, blocks * threads * sizeof(int)));
    CHECK(cudaMemcpy(there, steps.data(), count * sizeof(step), cudaMemcpyHostToDevice));
    run<<<blocks, threads, 1024>>>(memory[0], memory[1], memory[2], memory[3], there, count, out);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(there));
    CHECK(cudaFree(out));
}

static void perform(size_t at)
{
    char name = 0, other = 0, how[20];
    int from, count, from_there, launches = 0, m;
    static int here[4096];
    for (; at < lines.size() && lines[at].compare(0, 7, "program"); at++) {
        const char *line = lines[at].c_str();
        if (sscanf(line, "memory %c %d %19s", &name, &count, how) == 3) {
            m = name - 'a';
            is_of_pool[m] = !strcmp(how, "pool");
            if (is_of_pool[m])
                CHECK(cudaMallocAsync(&memory[m], count * sizeof(int), 0));
            else
                CHECK(cudaMalloc(&memory[m], count * sizeof(int)));
        } else if (sscanf(line, "free %c", &name) == 1) {
            m = name - 'a';
            CHECK(is_of_pool[m] ? cudaFreeAsync(memory[m], 0) : cudaFree(memory[m]));
            memory[m] = nullptr;
        } else if (sscanf(line, "memset %c %d %d", &name, &from, &count) == 3) {
            CHECK(cudaMemset(memory[name - 'a'] + from, 1, count * sizeof(int)));
        } else if (sscanf(line, "send %c %d %d", &name, &from, &count) == 3) {
            CHECK(cudaMemcpy(memory[name - 'a'] + from, here, count * sizeof(int),
                             cudaMemcpyHostToDevice));
        } else if (sscanf(line, "fetch %c %d %d", &name, &from, &count) == 3) {
            CHECK(cudaMemcpy(here, memory[name - 'a'] + from, count * sizeof(int),
                             cudaMemcpyDeviceToHost));
        } else if (sscanf(line, "copy %c %d %c %d %d", &name, &from, &other, &from_there, &count)
                   == 5) {
            CHECK(cudaMemcpy(memory[name - 'a'] + from, memory[other - 'a'] + from_there,
                             count * sizeof(int), cudaMemcpyDeviceToDevice));
        } else if (sscanf(line, "poke %c %d %c", &name, &from, &other) == 3) {
            poke<<<1, 1>>>(memory[name - 'a'], from, other == '-' ? nullptr : memory[other - 'a']);
            // Where nothing is, the device has failed.
            (void)cudaDeviceSynchronize();
            _exit(3);
        } else if (sscanf(line, "launch %d %d", &from, &count) == 2) {
            launch(steps_from(++at, ++launches), from, count);
        } else if (line[0] != '#' && line[0] != '\n') {
            printf("not a line: %s", line);
            _exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    char line[200], name[100];
    FILE *f = argc == 2 ? fopen(argv[1], "r") : nullptr;
    if (!f) {
        fprintf(stderr, "usage: scripted FILE\n");
        return 2;
    }
    while (fgets(line, sizeof line, f))
        lines.push_back(line);
    fclose(f);
    for (size_t at = 0; at < lines.size(); at++) {
        if (sscanf(lines[at].c_str(), "program %99s", name) != 1)
            continue;
        FILE *said = tmpfile();
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            dup2(fileno(said), STDERR_FILENO);
            // No report needs the lines of this file, which an addr2line each would look up.
            setenv("PATH", "", 1);
            perform(at + 1);
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        rewind(said);
        std::set<std::string> kinds;
        while (fgets(line, sizeof line, said))
            if (!strncmp(line, "hazard: ", 8))
                kinds.insert(std::string(line + 8, strcspn(line + 8, ".")));
        fclose(said);
        printf("%s:", name);
        for (const auto &kind : kinds)
            printf(" %s;", kind.c_str());
        if (WIFSIGNALED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 3))
            printf(" status %d;", status);
        printf("\n");
    }
    return 0;
}
