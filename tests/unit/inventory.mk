# unit tests of who the drives are, and which there are
tree_fixture = tests/unit/tree_fixture.c tests/unit/tree_fixture.h

unit_programs += tests/unit/test_identity
tests_unit_test_identity_SOURCES = tests/unit/test_identity.c $(tree_fixture)
tests_unit_test_identity_CPPFLAGS = $(AM_CPPFLAGS) -DSHARED_DATA='"$(abs_top_srcdir)/../shared/data"'
tests_unit_test_identity_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_identity_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_blocklink
tests_unit_test_blocklink_SOURCES = tests/unit/test_blocklink.c $(tree_fixture)
tests_unit_test_blocklink_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_blocklink_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_inventory
tests_unit_test_inventory_SOURCES = tests/unit/test_inventory.c $(tree_fixture)
tests_unit_test_inventory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_inventory_LDADD = $(LDADD) $(CMOCKA_LIBS)
