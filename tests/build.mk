# How the programs are built that only the tests run. Part of the Makefile.

FOR_SIMULATOR := $(C_FLAGS) $(SANITIZED) -isystem build/cuda/include

# A mutant is a solution with one mistake: tests/lessons/NN_name/mutants/MISTAKE.patch makes
# build/mutants/NN_name/MISTAKE.c, and `make solution-04 MUTANT=MISTAKE` runs one. They
# are kept: reports name their lines.
define mutants_of_a_lesson
.PRECIOUS: build/mutants/$(1)/%.c
build/mutants/$(1)/%.c: tests/lessons/$(1)/mutants/%.patch solutions/$(1).c
	@bash tools/mutant.sh $$< $$@
build/mutants/$(1)/%.c:
	@bash tools/mutant.sh tests/lessons/$(1)/mutants/$$*.patch
endef
$(foreach name,$(LESSONS),$(eval $(call mutants_of_a_lesson,$(name))))

# A lesson's file as it is delivered, which the book shows whatever a student has made of it. The
# patch is made anew by: make starters
build/starters/%.c: tests/lessons/%/starter.patch solutions/%.c
	@tools/mutant.sh $< $@
.PRECIOUS: build/starters/%.c
.PHONY: starters
starters:
	@$(foreach name,$(LESSONS),tools/starter.sh $(name) && ) true

# The rules of each lesson's check as tests for Bats.
build/rules/%.bats: tests/lessons/%/check.py tests/grading/rules.sh
	@bash tests/grading/rules.sh $* $@

# A warning is an error here: a test would not see that of a program built before.
$(SIMULATOR)/mutants/%: build/mutants/%.c $(SHARED) $(LIBRARY)
	@bash tools/compile.sh $(CC) $(FOR_SIMULATOR) -g1 -Werror \
		-Wno-unused-function $< -o $@ $(LIBRARY) -lm -pthread -Wl,-rpath,'$$ORIGIN/../..'

$(SIMULATOR)/starters/%: build/starters/%.c $(SHARED) $(LIBRARY)
	@tools/compile.sh $(CC) $(FOR_SIMULATOR) -g1 -Werror \
		-Wno-unused-function $< -o $@ $(LIBRARY) -lm -Wl,-rpath,'$$ORIGIN/..'

# Each litmus program NAME, and its incorrect variant NAME_wrong. They are hundreds, so their
# headers are compiled once, nothing is optimized, and a new library does not build them again.
LITMUS := $(SIMULATOR)/simulator/tests/litmus
LITMUS_FLAGS := $(FOR_SIMULATOR) -Werror -g1 -O0 -pthread
$(LITMUS)/litmus.h.gch: simulator/tests/litmus/litmus.h $(SHARED) build/cuda/found
	@mkdir -p $(@D) && cp $< $@.$$$$.h && mv $@.$$$$.h $(@D)/litmus.h
	@$(CC) $(LITMUS_FLAGS) -x c-header $< -o $@.$$$$ && mv $@.$$$$ $@

LITMUS_COMPILED = $(LITMUS_FLAGS) -include $(LITMUS)/litmus.h $< -o $@.$$$$ $(LIBRARY) \
	-Wl,-rpath,'$$ORIGIN/../../..' && mv $@.$$$$ $@
$(LITMUS)/%: simulator/tests/litmus/%.c $(LITMUS)/litmus.h.gch | $(LIBRARY)
	@$(CC) $(LITMUS_COMPILED)
$(LITMUS)/%_wrong: simulator/tests/litmus/%.c $(LITMUS)/litmus.h.gch | $(LIBRARY)
	@$(CC) -DWRONG $(LITMUS_COMPILED)

# The random programs' model works on large sets.
$(LITMUS)/random: LITMUS_FLAGS += -O2
$(LITMUS)/random $(LITMUS)/ipc_random: simulator/base/hazards.def
$(LITMUS)/random: $(addprefix simulator/tests/litmus/,random_model.h node_set.h hazard_text.h)

# Test programs include the headers beside them, and those of simulator/tests/unit.
TEST_SOURCES := $(wildcard simulator/tests/unit/*.c simulator/tests/litmus/ipc_*.c)
TEST_HEADERS := $(wildcard simulator/tests/unit/*.h simulator/tests/litmus/*.h)
TEST_HEADERS += simulator/tests/facts/messages.h
$(TEST_SOURCES:%.c=$(SIMULATOR)/%): $(TEST_HEADERS)

# A test that looks inside is linked with the simulated device's own parts.
$(SIMULATOR)/simulator/tests/unit/inside_%: simulator/tests/unit/inside_%.c $(SHARED) $(OBJECTS)
	@bash tools/compile.sh $(CC) $(FOR_SIMULATOR) $(if $(COVERAGE),--coverage) -fno-lto \
		-Isimulator $< -o $@ $(OBJECTS) -lm -pthread -ldl

PROBES := $(basename $(wildcard simulator/tests/facts/*.c))
$(PROBES:%=$(SIMULATOR)/%) $(PROBES:%=build/gpu/%): $(wildcard simulator/tests/facts/*.h)

# One program for the checks, wherever its source lies: LESSON=FILE.c PROGRAM=FILE. With
# INSPECT="NN_name..." its object must be what that lesson needs. Nothing in it takes the place of a
# library's function. Reports need its lines and the names of its functions, but no variables.
FOR_CHECKS = $(FOR_SIMULATOR) -g1
.PHONY: program
program:
	@CHECK_INSPECT="$(INSPECT)" bash tests/grading/object.sh "$(LESSON)" "$(PROGRAM)" $(LIBRARY) \
		$(CC) $(FOR_CHECKS)

# What a grader needs to know, a line each: the lessons, and the words of the command above without
# its files.
.PHONY: grader
grader:
	@printf 'lesson %s\n' $(LESSONS)
	@printf 'compiler %s\n' $(CC) $(FOR_CHECKS)

# On a GPU.
build/gpu/mutants/%: build/mutants/%.c $(SHARED) build/gpu/kernels.o
	@bash tools/compile.sh $(CC) $(C_FLAGS) -isystem build/gpu/include $< -o $@ \
		build/gpu/kernels.o -Lbuild/gpu/lib -lcudart -lstdc++ -lm -pthread \
		-Wl,-rpath,'$$ORIGIN/../../lib'
