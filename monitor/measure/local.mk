libdrivesoak_a_SOURCES += \
	monitor/measure/hostlimit.c monitor/measure/hostlimit.h \
	monitor/measure/hostload.c monitor/measure/hostload.h \
	monitor/measure/sample.c monitor/measure/sample.h \
	monitor/measure/sampler.c monitor/measure/sampler.h \
	monitor/measure/tick.c monitor/measure/tick.h \
	monitor/measure/sample_columns.c monitor/measure/sample_columns.h \
	monitor/measure/endurance.c monitor/measure/endurance.h monitor/measure/endurance_private.h \
	monitor/measure/endurance_life.c monitor/measure/endurance_unit.c monitor/measure/endurance_waf.c \
	monitor/measure/healthlimit.c monitor/measure/healthlimit.h \
	monitor/measure/verdict_health.c monitor/measure/verdict_health.h \
	monitor/measure/cause.c monitor/measure/cause.h monitor/measure/cause_private.h \
	monitor/measure/cause_drive.c monitor/measure/cause_host.c monitor/measure/cause_kernel.c \
	monitor/measure/cause_rhythm.c \
	monitor/measure/causelog.c monitor/measure/causelog.h \
	monitor/measure/evidence.c monitor/measure/evidence.h monitor/measure/evidence_counters.c \
	monitor/measure/kernelline.c monitor/measure/kernelline.h \
	monitor/measure/kernellog.c monitor/measure/kernellog.h \
	monitor/measure/collapse.c monitor/measure/collapse.h monitor/measure/collapse_begin.c monitor/measure/collapse_end.c \
	monitor/measure/collapse_private.h monitor/measure/collapse_rhythm.c monitor/measure/collapse_text.c \
	monitor/measure/decline.c monitor/measure/decline.h \
	monitor/measure/level.c monitor/measure/level.h \
	monitor/measure/rhythm.c monitor/measure/rhythm.h \
	monitor/measure/steady.c monitor/measure/steady.h \
	monitor/measure/stretch.c monitor/measure/stretch.h \
	monitor/measure/status.c monitor/measure/status.h monitor/measure/status_json.c monitor/measure/status_json.h \
	monitor/measure/summary.c monitor/measure/summary.h \
	monitor/measure/summary_json.c \
	monitor/measure/troubles.c monitor/measure/troubles.h \
	monitor/measure/values.c monitor/measure/values.h \
	monitor/measure/verdict.c monitor/measure/verdict.h
