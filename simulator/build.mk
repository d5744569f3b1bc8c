# Builds the simulated device, build/simulator/libcudart.so.13, and libptx.so beside it, which runs
# kernels that nvcc built and which lessons do without. Included by the Makefile.
# SANITIZE=address,undefined, SANITIZE=thread, and DEBUG=1 each build into a folder of their own and
# assert that the lock is held. DEBUG=1 does not optimize. COVERAGE=1 counts executed lines, in no
# folder of its own, so only tools/coverage.sh uses it, in a copy of the tree.
#
# Each file is written under a temporary name and then renamed, so that a parallel or interrupted
# make never leaves a partial file.
comma := ,
# make bench and make scale measure the optimized build.
RELEASE ?= $(filter bench scale,$(MAKECMDGOALS))
SIMULATOR := build/$(if $(RELEASE),release,simulator)$(if \
	$(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(DEBUG),-debug)
LIBRARY := $(SIMULATOR)/libcudart.so.13
KERNELS := $(SIMULATOR)/libptx.so
# The slowest files come first, so that no core waits for them at the end.
PTX_SOURCES := $(addprefix simulator/ptx/,operations_integer.c operations_float.c accesses.c)
PTX_SOURCES += $(filter-out $(PTX_SOURCES),$(wildcard simulator/ptx/*.c))
object = $(patsubst simulator/%.c,$(SIMULATOR)/objects/%.o,$(1))
PTX_OBJECTS := $(call object,$(PTX_SOURCES))
OBJECTS := $(call object,$(filter-out $(PTX_SOURCES),$(wildcard simulator/*/*.c)))
# By default each file is compiled alone with -O2, and kernels are compiled only for this machine's
# kind of processor (HOT in ptx/warp.h), so that a change of one file costs at most 5 seconds of
# processor time.
# RELEASE=1 builds into a folder of its own, with -O3, link-time optimization, and kernels for all
# processors; an allocation and a free then take four fifths of the time (make bench). Without SLP
# two neighbors are not read at once, which waits for the stores that just wrote them. There is no
# link-time optimization with clang, nor where gcc cannot link so because a plugin is missing: the
# linker alone would make a library without functions.
AVX2 := $(if $(filter-out $(shell grep -sm 1 ^flags /proc/cpuinfo),\
	avx2 bmi1 bmi2 f16c fma abm movbe),0,1)
LTO := $(if $(RELEASE),$(if $(findstring clang,$(CC)),,$(shell \
	echo 'int main(void) { return 0; }' | $(CC) -flto=auto -x c - -o /dev/null 2>/dev/null && \
	echo -flto=auto)))
SANITIZED := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
SANITIZED += $(if $(SANITIZE)$(DEBUG),-fno-omit-frame-pointer -DASSERT_LOCK)
OPTIMIZED := $(if $(DEBUG),-O0 -g3,-g1 $(if $(COVERAGE),-O1,$(if $(RELEASE),-O3,-O2))) -fno-plt
OPTIMIZED += $(if $(RELEASE),-fno-tree-slp-vectorize)
OPTIMIZED += $(if $(SANITIZE),,$(if $(COVERAGE),--coverage -fprofile-update=atomic -DCOVERAGE))
LIBRARY_FLAGS := $(if $(SANITIZE),-O1 -g1,$(OPTIMIZED)) $(LTO) $(if $(RELEASE),,-DAVX2=$(AVX2)) \
	-fPIC -fvisibility=hidden -pthread -ftls-model=initial-exec -Werror=missing-prototypes \
	-Isimulator -I$(SIMULATOR)
# nodelete: threads, signal handlers, and exit handlers outlive a dlclose, so the library must stay
# loaded. relro, now: the function table is read-only, so a program cannot replace an entry.
LINKER_FLAGS := -shared -pthread -Wl,-Bsymbolic -Wl,-z,nodelete,-z,relro,-z,now \
	$(if $(SANITIZE),,-Wl,-z,defs)

