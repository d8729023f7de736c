# unit tests of monitor/alert
alert_fixture = tests/unit/alert_fixture.c tests/unit/alert_fixture.h
delivery_fixture = tests/unit/delivery_fixture.c tests/unit/delivery_fixture.h $(alert_fixture)

unit_programs += tests/unit/test_alerts
tests_unit_test_alerts_SOURCES = tests/unit/test_alerts.c $(alert_fixture)
tests_unit_test_alerts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_alerts_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_outbox
tests_unit_test_outbox_SOURCES = tests/unit/test_outbox.c $(alert_fixture)
tests_unit_test_outbox_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_outbox_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_alert_body
tests_unit_test_alert_body_SOURCES = tests/unit/test_alert_body.c $(alert_fixture)
tests_unit_test_alert_body_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_alert_body_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_delivery
tests_unit_test_delivery_SOURCES = tests/unit/test_delivery.c $(delivery_fixture)
tests_unit_test_delivery_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_delivery_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_delivery_file
tests_unit_test_delivery_file_SOURCES = tests/unit/test_delivery_file.c $(delivery_fixture)
tests_unit_test_delivery_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_delivery_file_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_alert_command
tests_unit_test_alert_command_SOURCES = tests/unit/test_alert_command.c $(delivery_fixture)
tests_unit_test_alert_command_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_alert_command_LDADD = $(LDADD) $(CMOCKA_LIBS)
