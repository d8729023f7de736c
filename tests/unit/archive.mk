# unit tests of monitor/measure and monitor/archive
archive_fixture = tests/unit/archive_fixture.c tests/unit/archive_fixture.h
journal_fixture = tests/unit/journal_fixture.c tests/unit/journal_fixture.h $(archive_fixture)
rrdfile_fixture = tests/unit/rrdfile_fixture.c tests/unit/rrdfile_fixture.h $(archive_fixture)

unit_programs += tests/unit/test_measure
tests_unit_test_measure_SOURCES = tests/unit/test_measure.c $(archive_fixture)
tests_unit_test_measure_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_measure_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_journal
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c $(journal_fixture)
tests_unit_test_journal_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_journal_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_journal_schema
tests_unit_test_journal_schema_SOURCES = tests/unit/test_journal_schema.c $(journal_fixture)
tests_unit_test_journal_schema_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_journal_schema_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_rrdfile
tests_unit_test_rrdfile_SOURCES = tests/unit/test_rrdfile.c $(rrdfile_fixture)
tests_unit_test_rrdfile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_rrdfile_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_rrdfile_rebuild
tests_unit_test_rrdfile_rebuild_SOURCES = tests/unit/test_rrdfile_rebuild.c $(rrdfile_fixture)
tests_unit_test_rrdfile_rebuild_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_rrdfile_rebuild_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_archive
tests_unit_test_archive_SOURCES = tests/unit/test_archive.c $(archive_fixture)
tests_unit_test_archive_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_archive_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_client
tests_unit_test_client_SOURCES = tests/unit/test_client.c $(archive_fixture)
tests_unit_test_client_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_client_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_foreign
tests_unit_test_foreign_SOURCES = tests/unit/test_foreign.c tests/unit/tree_fixture.c tests/unit/tree_fixture.h
tests_unit_test_foreign_CPPFLAGS = $(AM_CPPFLAGS) -DSHARED_DATA='"$(abs_top_srcdir)/../shared/data"'
tests_unit_test_foreign_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_foreign_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_figures
tests_unit_test_figures_SOURCES = tests/unit/test_figures.c $(journal_fixture)
tests_unit_test_figures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_figures_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_values
tests_unit_test_values_SOURCES = tests/unit/test_values.c $(archive_fixture)
tests_unit_test_values_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_values_LDADD = $(LDADD) $(CMOCKA_LIBS)