# Prints a line before the first file is compiled, and the progress every five seconds.
$(SIMULATOR)/objects: | build/cuda/found
	@echo "Compiling the simulated device into $(SIMULATOR)." && mkdir -p $@ && touch $@/said
$(OBJECTS) $(PTX_OBJECTS): | $(SIMULATOR)/objects
SAID = find $(SIMULATOR)/objects/said -not -newermt '-5 seconds' 2>/dev/null
SAY_HOW_MANY = if [ "$$($(SAID))" ]; then touch $(SIMULATOR)/objects/said && \
	echo "  $$(ls $(COUNTED) 2>/dev/null | wc -l) of $(words $(COUNTED)) files$(WHICH)"; fi
$(OBJECTS): COUNTED := $(OBJECTS)
$(PTX_OBJECTS): COUNTED := $(PTX_OBJECTS)
$(PTX_OBJECTS): WHICH := , for kernels

LINK = $(CC) $(OPTIMIZED) $(LTO) $(SANITIZED) $(LINKER_FLAGS) -Wl,-soname,$(@F) \
	$(filter %.o,$^) -lm -ldl -o $@.$$$$ && mv $@.$$$$ $@ && rm -f $(SIMULATOR)/objects/said
$(LIBRARY): LINKER_FLAGS += -Wl,--version-script=simulator/libcudart.map
$(LIBRARY): $(OBJECTS) simulator/libcudart.map
	@$(LINK) && ln -sf $(@F) $(@D)/libcuda.so.1
# The first readers of a text of PTX hold nothing, so both libraries have them.
$(KERNELS): $(PTX_OBJECTS) $(call object,simulator/module/module.c simulator/module/scanner.c)
	@$(LINK)

$(SIMULATOR)/objects/%.o: simulator/%.c build/cuda/found simulator/build.mk
	@mkdir -p $(@D)
	@$(CC) $(C_FLAGS) $(LIBRARY_FLAGS) $(SANITIZED) -isystem build/cuda/include \
		-MMD -MP -MT $@ -MF $@.$$$$.d -c $< -o $@.$$$$ && \
		mv $@.$$$$.d $(@:.o=.d) && mv $@.$$$$ $@ && $(SAY_HOW_MANY)
# Its kernels are compared with loops of C, which must be optimized, too.
$(SIMULATOR)/simulator/tests/unit/bench: private C_FLAGS += -O2
# The rooms that check arguments and pass them on are equally fast with -O1, which takes two thirds
# of the time to compile.
ifeq ($(RELEASE)$(SANITIZE)$(DEBUG)$(COVERAGE),)
$(addprefix $(SIMULATOR)/objects/,$(addsuffix /%.o,api graph ipc run)): LIBRARY_FLAGS += -O1
endif
# No program looks at errno or at the floating-point exceptions of a loop over all threads.
$(addprefix $(SIMULATOR)/objects/ptx/,operations_integer.o operations_float.o texture.o): \
	LIBRARY_FLAGS += -fno-trapping-math -fno-math-errno
-include $(wildcard $(OBJECTS:.o=.d) $(PTX_OBJECTS:.o=.d))

