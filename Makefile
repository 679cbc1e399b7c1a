# amn: streaming filters for model tensor files.
#
#   make            build the tools into bin/
#   make demo       set up a fresh machine, build, show the main job on a real sample
#   make setup      install what building and testing need; nothing else installs anything, unless this text says so
#   make check      build, and run the tests: minutes. `make setup check` does both
#   make check-full  the tests that take longer, and are not of check: growth, memory, matrices, faults ...
#   make install    into $(DESTDIR)$(PREFIX), without debug symbols; STRIP=: keeps them
#   make uninstall  what it installed
#   make help       this text
#   make bench      ratios to the least time for the output, CPU time, peak memory and input read; never fails on a figure. BASE=DIR:
#                   runs another build's tools in turn, and prints the ratios to these
#   make bench-compare  amn and other tools on the same jobs; see test/bench/bench_compare.py for where it finds these
#   make bench-huge  an output of 1.3 times the memory; minutes, and 2.9 times the memory of disk
#   make faults     every allocation and system call of a table of jobs fails, one at a time; `make check-full` takes some
#   make determinism  every decoder with every encoder, several times each; `make check-full` takes a sample
#   make fuzz       broken copies of the corpus through the sanitized tools; SECONDS=600, one minute by default
#   make fuzz-NAME  libFuzzer on test/fuzz/fuzz_NAME.c, as long; new finds go to test/fuzz/found/NAME. `make fuzz-keep-NAME`
#                   makes of them, and of the corpus, the smallest corpus that reaches as much
#   make check-fuzz SANITIZE=1 CC=clang   each of these targets once over its corpus
#   make check-engines  the scripts in contrib/ with GNU parallel, Slurm, S3 and a Job's schema, as root; installs what it needs,
#                   Python packages into $(obj)/engines
#   make peers      compare with the canonical Python libraries (pip, several GB)
#   make dist       the source, dist/amn-VERSION.tar.gz
#   make deb        a Debian package, dist/amn_VERSION-1_ARCH.deb
#   make static     tools that need no library, dist/amn-VERSION-linux-MACHINE.tar.gz
#   make check-packages  these three, each installed into a fresh Debian of its own and tried, and the static tools on their
#                   small stacks; as root, minutes
#
# CC, CFLAGS, LDFLAGS as usual; SANITIZE=1 builds with AddressSanitizer and UBSan into its own obj/ and bin/, STATIC=1
# with musl and static libraries, FUZZ=1 with clang for libFuzzer; WERROR=1 turns warnings into errors.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR  = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d

STRIP   = strip

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
ifdef FUZZ
variant = -fuzz
CC = clang
override CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=address,undefined
endif
ifdef WERROR
override CFLAGS += -Werror
endif
ifdef STATIC                            # with libraries of our own, which are built first
variant = -static
CC = musl-gcc
libraries = obj-static/libraries
PKGS = zlib jansson libarchive
HEADERS =
PKG_CONFIG = env PKG_CONFIG_LIBDIR=obj-static/sysroot/lib/pkgconfig pkg-config --static
override CFLAGS += -DLIBARCHIVE_LINKED -DLIBCRYPTO_LINKED
linked = obj-static/sysroot/lib/libcrypto.a
override LDFLAGS += -static -s
endif

obj = obj$(variant)
bin = bin$(variant)

# needs THINGS,REMEDY: ends with a line that names those things, or things of those groups, that are missing.
needs = @lacking=$$(PKG_CONFIG='$(PKG_CONFIG)' sh test/setup.sh --missing $(1)); [ -z "$$lacking" ] || { \
	echo "make $@: not found: $$lacking; $(2)" >&2; exit 1; }

