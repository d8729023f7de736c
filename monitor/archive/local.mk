libdrivesoak_a_SOURCES += \
	monitor/archive/journal.c monitor/archive/journal.h monitor/archive/journal_private.h \
	monitor/archive/journal_event.c \
	monitor/archive/journal_fields.c \
	monitor/archive/journal_run.c \
	monitor/archive/journal_sample.c