# calls.inc and driver_calls.inc are the lists of calls with their parameters. The prototypes of one
# file of calls stay as they are where a change of the lists does not concern them.
CALLS := $(addprefix $(SIMULATOR)/,calls.inc driver_calls.inc)
$(filter $(SIMULATOR)/objects/api/%,$(OBJECTS)): | $(CALLS)
$(patsubst simulator/api/%.c,$(SIMULATOR)/%.inc,$(wildcard simulator/api/*_calls.c)): $(CALLS) ;
$(CALLS): $(SIMULATOR)/%.inc: simulator/api/%.def \
		simulator/api/calls.awk simulator/api/declarations.h lessons/kernels.h \
		simulator/user_kernels.h build/cuda/found
	@mkdir -p $@.new
	@printf '#include %s\n' '"api/declarations.h"' '<cuda.h>' | \
		$(CC) -E -P -x c -D__CUDA_API_VERSION_INTERNAL -Ilessons -Isimulator \
			-isystem build/cuda/include - | \
		awk -f simulator/api/calls.awk -v folder=$@.new RS=';' - RS='\n' list=1 $< >$@.$$$$ && \
		for file in $@.new/*_calls.inc; do \
			cmp -s $$file $(@D)/$${file##*/} || mv $$file $(@D); \
		done && rm -r $@.new && mv $@.$$$$ $@

# unmodeled.inc lists the functions that return cudaErrorNotSupported: those that the headers
# declare, or that CUDA 13.1 to 13.5 added, without the calls in calls.def. driver_unmodeled.inc
# lists those of libcuda.so.1, and driver_errors.inc the names of its errors.
$(SIMULATOR)/objects/api/unmodeled.o: $(SIMULATOR)/unmodeled.inc
$(SIMULATOR)/unmodeled.inc: simulator/api/calls.def $(SIMULATOR)/libcudart-symbols.txt \
	simulator/api/newer-symbols.txt
$(SIMULATOR)/driver_unmodeled.inc: simulator/api/driver_calls.def $(SIMULATOR)/libcuda-symbols.txt
$(addprefix $(SIMULATOR)/,unmodeled.inc driver_unmodeled.inc):
	@awk -F '[(, )]+' 'FNR == NR { known[$$2 ($$3 ~ /^_/ ? $$3 : "")]; next } \
		{ call = $$1; sub(/_pt[sd][sz]$$/, "", call) } \
		!(call in known) && !listed[$$1]++ { print "UNMODELLED(" $$1 ")" }' $^ >$@.$$$$ && \
		mv $@.$$$$ $@
# The names of the libraries' functions, from the headers. A name stands behind CUDARTAPI, and a
# name of libcuda.so.1 behind CUDAAPI, there or in the line above. A macro gives a function its
# version, or its form for a stream of each thread. NVIDIA's wheel lacks the header of
# cudaProfilerStart, which calls.def has, and that of the three cuProfiler functions.
$(SIMULATOR)/libcudart-symbols.txt: build/cuda/found
	@mkdir -p $(@D)
	@sed -nE -e '/WGL/d' -e 's/.*\bCUDARTAPI +(cuda\w+)\(.*/\1/p' \
		-e 's/^ *#define +\w+ +__CUDART_API_(PT[SD][ZS])\((cuda\w+)\).*/\2\n\2_\L\1/p' \
		build/cuda/include/cuda_{runtime_api,{gl,egl,vdpau}_interop}.h 2>/dev/null | \
		LC_ALL=C sort -u >$@.$$$$ && mv $@.$$$$ $@
$(SIMULATOR)/libcuda-symbols.txt: build/cuda/found
	@mkdir -p $(@D)
	@{ sed -nE -e 's/^ *#define +cu\w+ +__CUDA_API_(PT[SD][ZS])\((cu\w+)\).*/\2\n\2_\L\1/p' \
			-e 's/^ *#define +cu[[:alnum:]]+ +(cu[A-Z]\w+) *$$/\1/p' \
			-e 's/^(.*\bCUDAAPI +)?(cu[A-Z]\w+)\(.*/\2/p' build/cuda/include/cuda.h && \
		printf '%s\n' cuProfiler{Initialize,Start,Stop}; } | LC_ALL=C sort -u >$@.$$$$ && \
		mv $@.$$$$ $@
$(SIMULATOR)/objects/api/driver_entry.o: $(SIMULATOR)/driver_errors.inc \
	$(SIMULATOR)/driver_unmodeled.inc
$(SIMULATOR)/driver_errors.inc: build/cuda/found
	@mkdir -p $(@D)
	@sed -nE 's/^ *(CUDA_(SUCCESS|ERROR_[A-Z0-9_]+)) *=.*/ERROR(\1)/p' build/cuda/include/cuda.h \
		>$@.$$$$ && mv $@.$$$$ $@
