# How the simulated device is built: build/simulator/libcudart.so.13. Part of the Makefile.
# SANITIZE=address,undefined or SANITIZE=thread builds it in a folder of its own, and so does
# DEBUG=1, for a debugger: as it is written, function by function, and asserting the lock.
# COVERAGE=1 counts the lines that run, for tools/coverage.sh, which builds in a copy.
#
# Every file is written under another name and moved: a make that runs at the same time, or after
# one that was killed, finds whole files.
comma := ,
# make bench and make scale measure the optimized build.
RELEASE ?= $(filter bench scale,$(MAKECMDGOALS))
SIMULATOR := build/$(if $(RELEASE),release,simulator)$(if \
	$(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(DEBUG),-debug)
LIBRARY := $(SIMULATOR)/libcudart.so.13
# What takes longest to compile comes first, so that no core waits for it at the end.
SOURCES := $(addprefix simulator/,ptx/operations.c ptx/accesses.c api/entry.c)
SOURCES += $(filter-out $(SOURCES),$(wildcard simulator/*/*.c))
OBJECTS := $(SOURCES:simulator/%.c=$(SIMULATOR)/objects/%.o)
# By default each file is compiled alone with -O2, and kernels run on this machine's kind of
# processor only (HOT in ptx/warp.h), so that a change of one file costs at most 5 seconds of
# processor time.
# RELEASE=1 builds in a folder of its own, with -O3, link-time optimization, and kernels for every
# processor; an allocation and a free then take four fifths of the time (make bench). Clang here has
# no linker for its own link-time optimization.
AVX2 := $(if $(filter-out $(shell grep -sm 1 ^flags /proc/cpuinfo),\
	avx2 bmi1 bmi2 f16c fma abm movbe),0,1)
LTO := $(if $(RELEASE),$(if $(findstring clang,$(CC)),,-flto=auto))
SANITIZED := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
SANITIZED += $(if $(SANITIZE)$(DEBUG),-fno-omit-frame-pointer -DASSERT_LOCK)
OPTIMIZED := $(if $(DEBUG),-O0 -g3,-g1 $(if $(COVERAGE),-O1,$(if $(RELEASE),-O3,-O2))) -fno-plt
OPTIMIZED += $(if $(SANITIZE),,$(if $(COVERAGE),--coverage -fprofile-update=atomic -DCOVERAGE))
LIBRARY_FLAGS := $(if $(SANITIZE),-O1 -g1,$(OPTIMIZED)) $(LTO) $(if $(RELEASE),,-DAVX2=$(AVX2)) \
	-fPIC -fvisibility=hidden -pthread -ftls-model=initial-exec -Isimulator -I$(SIMULATOR)
# nodelete: its threads, its signal handlers and what it does at the end of the process outlive a
# dlclose, so the library stays loaded. relro and now: its table of functions is read-only, so a
# program cannot put one of its own there.
LINKER_FLAGS := -shared -pthread -Wl,-soname,libcudart.so.13 -Wl,-Bsymbolic \
	-Wl,-z,nodelete,-z,relro,-z,now \
	-Wl,--version-script=simulator/libcudart.map $(if $(SANITIZE),,-Wl,-z,defs)

# Said once, before the first of its files is compiled; and every five seconds how many are.
$(SIMULATOR)/objects: | build/cuda/found
	@echo "Compiling the simulated device into $(SIMULATOR)." && mkdir -p $@ && touch $@/said
$(OBJECTS): | $(SIMULATOR)/objects
SAID = find $(SIMULATOR)/objects/said -not -newermt '-5 seconds' 2>/dev/null
SAY_HOW_MANY = [ -z "$$($(SAID))" ] || { touch $(SIMULATOR)/objects/said && \
	echo "  $$(find $(SIMULATOR)/objects -name '*.o' | wc -l) of $(words $(OBJECTS)) files"; }

# A compiler without its link-time optimizer links the same objects without it.
$(LIBRARY): $(OBJECTS) simulator/libcudart.map
	@link() { $(CC) $(OPTIMIZED) "$$@" $(SANITIZED) $(LINKER_FLAGS) $(OBJECTS) -lm -ldl \
		-o $@.$$$$; }; \
	{ link $(LTO) 2>/dev/null || link -fno-lto; } && mv $@.$$$$ $@ && \
	rm -f $(SIMULATOR)/objects/said

$(SIMULATOR)/objects/%.o: simulator/%.c build/cuda/found simulator/build.mk
	@mkdir -p $(@D)
	@$(CC) $(C_FLAGS) $(LIBRARY_FLAGS) $(SANITIZED) -isystem build/cuda/include \
		-MMD -MP -MT $@ -MF $@.$$$$.d -c $< -o $@.$$$$ && \
		mv $@.$$$$.d $(@:.o=.d) && mv $@.$$$$ $@ && $(SAY_HOW_MANY)
-include $(wildcard $(OBJECTS:.o=.d))

# The functions of the real library that are not modeled: its symbols less the list of calls; and
# those that CUDA 13.1 to 13.5 added.
$(SIMULATOR)/objects/api/unmodeled.o: $(SIMULATOR)/unmodeled.inc
$(SIMULATOR)/unmodeled.inc: simulator/api/calls.def simulator/api/libcudart-symbols.txt \
		simulator/api/newer-symbols.txt | \
		build/cuda/found
	@mkdir -p $(@D)
	@awk -F '[(,)]' 'FNR == NR { if (/^[A-Z]/) { known[$$2]; known[$$2 twin[$$1]] } } \
		FNR != NR && !($$1 in known) { print "UNMODELLED(" $$1 ")" } \
		BEGIN { twin["CALL_PTSZ"] = twin["CALL_LAUNCH"] = "_ptsz"; \
			twin["CALL_PTDS"] = "_ptds" }' $^ \
		>$@.$$$$ && mv $@.$$$$ $@
