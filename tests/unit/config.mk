# unit tests: unit_programs += tests/unit/test_X with its _SOURCES, _CFLAGS, _LDADD
