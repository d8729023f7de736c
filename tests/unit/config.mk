# unit tests: unit_programs += tests/unit/test_X with its _SOURCES, _CFLAGS, _LDADD
unit_programs += tests/unit/test_config
tests_unit_test_config_SOURCES = tests/unit/test_config.c tests/unit/config_fixture.c \
	tests/unit/config_fixture.h
tests_unit_test_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_LDADD = $(LDADD) $(CMOCKA_LIBS)
unit_programs += tests/unit/test_config_docs
tests_unit_test_config_docs_SOURCES = tests/unit/test_config_docs.c tests/unit/config_fixture.c \
	tests/unit/config_fixture.h
tests_unit_test_config_docs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_docs_LDADD = $(LDADD) $(CMOCKA_LIBS)
unit_programs += tests/unit/test_config_mistakes
tests_unit_test_config_mistakes_SOURCES = tests/unit/test_config_mistakes.c tests/unit/config_fixture.c \
	tests/unit/config_fixture.h
tests_unit_test_config_mistakes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_mistakes_LDADD = $(LDADD) $(CMOCKA_LIBS)
unit_programs += tests/unit/test_config_fuzz
tests_unit_test_config_fuzz_SOURCES = tests/unit/test_config_fuzz.c tests/unit/config_fixture.c \
	tests/unit/config_fixture.h
tests_unit_test_config_fuzz_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_fuzz_LDADD = $(LDADD) $(CMOCKA_LIBS)
unit_programs += tests/unit/test_config_memory
tests_unit_test_config_memory_SOURCES = tests/unit/test_config_memory.c tests/unit/config_fixture.c \
	tests/unit/config_fixture.h
tests_unit_test_config_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=reallocarray,--wrap=strdup,--wrap=asprintf,--wrap=vasprintf
tests_unit_test_config_memory_LDADD = $(LDADD) $(CMOCKA_LIBS)
