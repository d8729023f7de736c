libdrivesoak_a_SOURCES += \
	monitor/alert/alert_json.c monitor/alert/alert_json.h \
	monitor/alert/alerts.c monitor/alert/alerts.h \
	monitor/alert/attempt.h \
	monitor/alert/board.c monitor/alert/board.h \
	monitor/alert/body.h monitor/alert/body_json.c monitor/alert/body_private.h monitor/alert/body_text.c \
	monitor/alert/command.c monitor/alert/command.h \
	monitor/alert/delivery.c monitor/alert/delivery.h monitor/alert/delivery_channel.c \
	monitor/alert/delivery_private.h monitor/alert/delivery_send.c monitor/alert/delivery_store.c \
	monitor/alert/outbox.c monitor/alert/outbox.h monitor/alert/outbox_row.c monitor/alert/outbox_row.h \
	monitor/alert/rules.c monitor/alert/rules.h \
	monitor/alert/spell.c monitor/alert/spell.h \
	monitor/alert/transfer.c monitor/alert/transfer.h