# The libraries are looked for by the first recipe that compiles, which also asks pkg-config, once for all: make clean,
# setup and the like go without.
lacking    = $(shell PKG_CONFIG='$(PKG_CONFIG)' sh test/setup.sh --missing pkg-config $(PKGS) $(HEADERS))
found      = $(if $(lacking),$(error not found: $(lacking); 'make setup' installs what is missing))
PKG_CFLAGS = $(found)$(eval PKG_CFLAGS := $$(shell $(PKG_CONFIG) --cflags $(PKGS) $(HEADERS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell $(PKG_CONFIG) --libs $(PKGS)))$(PKG_LIBS)

# Threads have small stacks (base/thread.h): no function may take more than 8 KiB of one, and one that steps over the guard
# page is caught by it. Sanitizers make frames larger.
frame_flags := $(if $(SANITIZE)$(FUZZ),,-Wframe-larger-than=8192) $(shell \
	$(CC) -Werror -fstack-clash-protection -S -x c -o /dev/null /dev/null 2>/dev/null && echo -fstack-clash-protection)

# probe FLAGS: these flags, if the compiler and the linker know them, and the program runs: packed addresses also need a loader
# that knows them.
comma = ,
probe = $(shell { t=$$(mktemp) && echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -o $$t -x c - && $$t && echo '$(1)'; \
	rm -f "$$t"; } 2>/dev/null)

# A program has only the functions and tables that it reaches. It has no unwind tables, since nothing throws and debuggers have
# better ones, and addresses in its tables are packed. Outside of kernels no loop is worth the padding before it, and rooms that see
# names and numbers of a model, or only call kernels, are compiled for size.
ifeq (,$(SANITIZE)$(FUZZ))
size_flags  := -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
align_flags := $(call probe,-fno-align-functions -fno-align-jumps -fno-align-loops)
cold_flags  := $(patsubst -O2,-Os,$(filter -O2,$(CFLAGS)))
link_flags  := $(call probe,-Wl$(comma)--gc-sections) $(call probe,-Wl$(comma)-z$(comma)pack-relative-relocs)
endif

# Flags that keep the results of floating-point operations come after the user's; base/host.h refuses what they cannot undo.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -pthread -include lib/common/base/host.h \
	-Ilib/common $(PKG_CFLAGS) $(size_flags) $(CFLAGS) -fno-unsafe-math-optimizations -ffp-contract=off
ifneq (,$(filter -Ofast -ffast-math -funsafe-math-optimizations,$(LDFLAGS)))
$(error LDFLAGS: gcc links code for $(LDFLAGS) that flushes subnormals to zero, which changes output bytes)
endif
ALL_LIBS = $(PKG_LIBS) $(linked) -lm -pthread -ldl

tools   = amn-parse amn-inspect amn-remember amn-forget amn-convert
links   = amn-info=amn-inspect amn-dequantize=amn-remember amn-quantize=amn-forget
link_names  = $(foreach l,$(links),$(firstword $(subst =, ,$(l))))
completions = $(addprefix $(obj)/completions/,amn.bash _amn amn.fish)     # each for all the commands

# Pages as text, for machines without man and mandoc; none where nothing here renders them.
man_pages   = $(wildcard man/*.[157])
renderer   := $(shell if command -v mandoc; then echo -T ascii; elif command -v nroff; then echo -mdoc -Tascii -c -rLL=78n; fi)
page_texts  = $(if $(renderer),$(man_pages:%=$(obj)/%.txt))

lib_src  = $(wildcard lib/common/*/*.c lib/common/*/*/*.c)
lib_obj  = $(lib_src:%.c=$(obj)/%.o) $(obj)/families.o $(obj)/module_names.o
families = $(sort $(wildcard families/*.family))        # compiled in, packed
names    = $(sort $(wildcard families/names/*.names))   # compiled in, as a C table
tool_src = $(foreach t,$(tools) lib/amn lib/completions,$(wildcard $(t)/*.c))
unit_src = $(wildcard test/unit/test_*.c)
unit_bin = $(unit_src:%.c=$(obj)/%)

machine := $(shell $(CC) -dumpmachine 2>/dev/null)
# The library that makes calls fail is written against GNU libc; elsewhere its test is skipped.
fault_so = $(if $(STATIC)$(findstring musl,$(machine)),,\
	$(if $(findstring linux,$(machine)),$(obj)/test/faults/faults.so))

all: $(tools:%=$(bin)/%) $(bin)/amn $(link_names:%=$(bin)/%) $(completions) $(page_texts)

# Kernels: one object per instruction set, picked at run time. Nothing else gets such a flag. Where their local variables are is
# not recorded: it takes half of the time to compile them.
kernel_debug = $(if $(findstring -g,$(CFLAGS)),-g1)
$(obj)/lib/common/kernel/%.o: kernel_flags = -O3 $(kernel_debug)
ifneq (,$(filter x86_64% amd64%,$(machine)))
x86_flags = $(kernel_debug) -mavx2 -mf16c -mfma -mpclmul
$(obj)/lib/common/kernel/x86/%.o: kernel_flags = -O3 $(x86_flags)
# Types of a fork: half the code, for at most 15 % of the time.
$(obj)/lib/common/kernel/x86/avx2_iqk.o: kernel_flags = -O2 $(x86_flags)
endif

cold = adapter catalog cli command container family hf model plan report scan scheme source
$(foreach room,$(cold),$(obj)/lib/common/$(room)/%.o): room_flags = $(cold_flags)

# amn-parse decodes weights only to hash them, which takes most of the time: it has decoders of blocks of its own, of half the size,
# for at most 6 % of the time.
ifeq (,$(SANITIZE)$(FUZZ))
amn-parse_own = $(patsubst %,$(obj)/amn-parse/kernel/%.o,x86/avx2_blocks x86/avx2_iqk ref/fp4_blocks ref/iq4 ref/iq_grids \
	ref/iq_quants ref/iqk ref/iqk_interleaved ref/iqk_rows ref/k_quants ref/q_blocks ref/repack ref/ternary ref/trellis)
endif
$(obj)/amn-parse/kernel/%.o: kernel_flags = -O2 $(kernel_debug) $(align_flags)
$(obj)/amn-parse/kernel/x86/%.o: kernel_flags = -O2 $(x86_flags) $(align_flags)

$(obj)/amn-parse/kernel/%.o: lib/common/kernel/%.c Makefile $(libraries)
	@mkdir -p $(@D)
	$(CC) $(frame_flags) $(ALL_CFLAGS) $(kernel_flags) -MMD -MP -c -o $@ $<

$(obj)/lib/common/source/libarchive.o: override CFLAGS += -DLIBARCHIVE_DIR='"$(shell $(PKG_CONFIG) --variable=libdir libarchive)"'

$(obj)/%.o: %.c Makefile $(libraries)
	@mkdir -p $(@D)
	$(CC) $(frame_flags) $(ALL_CFLAGS) $(or $(kernel_flags),$(align_flags) $(room_flags)) -MMD -MP -c -o $@ $<

$(obj)/families.c: lib/package/packed-families families $(families)
	@mkdir -p $(@D)
	sh lib/package/packed-families $(families) >$@.new && mv $@.new $@

$(obj)/module_names.c: lib/package/names-table families/names $(names)
	@mkdir -p $(@D)
	sh lib/package/names-table $(names) >$@.new && mv $@.new $@

$(obj)/families.o $(obj)/module_names.o: $(obj)/%.o: $(obj)/%.c $(libraries)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

obj-static/libraries: lib/package/static-libraries
	lib/package/static-libraries $(@D)
	touch $@

$(obj)/libamn.a: $(lib_obj)
	@rm -f $@
	$(AR) rcs $@ $^

define tool_rule
$(bin)/$(1): $$(patsubst %.c,$(obj)/%.o,$$(wildcard $(1)/*.c)) $$($(1)_own) $(obj)/libamn.a
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(link_flags) $$(LDFLAGS) -o $$@ $$^ $$(ALL_LIBS)
endef
$(foreach t,$(tools),$(eval $(call tool_rule,$(t))))

$(bin)/amn: $(patsubst %.c,$(obj)/%.o,$(wildcard lib/amn/*.c)) $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(link_flags) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

define link_rule
$(bin)/$(1): $(bin)/$(2)
	ln -sf $(2) $$@
endef
$(foreach l,$(links),$(eval $(call link_rule,$(firstword $(subst =, ,$(l))),$(lastword $(subst =, ,$(l))))))

# Completions for shells, made by a program that reads the same tables as the tools.
$(obj)/completions/make: $(obj)/lib/completions/main.o $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(link_flags) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(obj)/completions/amn.bash: in_shell = bash
$(obj)/completions/_amn: in_shell = zsh
$(obj)/completions/amn.fish: in_shell = fish
$(completions): $(obj)/completions/make
	$< $(in_shell) >$@.new && mv $@.new $@

# Without the overstrikes that stand for bold and underlined characters.
$(obj)/man/%.txt: man/%
	@mkdir -p $(@D)
	$(renderer) $< >$@.new && sed "s/.$$(printf '\b')//g" $@.new >$@ && rm $@.new

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

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

setup:
	sh test/setup.sh build test

demo:
	sh test/setup.sh build
	$(MAKE) all
	sh test/demo.sh $(bin)

# One process for each processor, unless -j says otherwise.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))

check check-full: $(filter setup,$(MAKECMDGOALS))
	$(call needs,build test,'make setup' installs what is missing)
	$(MAKE) $(parallel) all unit
	sh test/run.sh $(bin) $(obj) $(@:check-%=%)

unit: $(completions) $(unit_bin) $(fault_so) $(obj)/test/helpers/peak-memory

$(obj)/test/bench-encoders $(obj)/test/bench-floor: $(obj)/test/bench-%: test/bench/bench_%.c $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(obj)/libamn.a $(ALL_LIBS)

bench: all $(obj)/test/bench-encoders $(obj)/test/bench-floor
	python3 test/bench/bench.py --all $(if $(BASE),--base "$(BASE)") $(bin) $(obj)

bench-compare: all
	python3 test/bench/bench_compare.py $(bin)

bench-huge: all
	python3 test/bench/bench-huge.py $(bin)

fixtures:
	test/make/fixtures $(obj)/fixtures

faults: all unit fixtures
	AMN_FIXTURES=$(obj)/fixtures python3 test/faults/run $(bin) $(obj)/test/faults/faults.so --full

determinism: all fixtures
	test/determinism $(bin) $(obj)/fixtures --full

fuzz:
	$(MAKE) SANITIZE=1 all
	python3 test/fuzz.py bin-sanitize $(SECONDS)

# Coverage-guided, in one process. The last lines tell the executions.
fuzz_flags = -print_final_stats=1 -timeout=20 -rss_limit_mb=2048 -artifact_prefix=test/fuzz/found/$*-
fuzz_found = test/fuzz/found/$* test/fuzz/corpus/$*

$(obj)/test/fuzz/%: test/fuzz/%.c $(obj)/libamn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itest/fuzz $(LDFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(obj)/libamn.a $(ALL_LIBS)

# Every target, and each once over its corpus. `make check-fuzz SANITIZE=1 CC=clang` links the library of that build.
check-fuzz: $(patsubst %.c,$(obj)/%,$(wildcard test/fuzz/fuzz_*.c))
	for f in $^; do c=test/fuzz/corpus/$${f##*_}; [ -d $$c ] || c=; $$f -runs=0 $$c >$(obj)/fuzz.log 2>&1 \
		|| { cat $(obj)/fuzz.log; exit 1; }; done

fuzz-%:
	$(MAKE) FUZZ=1 obj-fuzz/test/fuzz/fuzz_$*
	@mkdir -p $(fuzz_found)
	obj-fuzz/test/fuzz/fuzz_$* $(fuzz_flags) -max_total_time=$(or $(SECONDS),60) $(fuzz_found)

fuzz-keep-%:
	$(MAKE) FUZZ=1 obj-fuzz/test/fuzz/fuzz_$*
	rm -rf test/fuzz/found/$*-kept && mkdir -p test/fuzz/found/$*-kept $(fuzz_found)
	obj-fuzz/test/fuzz/fuzz_$* $(fuzz_flags) -set_cover_merge=1 -max_len=2048 test/fuzz/found/$*-kept $(fuzz_found)
	rm -rf test/fuzz/corpus/$* && mv test/fuzz/found/$*-kept test/fuzz/corpus/$*

# The folder of Python packages is made whole or not at all.
$(obj)/engines: test/engines/requirements.txt
	rm -rf $@
	python3 -m venv $@ && $@/bin/pip install -q -r $< || { rm -rf $@; exit 1; }
	touch $@

check-engines:
	sh test/setup.sh build test engines
	$(MAKE) $(parallel) all $(obj)/engines
	AMN_BIN=$(bin) AMN_ENGINES=$(CURDIR)/$(obj)/engines bats test/engines

peers: all
	sh test/peers/run.sh $(bin)

install: all
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1" "$(DESTDIR)$(MANDIR)/man5" "$(DESTDIR)$(MANDIR)/man7"
	for t in $(tools) amn; do install -m 755 "$(bin)/$$t" "$(DESTDIR)$(BINDIR)/$$t" || exit 1; done
	for t in $(tools) amn; do $(STRIP) "$(DESTDIR)$(BINDIR)/$$t" || exit 1; done
	for l in $(links); do ln -sf "$${l#*=}" "$(DESTDIR)$(BINDIR)/$${l%%=*}" || exit 1; done
	for m in $(man_pages); do install -m 644 "$$m" "$(DESTDIR)$(MANDIR)/man$${m##*.}/" || exit 1; done
	for l in $(links); do ln -sf "$${l#*=}.1" "$(DESTDIR)$(MANDIR)/man1/$${l%%=*}.1" || exit 1; done
	for t in $(page_texts); do \
		install -d "$(DESTDIR)$(PREFIX)/share/amn" && install -m 644 "$$t" "$(DESTDIR)$(PREFIX)/share/amn" || exit 1; \
	done
	for c in $(completions); do \
		case $$c in \
		*.bash) to="$(DESTDIR)$(BASHDIR)" name=amn end= ;; \
		*.fish) to="$(DESTDIR)$(FISHDIR)" name=amn.fish end=.fish ;; \
		*) to="$(DESTDIR)$(ZSHDIR)" name=_amn end= ;; \
		esac; \
		install -d "$$to" && install -m 644 "$$c" "$$to/$$name" || exit 1; \
		[ $$name = _amn ] && continue; \
		for t in $(tools) $(link_names); do ln -sf $$name "$$to/$$t$$end" || exit 1; done; \
	done

uninstall:
	for t in $(tools) amn; do rm -f "$(DESTDIR)$(BINDIR)/$$t"; done
	for l in $(links); do rm -f "$(DESTDIR)$(BINDIR)/$${l%%=*}" "$(DESTDIR)$(MANDIR)/man1/$${l%%=*}.1"; done
	for m in $(man_pages); do \
		rm -f "$(DESTDIR)$(MANDIR)/man$${m##*.}/$${m#man/}" "$(DESTDIR)$(PREFIX)/share/amn/$${m#man/}.txt"; \
	done
	[ ! -d "$(DESTDIR)$(PREFIX)/share/amn" ] || rmdir "$(DESTDIR)$(PREFIX)/share/amn"
	for t in $(tools) $(link_names) amn; do rm -f "$(DESTDIR)$(BASHDIR)/$$t" "$(DESTDIR)$(FISHDIR)/$$t.fish"; done
	rm -f "$(DESTDIR)$(ZSHDIR)/_amn"

# What a release is made of. $(version) is the tools' own; the time in archives is that of the last commit, or of what
# was unpacked, so that the same files give the same bytes. Root may pack what is another's.
out     = dist
version = $(or $(shell sed -n 's/^.define CLI_VERSION "\(.*\)".*/\1/p' lib/common/cli/cli.h),$(error no CLI_VERSION))
git     = git -c safe.directory='$(CURDIR)'
commit_time = $(shell [ -e .git ] && $(git) log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
epoch   = $(or $(SOURCE_DATE_EPOCH),$(commit_time))
archive = LC_ALL=C tar --format=ustar --sort=name --mtime=@$(epoch) --owner=0 --group=0 --numeric-owner \
	--mode=u+rwX,go+rX,go-w
for_package = on Debian 'sh test/setup.sh build package' installs it

dist:
	@[ -e .git ] || { echo "make dist: no git here, which alone knows what belongs to the source" >&2; exit 1; }
	mkdir -p $(obj) $(out)
	$(git) ls-files -z >$(obj)/dist-files
	$(archive) --null --no-recursion -T $(obj)/dist-files --transform 's,^,amn-$(version)/,S' -cf $(obj)/dist.tar
	gzip -9nc $(obj)/dist.tar >$(out)/amn-$(version).tar.gz

deb_tree = obj/deb/amn-$(version)
maintainer = $$(sed -n 's/^Maintainer: //p' lib/package/debian/control)

deb:
	$(call needs,compiler build-essential debhelper lintian pkg-config zlib jansson libarchive mandoc,$(for_package))
	rm -rf obj/deb && mkdir -p $(deb_tree) $(out)
	cp -R Makefile README.md CHANGELOG.md LICENSE amn-* families lib man test $(deb_tree)
	cp -R lib/package/debian $(deb_tree)
	printf '%s\n' 'amn ($(version)-1) unstable; urgency=medium' '' '  * See changelog.gz.' '' \
		" -- $(maintainer)  $$(date -Ru -d @$(epoch))" >$(deb_tree)/debian/changelog
	cd $(deb_tree) && env -u MAKEFLAGS -u MFLAGS SOURCE_DATE_EPOCH=$(epoch) dpkg-buildpackage -b -us -uc
	lintian --allow-root --fail-on error,warning obj/deb/amn_*.changes
	cp obj/deb/amn_*.deb $(out)

static_name = amn-$(version)-linux-$(firstword $(subst -, ,$(machine)))
static_doc  = $(out)/$(static_name)/share/doc/amn

static:
	$(call needs,musl-gcc apt-get dpkg-source autoreconf pkg-config mandoc libcrypto.a,$(for_package))
	rm -rf $(out)/$(static_name)
	$(MAKE) STATIC=1 install DESTDIR= PREFIX=$(out)/$(static_name)
	install -d $(static_doc)/licences
	install -m 644 README.md CHANGELOG.md LICENSE $(static_doc)
	install -m 644 obj-static/licences/* $(static_doc)/licences
	$(archive) -C $(out) -cf obj-static/static.tar $(static_name)
	gzip -9nc obj-static/static.tar >$(out)/$(static_name).tar.gz

check-packages:
	@[ "$$(id -u)" -eq 0 ] || { echo "make $@: not root, who alone can make systems and enter them" >&2; exit 1; }
	sh test/setup.sh build test package
	$(MAKE) dist deb static
	$(MAKE) STATIC=1 obj-static/test/unit/test_thread
	obj-static/test/unit/test_thread
	AMN_BIN=bin-static bats test/behaviour/threads.bats
	test/check-packages $(out)/amn-$(version).tar.gz $(out)/amn_$(version)-1_*.deb $(out)/$(static_name).tar.gz \
		$(notdir $(completions))

clean:
	rm -rf obj obj-sanitize obj-static obj-fuzz bin bin-sanitize bin-static dist

.PHONY: all help setup demo check check-full unit bench bench-compare bench-huge fixtures faults determinism fuzz check-fuzz check-engines peers install uninstall clean
.PHONY: dist deb static check-packages
-include $(lib_obj:.o=.d) $(amn-parse_own:.o=.d) $(tool_src:%.c=$(obj)/%.d) $(unit_bin:%=%.d) $(wildcard $(obj)/test/fuzz/*.d)
