# How the programs are built that only the tests run. Part of the Makefile.

# tests/lessons/*/variants.txt says how a variant differs from a solution, or from a case of the
# clinic. `make solution-04 MUTANT=NAME` runs a mutant, which has one mistake; a starter is a
# lesson's file as it is delivered; `make repaired-03` runs a repair. These files are kept, because
# reports name their lines.
VARIANT = @python3 -SB tools/variants.py make $@
define mutants_of_a_room
.PRECIOUS: build/mutants/$(1)/%.c
build/mutants/$(1)/%.c: tests/lessons/$(1)/variants.txt $(2) tools/variants.py
	$$(VARIANT)
endef
$(foreach name,$(LESSONS),$(eval $(call mutants_of_a_room,$(name),solutions/$(name).c)))
$(foreach name,$(CASES),$(eval $(call mutants_of_a_room,clinic/$(name),\
	docs/clinic/$(name)_wrong.c)))

.PRECIOUS: build/starters/%.c build/repairs/%.c
build/starters/%.c: tests/lessons/%/variants.txt solutions/%.c tools/variants.py
	$(VARIANT)
build/repairs/%.c: tests/lessons/clinic/%/variants.txt docs/clinic/%_wrong.c tools/variants.py
	$(VARIANT)

# Writes the starters in variants.txt again, after a lesson's file or its solution was changed.
.PHONY: starters
starters:
	@python3 -SB tools/variants.py starters

# A warning is an error here, because a test would not see the warnings of a program that is built
# already.
define programs_of_variants
$$(SIMULATOR)/$(1)/%: build/$(1)/%.c $$(SHARED) $$(LIBRARY)
	@bash tools/compile.sh $$(CC) $$(FOR_SIMULATOR) -g1 -Werror -Wno-unused-function $$< -o $$@ \
		$$(ON_SIMULATOR)
build/gpu/$(1)/%: build/$(1)/%.c $$(SHARED) build/gpu/kernels.o
	@bash tools/compile.sh $$(CC) $$(FOR_GPU) $$< -o $$@ $$(ON_GPU)
endef
$(foreach kind,mutants starters repairs,$(eval $(call programs_of_variants,$(kind))))

# Each litmus program FILE, and FILE_wrong with the incorrect variants of its cases. Nothing is
# optimized, and a new library does not build them again.
LITMUS := $(SIMULATOR)/simulator/tests/litmus
LITMUS_LEVEL := -O0
LITMUS_HEADERS := simulator/tests/litmus/litmus.h simulator/tests/cases.h $(SHARED)
LITMUS_COMPILED = $(FOR_SIMULATOR) -Werror -g1 $(LITMUS_LEVEL) $< -o $@ $(ON_SIMULATOR)
$(LITMUS)/%: simulator/tests/litmus/%.c $(LITMUS_HEADERS) | $(LIBRARY)
	@bash tools/compile.sh $(CC) $(LITMUS_COMPILED)
$(LITMUS)/%_wrong: simulator/tests/litmus/%.c $(LITMUS_HEADERS) | $(LIBRARY)
	@bash tools/compile.sh $(CC) -DWRONG $(LITMUS_COMPILED)

build/gpu/simulator/tests/litmus/%_wrong: simulator/tests/litmus/%.c $(LITMUS_HEADERS) \
		build/gpu/kernels.o
	@bash tools/compile.sh $(CC) $(FOR_GPU) -DWRONG $< -o $@ $(ON_GPU)

# The random programs' model works on large sets.
$(LITMUS)/random: LITMUS_LEVEL := -O2
$(LITMUS)/random: simulator/base/hazards.def

TEST_SOURCES := $(wildcard simulator/tests/unit/*.c) simulator/tests/litmus/random.c
TEST_HEADERS := $(wildcard simulator/tests/*.h simulator/tests/*/*.h)
$(TEST_SOURCES:%.c=$(SIMULATOR)/%): $(TEST_HEADERS)

# A test of internal functions is linked with the simulated device's object files.
$(SIMULATOR)/simulator/tests/unit/inside_%: simulator/tests/unit/inside_%.c $(SHARED) $(OBJECTS)
	@bash tools/compile.sh $(CC) $(FOR_SIMULATOR) $(if $(COVERAGE),--coverage) -fno-lto \
		-Isimulator $< -o $@ $(OBJECTS) -lm -pthread -ldl

PROBES := $(basename $(wildcard simulator/tests/facts/*.c))
$(PROBES:%=$(SIMULATOR)/%) $(PROBES:%=build/gpu/%): \
	$(wildcard simulator/tests/facts/*.h simulator/tests/*.h)

# One program as checks compile it, wherever its source lies: LESSON=FILE.c PROGRAM=FILE. Nothing in
# it takes the place of a library's function. Reports need its lines and the names of its functions,
# but no variables.
FOR_CHECKS = $(FOR_SIMULATOR) -g1 $(shell $(CC) $(FILLED) -E -x c /dev/null >/dev/null 2>&1 && \
	echo $(FILLED))
# Variables without a value get a pattern, so that no answer is right by luck. gcc has this since
# version 12; where the compiler lacks it, check.py fills the program's stack.
FILLED := -ftrivial-auto-var-init=pattern
.PHONY: program
program:
	@bash tools/compile.sh $(CC) $(FOR_CHECKS) -fvisibility=hidden "$(LESSON)" -o "$(PROGRAM)" \
		$(LIBRARY) -lm -pthread

# What a grader needs to know: the words of the command above without its files, a line each.
.PHONY: grader
grader:
	@printf 'compiler %s\n' $(CC) $(FOR_CHECKS)
