libdrivesoak_a_SOURCES += \
	monitor/base/clock.c monitor/base/clock.h \
	monitor/base/flat.c monitor/base/flat.h \
	monitor/base/json.c monitor/base/json.h \
	monitor/base/log.c monitor/base/log.h \
	monitor/base/sysfs.c monitor/base/sysfs.h \
	monitor/base/text.c monitor/base/text.h \
	monitor/base/units.c monitor/base/units.h \
	monitor/run/pathgroup.c monitor/run/pathgroup.h \
	monitor/run/run.c monitor/run/run.h \
	monitor/run/wearplan.c monitor/run/wearplan.h
include monitor/config/local.mk
include monitor/target/local.mk
include monitor/control/local.mk
include monitor/engine/local.mk
include monitor/measure/local.mk
include monitor/archive/local.mk
include monitor/alert/local.mk
sbin_PROGRAMS += drivesoakd
# The conductor and its keepers: of the service, and of the tests that drive them without it.
conductor_sources = monitor/keeper.c monitor/keeper.h monitor/healthgate.c monitor/healthgate.h \
	monitor/prober.c monitor/prober.h monitor/stamps.c monitor/stamps.h \
	monitor/soak.c monitor/soak.h monitor/soak_private.h \
	monitor/soak_absent.c monitor/soak_alert.c monitor/soak_alert_control.c monitor/soak_alert_rules.c monitor/soak_begin.c monitor/soak_cause.c \
	monitor/soak_control.c monitor/soak_drive.c monitor/soak_group.c monitor/soak_health.c \
	monitor/soak_health_events.c monitor/soak_health_limits.c monitor/soak_host.c \
	monitor/soak_interval.c monitor/soak_judge.c monitor/soak_path.c monitor/soak_probe.c \
	monitor/soak_status.c monitor/soak_verify.c
drivesoakd_SOURCES = monitor/drivesoakd.c $(conductor_sources)
bin_PROGRAMS += drivesoak
drivesoak_SOURCES = monitor/drivesoak.c monitor/drivesoak_arm.c monitor/drivesoak_arm.h \
	monitor/drivesoak_alerts.c monitor/drivesoak_alerts.h \
	monitor/drivesoak_analyse.c monitor/drivesoak_analyse.h monitor/drivesoak_import.c monitor/drivesoak_import.h \
	monitor/drivesoak_judge.c monitor/drivesoak_judge.h \
	monitor/drivesoak_badblocks.c monitor/drivesoak_badblocks.h \
	monitor/drivesoak_cells.c monitor/drivesoak_cells.h \
	monitor/drivesoak_control.c monitor/drivesoak_control.h \
	monitor/drivesoak_decode.c monitor/drivesoak_decode.h \
	monitor/drivesoak_output.c monitor/drivesoak_output.h \
	monitor/drivesoak_plan.c monitor/drivesoak_plan.h \
	monitor/drivesoak_drives.c monitor/drivesoak_drives.h \
	monitor/drivesoak_health.c monitor/drivesoak_health.h monitor/prober.c monitor/prober.h \
	monitor/drivesoak_verify.c monitor/drivesoak_verify.h
dist_man_MANS += monitor/drivesoak.1 monitor/drivesoakd.8
