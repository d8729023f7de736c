libdrivesoak_a_SOURCES += \
	monitor/archive/health.c monitor/archive/health.h \
	monitor/archive/health_points.c monitor/archive/health_points.h \
	monitor/archive/journal.c monitor/archive/journal.h monitor/archive/journal_private.h \
	monitor/archive/journal_event.c monitor/archive/journal_health.c \
	monitor/archive/journal_fields.c \
	monitor/archive/journal_run.c \
	monitor/archive/journal_sample.c
libdrivesoak_a_SOURCES += \
	monitor/archive/rrdfile.c monitor/archive/rrdfile.h monitor/archive/rrdfile_private.h \
	monitor/archive/rrdfile_layout.c \
	monitor/archive/rrdfile_lock.c
libdrivesoak_a_SOURCES += \
	monitor/archive/archive.c monitor/archive/archive.h \
	monitor/archive/archive_queue.c monitor/archive/archive_queue.h \
	monitor/archive/archive_view.c monitor/archive/archive_view.h
libdrivesoak_a_SOURCES += \
	monitor/archive/export.c monitor/archive/export.h \
	monitor/archive/figures.c monitor/archive/figures.h monitor/archive/finding.c monitor/archive/finding.h \
	monitor/archive/report.c monitor/archive/report.h monitor/archive/report_outcome.c monitor/archive/report_verdict.c \
	monitor/archive/outcome.c monitor/archive/outcome.h \
	monitor/archive/settings.c monitor/archive/settings.h \
	monitor/archive/report_svg.c \
	monitor/archive/report_text.c
libdrivesoak_a_SOURCES += \
	monitor/archive/foreign.c monitor/archive/foreign.h monitor/archive/foreign_private.h \
	monitor/archive/foreign_csv.c monitor/archive/foreign_fio.c monitor/archive/foreign_iostat.c \
	monitor/archive/foreign_json.c monitor/archive/foreign_line.c monitor/archive/foreign_sequence.c \
	monitor/archive/foreign_sysbench.c
