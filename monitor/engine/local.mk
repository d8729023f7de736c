libdrivesoak_a_SOURCES += \
	monitor/engine/arena.c monitor/engine/arena.h \
	monitor/engine/budget.c monitor/engine/budget.h \
	monitor/engine/engine.c monitor/engine/engine.h monitor/engine/engine_private.h \
	monitor/engine/hist.c monitor/engine/hist.h \
	monitor/engine/ledger.c monitor/engine/ledger.h monitor/engine/ledger_private.h \
	monitor/engine/ledger_file.c \
	monitor/engine/libaio.c \
	monitor/engine/null.c \
	monitor/engine/ops.h \
	monitor/engine/payload.c monitor/engine/payload.h monitor/engine/payload_stamp.c \
	monitor/engine/random.h \
	monitor/engine/statefile.c monitor/engine/statefile.h \
	monitor/engine/uring.c \
	monitor/engine/verify.c monitor/engine/verify.h \
	monitor/engine/verify_judge.c monitor/engine/verify_report.c \
	monitor/engine/worker.c monitor/engine/worker_thread.c
