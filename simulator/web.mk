# Builds the simulated device for web pages, docs/live/live.wasm. Included by the Makefile. The
# repository contains the result, so only `make live` needs the compiler. It consists of the rooms
# of simulator/, with os/web/ instead of os/ (except os/common.c) and without kernels that nvcc
# built and the driver API; the pool bench (docs/live/bench.c); the race of the first page
# (docs/live/days.c); and the lessons whose manifest allows it, because they need no second device,
# process, or thread: each unfinished, solved, and with the mistakes that the manifest names.
# Similar programs are next to each other, which compresses well.
LIVE := docs/live/live.wasm
LIVE_PROGRAMS := docs/live/bench docs/live/days $(shell tools/live_programs.sh)
LIVE_SOURCES := $(filter-out $(addprefix simulator/,os/% ptx/% module/% api/driver_% \
	$(addprefix run/,nvcc_kernel.c device_runtime.c kernel_library.c)), \
	$(wildcard simulator/*/*.c)) \
	simulator/os/common.c $(wildcard simulator/os/web/*.c) docs/live/main.c docs/live/no_kernels.c
LIVE_OBJECTS := $(LIVE_SOURCES:%.c=build/live/objects/%.o)
LIVE_PROGRAM_OBJECTS := $(LIVE_PROGRAMS:%=build/live/programs/%.o)
EMCC := bash tools/emcc.sh

# Addresses have 64 bits, as outside of a browser, and are lowered to the 32 bits of browsers. There
# is one thread. The simulated device is compiled for size, because the bench may have 181 KB.
LIVE_FLAGS := -sMEMORY64=2 -Os -mbulk-memory -D_Thread_local=
LIVE_COMPILE = @mkdir -p $(@D) && $(EMCC) $(LIVE_FLAGS) -Oz -std=gnu11 -Wall -Wextra -Isimulator \
	-Ilessons -Ibuild/live -I$(SIMULATOR) -isystem build/cuda/include -MMD -MP -c $< -o $@
LIVE_LINK := -sSTANDALONE_WASM=1 -sWASM_BIGINT=1 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB \
	-sAUTO_NATIVE_LIBRARIES=0 -sDEFAULT_TO_CXX=0

.PHONY: live
live: build/live/live.wasm
	@tools/live_sources.sh >docs/live/sources.txt
	@if cmp -s $< $(LIVE); then \
		echo "$(LIVE) is as it was."; \
	else \
		install -m 644 $< $(LIVE).new && mv $(LIVE).new $(LIVE) && \
		echo "$(LIVE) is new: $$(wc -c <$<) bytes, $$(gzip -9 <$< | wc -c) compressed."; \
	fi
build/live/live.wasm: $(LIVE_OBJECTS) $(LIVE_PROGRAM_OBJECTS)
	@$(EMCC) $(LIVE_FLAGS) $(LIVE_LINK) $^ -o $@

build/live/objects/%.o: %.c simulator/web.mk build/live/emcc build/cuda/found
	$(LIVE_COMPILE)
build/live/objects/simulator/api/unmodeled.o: $(SIMULATOR)/unmodeled.inc
$(LIVE_OBJECTS): | $(CALLS)
build/live/objects/docs/live/main.o: build/live/programs.inc

# Each program's main gets its own name, and its exit ends the simulation first.
live_symbol = live_$(subst /,_,$(1))
build/live/programs/%.o: %.c simulator/web.mk build/live/sites.h build/live/emcc build/cuda/found
	$(LIVE_COMPILE) -Dmain=$(call live_symbol,$*) -Dexit=live_exit \
		$(if $(filter docs/%,$<),,-include build/live/sites.h)

build/live/programs.inc: Makefile simulator/web.mk $(wildcard tests/lessons/*/manifest.ini)
	@mkdir -p $(@D)
	@printf 'PROGRAM(%s)\n' $(foreach p,$(LIVE_PROGRAMS),\
		'$(call live_symbol,$p), "$(p:build/%=%)"') >$@

# Each call of a lesson stores its position first (simulator/os/web/site.h).
build/live/sites.h: simulator/api/calls.def simulator/web.mk
	@mkdir -p $(@D)
	@{ echo '#include "kernels.h"'; echo '#include "os/os.h"'; \
	echo '#include "os/web/site.h"'; \
	sed -nE 's/^(CALL|LAUNCH)\((cuda\w+|launch_\w+),.*/\2/p' $< | awk '{ \
		print "#define " $$1 "(...) (OS_WEB_STANDS_HERE(\"" $$1 "(\" #__VA_ARGS__ \")\"), \\"; \
		print "    " $$1 "(__VA_ARGS__))" }'; } >$@

build/live/emcc: FORCE
	@bash tools/setup.sh live
-include $(wildcard $(LIVE_OBJECTS:.o=.d) $(LIVE_PROGRAM_OBJECTS:.o=.d))
