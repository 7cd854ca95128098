# merge_engine: builds as any PGXS extension.
#
#   make, make install, make installcheck     as usual; PG_CONFIG names the server
#   make demo, make test                      install what is missing, use a private cluster
#   make coverage                             which lines the tests reach, in build/coverage
#   make bench                                measure (bench/run says how), writes docs/benchmarks.md
#   make format, make lint                    house style

MODULE_big = merge_engine
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

EXTENSION = merge_engine
# the script that is installed: the heart's objects, then each room's own
SCRIPT = build/merge_engine--1.0.sql
# and for those who have version 0.9: what changes, then the rest of that script
UPDATE = build/merge_engine--0.9--1.0.sql
DATA = merge_engine--0.9.sql
DATA_built = $(SCRIPT) $(UPDATE)
PGFILEDESC = "merge_engine - tables that merge rows of one primary key"

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Werror
# roaring bitmaps: libroaring-dev on Debian
SHLIB_LINK += -lroaring

# make installcheck: every file of sql/, test/isolation and test/t
REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --inputdir=. --encoding=UTF8 --no-locale --load-extension=merge_engine
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --encoding=UTF8 --no-locale --load-extension=merge_engine
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl

PG_CONFIG ?= pg_config
# empty on a machine without PostgreSQL's headers, where only demo and test work
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifneq ($(PGXS),)
include $(PGXS)
else
all install installcheck:
	@echo "$(PG_CONFIG) not found: install PostgreSQL's server headers or set PG_CONFIG" >&2; exit 1
endif

# Every object depends on every header, and on the server that it is built for.
STAMP = .built-for
ifneq ($(PGXS),)
$(shell $(PG_CONFIG) --bindir --version --configure | cmp -s - $(STAMP) || \
	$(PG_CONFIG) --bindir --version --configure > $(STAMP))
$(OBJS) $(OBJS:.o=.bc): $(STAMP) $(wildcard src/*.h src/*/*.h)
endif
EXTRA_CLEAN += $(STAMP) build

$(SCRIPT): merge_engine--1.0.sql $(sort $(wildcard src/*/*.sql))
	@mkdir -p $(@D)
	cat $^ > $@

$(UPDATE): merge_engine--0.9--1.0.sql $(SCRIPT)
	sed '1,/^-- what version 0.9 lacks/d' $(SCRIPT) | cat $< - > $@

SOURCES = $(wildcard src/*.[ch] src/*/*.[ch])

demo:
	@demo/run

test:
	@test/run $(SUITES)

coverage:
	@test/coverage

bench:
	@bench/run
	@[ -n "$(BENCH)" ] || bench/projections $(ROWS)

format:
	@tools/format $(SOURCES)

lint:
	@tools/lint

.PHONY: demo test coverage bench format lint
