libdrivesoak_a_SOURCES += \
	monitor/config/config.c monitor/config/config.h monitor/config/config_load.h \
	monitor/config/config_check.c monitor/config/config_check.h \
	monitor/config/config_file.c monitor/config/config_file.h \
	monitor/config/config_keys.c monitor/config/config_keys.h \
	monitor/config/config_lex.c monitor/config/config_lex.h \
	monitor/config/config_mistakes.c monitor/config/config_mistakes.h \
	monitor/config/config_print.c \
	monitor/config/config_rules.c monitor/config/config_rules.h \
	monitor/config/config_scan.c monitor/config/config_scan.h \
	monitor/config/config_value.c monitor/config/config_value.h
dist_man_MANS += monitor/config/drivesoak.conf.5
