# amn: streaming filters for model tensor files.
#
#   make            build the tools into bin/
#   make demo       set up a fresh machine, build, show the main job on a real sample
#   make check      set up, build, and run all tests
#   make install    into $(DESTDIR)$(PREFIX)
#   make bench      ratios to cat, and peak memory; never fails on a figure
#   make bench-huge  an output of 1.3 times the memory; minutes, and 2.9 times the memory of disk
#   make faults     every allocation and system call of a table of jobs fails, one at a time; `make check` takes some
#   make fuzz       broken copies of the corpus through the sanitized tools; SECONDS=600, one minute by default
#   make peers      compare with the canonical Python libraries (pip, several GB)
#
# CC, CFLAGS, LDFLAGS as usual; SANITIZE=1 builds with AddressSanitizer and UBSan into its own obj/ and bin/;
# WERROR=1 turns warnings into errors.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man

CFLAGS  = -O2 -g
PKGS    = zlib jansson
HEADERS = libarchive                    # loaded when it is needed, not linked
PKG_CONFIG = pkg-config

variant =
ifdef SANITIZE
variant = -sanitize
override CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=address,undefined
endif
ifdef WERROR
override CFLAGS += -Werror
endif

obj = obj$(variant)
bin = bin$(variant)

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -pthread -ffp-contract=off \
	-Ilib/common $(shell $(PKG_CONFIG) --cflags $(PKGS) $(HEADERS)) $(CFLAGS)
ALL_LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -pthread -ldl

tools   = amn-parse amn-inspect amn-remember
links   = amn-info=amn-inspect amn-dequantize=amn-remember

lib_src  = $(wildcard lib/common/*/*.c lib/common/kernel/*/*.c)
lib_obj  = $(lib_src:%.c=$(obj)/%.o)
tool_src = $(foreach t,$(tools),$(wildcard $(t)/*.c)) $(front_src)
front_src = $(wildcard lib/amn/*.c)
unit_src = $(wildcard test/unit/test_*.c)
unit_bin = $(unit_src:%.c=$(obj)/%)

machine  = $(shell $(CC) -dumpmachine 2>/dev/null)
# The library that makes calls fail is written against GNU libc; elsewhere its test is skipped.
fault_so = $(if $(findstring musl,$(machine)),,$(if $(findstring linux,$(machine)),$(obj)/test/faults/faults.so))

all: $(tools:%=$(bin)/%) $(bin)/amn $(foreach l,$(links),$(bin)/$(firstword $(subst =, ,$(l))))

# Kernels: one object per instruction set, picked at run time. Nothing else gets such a flag.
$(obj)/lib/common/kernel/%.o: kernel_flags = -O3
ifneq (,$(filter x86_64% amd64%,$(machine)))
$(obj)/lib/common/kernel/x86/avx2%.o: kernel_flags = -O3 -mavx2 -mf16c
$(obj)/lib/common/kernel/x86/avx512%.o: kernel_flags = -O3 -mavx2 -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi
endif

$(obj)/lib/common/source/libarchive.o: override CFLAGS += -DLIBARCHIVE_DIR='"$(shell $(PKG_CONFIG) --variable=libdir libarchive)"'

$(obj)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(kernel_flags) -MMD -MP -c -o $@ $<

$(obj)/libamn.a: $(lib_obj)
	@rm -f $@
	$(AR) rcs $@ $^

define tool_rule
$(bin)/$(1): $$(patsubst %.c,$(obj)/%.o,$$(wildcard $(1)/*.c)) $(obj)/libamn.a
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(ALL_LIBS)
endef
$(foreach t,$(tools),$(eval $(call tool_rule,$(t))))

$(bin)/amn: $(front_src:%.c=$(obj)/%.o) $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

define link_rule
$(bin)/$(1): $(bin)/$(2)
	ln -sf $(2) $$@
endef
$(foreach l,$(links),$(eval $(call link_rule,$(firstword $(subst =, ,$(l))),$(lastword $(subst =, ,$(l))))))

# The library's allocations come to this test, which lets one of them fail.
$(obj)/test/unit/test_memory: override LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

$(obj)/test/unit/%: test/unit/%.c $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itest/unit $(LDFLAGS) -MMD -MP -o $@ $< $(obj)/libamn.a $(ALL_LIBS)

$(obj)/test/helpers/%: test/helpers/%.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra $(if $(WERROR),-Werror) -O2 -g -o $@ $<

$(obj)/test/faults/faults.so: test/faults/faults.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra $(if $(WERROR),-Werror) -O2 -g -fPIC -shared -o $@ $< -ldl

setup:
	sh test/setup.sh build

demo: setup
	$(MAKE) all
	sh test/demo.sh $(bin)

check:
	sh test/setup.sh build test
	$(MAKE) all unit
	sh test/run.sh $(bin) $(obj)

unit: $(unit_bin) $(fault_so) $(obj)/test/helpers/peak-memory

bench: all
	python3 test/bench.py --all $(bin)

bench-huge: all
	python3 test/bench-huge.py $(bin)

faults: all unit
	python3 test/faults/run $(bin) $(obj)/test/faults/faults.so --full

fuzz:
	$(MAKE) SANITIZE=1 all
	python3 test/fuzz.py bin-sanitize $(SECONDS)

peers: all
	sh test/peers/run.sh $(bin)

man_pages = $(wildcard man/*.[157])

install: all
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1" "$(DESTDIR)$(MANDIR)/man5" "$(DESTDIR)$(MANDIR)/man7"
	for t in $(tools) amn; do install -m 755 "$(bin)/$$t" "$(DESTDIR)$(BINDIR)/$$t" || exit 1; done
	for l in $(links); do ln -sf "$${l#*=}" "$(DESTDIR)$(BINDIR)/$${l%%=*}" || exit 1; done
	for m in $(man_pages); do install -m 644 "$$m" "$(DESTDIR)$(MANDIR)/man$${m##*.}/" || exit 1; done
	for l in $(links); do ln -sf "$${l#*=}.1" "$(DESTDIR)$(MANDIR)/man1/$${l%%=*}.1" || exit 1; done

uninstall:
	for t in $(tools) amn; do rm -f "$(DESTDIR)$(BINDIR)/$$t"; done
	for l in $(links); do rm -f "$(DESTDIR)$(BINDIR)/$${l%%=*}" "$(DESTDIR)$(MANDIR)/man1/$${l%%=*}.1"; done
	for m in $(man_pages); do rm -f "$(DESTDIR)$(MANDIR)/man$${m##*.}/$${m#man/}"; done

clean:
	rm -rf obj obj-sanitize bin bin-sanitize

.PHONY: all setup demo check unit bench bench-huge faults fuzz peers install uninstall clean
-include $(lib_obj:.o=.d) $(tool_src:%.c=$(obj)/%.d) $(unit_bin:%=%.d)
