/* SPDX-License-Identifier: GPL-2.0-or-later */
/* soak_private.h - what soak.c (the loop) and soak_drive.c (the course of one drive) share. */
#ifndef DRIVESOAK_SOAK_PRIVATE_H
#define DRIVESOAK_SOAK_PRIVATE_H

#include <systemd/sd-device.h>
#include <systemd/sd-event.h>

#include "alert/alerts.h"
#include "alert/spell.h"
#include "base/log.h"
#include "base/text.h"
#include "control/control.h"
#include "engine/payload.h"
#include "keeper.h"
#include "measure/cause.h"
#include "measure/collapse.h"
#include "measure/hostlimit.h"
#include "measure/hostload.h"
#include "measure/sampler.h"
#include "measure/status.h"
#include "measure/steady.h"
#include "measure/summary.h"
#include "measure/tick.h"
#include "measure/troubles.h"
#include "prober.h"
#include "run/pathgroup.h"
#include "run/run.h"
#include "soak.h"

/* What the probe needs to know of the soak, and what its running step answered. */
#define PROBE_RECENT 360
struct probe_watch {
	double recent[PROBE_RECENT]; /* requests a second of the last whole samples of the soak */
	unsigned count, next;
	struct hist lat; /* of the step */
	uint64_t ios, elapsed_ns, stall_ns;
};

void probe_note_soak(struct probe_watch *watch, const struct sample *sample);
double probe_sustained(const struct probe_watch *watch); /* median, requests a second; NAN without a sample */
void probe_begin_step(struct probe_watch *watch);
void probe_note_step(struct probe_watch *watch, const struct sample *sample);
void probe_step_json(const struct probe_watch *watch, unsigned step, double sustained, struct text *out);

struct sweep_watch {
	struct verify *verify; /* NULL: none runs */
	struct verify_progress last;
	uint64_t pending_bytes, pending_blocks; /* read and not yet in a sample */
	uint64_t moved_ns;			/* monotonic: when it was last seen to get on */
	unsigned told;
};

void sweep_begin(struct sweep_watch *watch, struct verify *verify);
/* See how far it is; before it is freed, and at each tick. */
void sweep_look(struct sweep_watch *watch);
/* Put what was read since the last sample into @sample. */
void sweep_take(struct sweep_watch *watch, struct sample *sample);
/* Words for the next bad block; false when there is none to tell. */
bool sweep_next_text(struct sweep_watch *watch, struct keeper *keeper, char *text, size_t size);
/* The "verify" object of the run as JSON, and a sentence. */
void sweep_conclude(
	struct sweep_watch *watch, double coverage, int64_t t_ms, struct text *out, char *words, size_t size);
bool sweep_is_clean(const struct sweep_watch *watch);

/* What is known of the drive's health. */
#define HEALTH_TEXTS 4
struct health_watch {
	struct prober *prober;
	enum prober_way way; /* PROBER_NONE: not read */
	char disk[32], type[64];
	uint32_t logical_block_bytes; /* 0: not known */
	uint64_t next_ns, read_ns;    /* monotonic: when it is due, when it was read */
	int64_t read_ms;	      /* wall clock; INT64_MIN: never */
	bool is_due;
	bool was_polling;			       /* a reading was begun in this interval */
	unsigned failures;			       /* in a row; bounded */
	double temp_c, percent_used, spare_pct;	       /* of the last reading; NAN */
	uint64_t media_errors;			       /* likewise; SAMPLE_UNKNOWN */
	double first_percent_used, first_media_errors; /* of the run, across restarts; NAN */
	bool has_earlier; /* readings of the run, before this start of the service */
	bool is_too_hot;  /* the run is paused for it */
	unsigned untold;  /* limits for which the drive does not tell enough: bits */
	bool has_later;	  /* evidence that waits for the reading under way */
	struct prober_question later;
	/* As last known, and as in the reading before. */
	bool known[READING_FIELD_COUNT], was_known[READING_FIELD_COUNT];
	__int128 value[READING_FIELD_COUNT], was[READING_FIELD_COUNT];
	char texts[HEALTH_TEXTS][64]; /* serial, firmware and the like */
};

/* The deciders on the run's samples. */
struct judge_watch {
	struct steady *steady;	   /* NULL before the soak */
	struct collapse *collapse; /* NULL before the first sample */
	bool is_settled;
	bool is_over;	 /* the soak is */
	int64_t soak_ms; /* of its last sample */
	int64_t told_ms; /* when the finding that lasts was last stored; 0: never */
	bool is_open[COLLAPSE_KIND_COUNT];
	struct collapse_finding open[COLLAPSE_KIND_COUNT]; /* with the numbers so far */
	bool has_ended[COLLAPSE_KIND_COUNT];
	struct collapse_turn ended[COLLAPSE_KIND_COUNT]; /* how the last of the kind ended */
	int64_t ended_ms[COLLAPSE_KIND_COUNT];		 /* the sample that told it */
	char finding[24],
		words[STATUS_TEXT_MAX]; /* of what lowers throughput now: its kind, and a sentence; "" */
};

/* What the keeper is doing for the drive as far as the conductor knows. */
enum drive_job {
	JOB_NONE,     /* no engine */
	JOB_STARTING, /* asked for one */
	JOB_RUNNING,
	JOB_STOPPING,
};

/* Which company a drive has while it fills. */
enum path_mode { PATH_MIXED, PATH_ALONE, PATH_TOGETHER };

/* A drive beside the others of its path (run/pathgroup.h). */
struct path_watch {
	enum run_action waiting; /* what it does when it may; NONE: it does not wait for others */
	char words[256];	 /* of waiting; "" */
	enum path_mode mode;
	bool is_whole;	    /* the mode has been the same since the last tick */
	bool had_turn;	    /* has filled alone, or is about to */
	bool is_measured;   /* alone, or never will be */
	bool is_concluded;  /* the run's record says what came of it */
	uint64_t turn_ns;   /* since it began to fill alone */
	bool is_due;	    /* is being concluded */
	uint64_t ending_ns; /* since when its fill is being stopped or flushed; 0 */
	struct pathgroup_rate alone, together;
};

struct drive {
	struct soak *soak;
	size_t index;
	const struct config_drive *config;
	struct keeper *keeper;
	struct sampler *sampler;
	struct hostload *hostload;
	struct health_watch health;
	struct judge_watch judge;

	bool has_run; /* run is valid */
	struct run_record run;
	struct run_plan plan;
	char tag[STATUS_TEXT_MAX]; /* live reason */
	enum run_status status;	   /* live: also when there is no run, or it is refused for now */

	bool is_resumed, is_open;
	bool is_opening;	       /* the keeper was asked to */
	bool is_absent;		       /* the drive is not there; its run goes on when it is back */
	uint64_t retry_ns;	       /* monotonic: when opening is tried again; 0: never by itself */
	int64_t absent_ms;	       /* since when */
	char refusal[STATUS_TEXT_MAX]; /* the last one that was told */
	bool purges;		       /* remove the target's files when it is closed */
	char failure[STATUS_TEXT_MAX]; /* what ends the run unless the drive is found to be gone; "" */
	uint64_t too_many_ns;	       /* since when there are more errors than max-errors; 0 */
	enum drive_job job;
	unsigned queue_depth; /* of the soak */
	bool is_over;	      /* ended, and announced once the archive has all of it */
	enum run_action then; /* decided while something ran: what follows once it has stopped */
	bool is_job_over;     /* what is being stopped had ended by itself */
	struct engine_fill_end fill_end;
	struct probe_watch probe;
	struct sweep_watch sweep;
	double ledger_coverage; /* 0..1 */
	uint64_t epoch_ns;	/* when the last flush of the drive was asked for */
	bool is_flushing, was_flushing;
	int64_t last_sample_ms, down_from_ms;

	bool is_looking; /* the keeper was asked whether the target is still there */
	uint64_t looked_ns;
	char trouble[STATUS_TEXT_MAX]; /* what it found; "" */
	struct path_watch path;
	char badge[STATUS_TEXT_MAX]; /* what lasts of the run's fill beside others; "" */

	/* The running interval. */
	bool is_sampling;
	uint64_t interval_from_ns; /* monotonic */
	uint64_t phase_from_ns;	   /* since when time counts for the phase */
	enum run_phase interval_phase;
	bool had_engine; /* in the interval: else nothing could complete */
	bool is_partial;
	struct sample sample; /* the last one taken */
	double fill_bytes_per_s;
	struct hostlimit_answer host; /* of the last sample that was judged */
	struct hostlimit_watch host_watch;
	struct cause_watch *cause; /* soak_cause.c */

	uint64_t base_written_bytes, base_errors; /* of earlier starts of the service */
	int last_error; /* positive errno of the last failed request since the start; 0: none */
	struct log_complaint error_complaint, epoch_complaint;
	struct spell error_spell;
	uint64_t moving_ns; /* when it last gave a sample with requests, or need not; 0: not looked yet */
	struct {
		bool is_due; /* compare the disks' own counters with ours at the next full interval */
		uint64_t disk_bytes, own_bytes;
	} direct;
};

struct soak {
	struct soak_options options;
	char boot_id[40];
	sd_event *event;
	int wake_fd;
	struct tick tick;
	uint64_t tick_mono_ns; /* of the last tick or the start */
	sd_event_source *tick_timer;
	struct drive *drives;
	size_t drive_count;
	struct pathgroup_member *members; /* one a drive: room for soak_group.c */
	bool is_stopping;
	bool stays; /* a drive was opened or a user asked for one: no longer a service that is good for nothing */
	int exit_code;
	char notified[80]; /* the last STATUS= */
	struct control_server *control;
	uint64_t started_boot_ns;
	sd_event_source *retry_timer;
	struct evidence *evidence; /* soak_cause.c; NULL before it is opened */
	bool is_log_lost;	   /* of the kernel, and said */
	uint64_t asleep_ns,
		woken_ns; /* how long the machine has slept; when it last woke, monotonic, 0: never */
	sd_device_monitor *monitor; /* NULL: no udev; the timer looks all the same */
	struct alert_watch *alert;
};

/* soak_health.c: read once now, and from now on every so often. The target is open. */
void drive_begin_health(struct drive *drive);
/* What the run's earlier readings and its reason still say after a restart. */
void drive_recall_health(struct drive *drive, struct journal *journal);
/* The run ends: read once more. */
void drive_end_health(struct drive *drive);
/* Answers are there. */
void drive_take_health(struct drive *drive);
/* Put what is known into the sample that ends. */
void drive_put_health(struct drive *drive, struct sample *sample);
/* The last reading in a few words; @words has HEALTH_WORDS_MAX. */
#define HEALTH_WORDS_MAX 160
void drive_health_words(const struct drive *drive, char *words);
/* At a tick: readings that are due are asked for in the middle of the interval. */
void soak_plan_health(struct soak *soak);
/* soak_health_events.c: what changed since the reading before is told. */
void health_note_changes(struct drive *drive, const struct reading *reading);
void health_recall_changes(struct health_watch *health, const char *fields); /* of the last reading kept */
/* soak_health_limits.c: whether the run goes on. */
void health_keep_limits(struct drive *drive, const struct reading *reading);
void health_recall_limits(struct drive *drive);

/* soak_judge.c: steady state and falls of throughput. The sample that a tick has just ended, before it is stored. */
void drive_judge(struct drive *drive);
/* What the run's stored samples say, after a restart. */
void drive_recall_judge(struct drive *drive, struct journal *journal);
/* The run is over, after its last sample. */
void drive_end_judge(struct drive *drive);
void drive_forget_judge(struct drive *drive);
/* How the last of the kind that is no longer open ended; NULL: there was none. */
/* How the last one of the kind ended, if that was told at @since_ms or later; else NULL. */
const struct collapse_turn *drive_ended_finding(
	const struct drive *drive, enum collapse_kind kind, int64_t since_ms);
/* The one of this kind that is not over; NULL: none. */
const struct collapse_finding *drive_open_finding(const struct drive *drive, enum collapse_kind kind);
/* A sentence with its numbers so far. */
void drive_finding_words(
	const struct drive *drive, const struct collapse_finding *finding, char *text, size_t size);
void drive_put_judge(const struct drive *drive, struct drive_status *status);

/* The bits of a critical warning in words. */
void drive_warning_words(uint64_t bits, char *words, size_t size);

/* soak_alert.c: what the rules say of the drives, and who is to know. */
/* Read what was firing, and start the delivery. */
int soak_alerts_new(struct soak *soak);
void soak_alerts_free(struct soak *soak);
/* A rule of a drive at this tick; its run, label, model and serial are filled in. Before soak_judge_alerts(). A run that
 * is over ends the rules of throughput by itself. */
void drive_alert(struct drive *drive, const struct alert_reading *reading);
/* At a tick, after the drives: the rules that need no judge, then what there is to tell. */
void soak_judge_alerts(struct soak *soak);
void soak_tell_alerts(struct soak *soak);
void drive_put_alerts(const struct drive *drive, struct drive_status *status);
/* One rule of a drive, or (ALERT_RULE_COUNT) all, until then. False: done, but not handed on to be stored yet. */
bool soak_mute(struct soak *soak, size_t drive, enum alert_rule rule, int64_t until_ms);
/* A rule as it stands. */
const struct alert *drive_get_alert(const struct drive *drive, enum alert_rule rule);
/* The rule no longer applies to it. */
void drive_end_alert(struct drive *drive, enum alert_rule rule, const char *text);
/* soak_alert_rules.c: what all rules say of it. */
void drive_feed_alerts(struct drive *drive);
/* One with no value yet. */
struct alert_reading alert_reading_of(
	enum alert_rule rule, enum alert_sense sense, enum event_severity severity);
/* soak_alert_control.c: false when the request is none about alerts. */
bool soak_alert_command(
	struct soak *soak, const struct control_request *request, struct control_answer *answer);

/* soak_control.c: commands of users. */
int soak_open_control(struct soak *soak, char *why);
bool drive_has_active_run(const struct drive *drive);
struct drive *soak_find_drive(
	struct soak *soak, const char *name); /* NULL: none of the config is called so */

/* soak_absent.c: drives that are not there, come and go. */
int soak_watch_drives(struct soak *soak);
/* The open target's drive is gone. */
void drive_gone(struct drive *drive, const char *why);
/* Opening failed: wait for the drive, or say why it is refused. */
void drive_note_refusal(struct drive *drive, const struct keeper_reply *reply);
/* It was absent and is open again. */
void drive_note_return(struct drive *drive);

/* Look up the drive's run in @journal and ask the keeper to open the target. */
void drive_begin(struct drive *drive, struct journal *journal);
/* A new run, whatever was before. */
void drive_begin_run(struct drive *drive);
/* Ask the keeper once more to open the target: of the run that goes on, or of a new one. */
void drive_open_again(struct drive *drive);
void drive_reply(struct drive *drive, const struct keeper_reply *reply);
/* A tick: end the interval. */
void drive_tick(struct drive *drive, const struct tick_answer *answer);
/* The service ends: stop the engine, keep the run as it is. */
void drive_stop(struct drive *drive);
bool drive_is_quiet(const struct drive *drive); /* no engine, nothing asked for */
/* The service ends while the engine hangs: write what was completed. */
void drive_last_sample(struct drive *drive);
void drive_publish(struct drive *drive);
/* The archive has everything: say that the run is over. */
void drive_announce(struct drive *drive);

/* For all of soak_*.c. */
int64_t drive_now_ms(const struct drive *drive); /* the service's wall clock */
/* Log an event and put it into the journal. */
void drive_event(struct drive *drive, const char *kind, enum event_severity severity, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* One that stands for @count falls or losses in the verdict. */
void drive_event_counted(struct drive *drive, const char *kind, enum event_severity severity, uint32_t count,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
void drive_command(struct drive *drive, const struct keeper_command *command);
void drive_verb(struct drive *drive, enum keeper_verb verb);
void drive_set_status(struct drive *drive, enum run_status status, const char *reason); /* and publish it */
void drive_store(struct drive *drive); /* the run as it is now */
/* Ask the keeper for the engine of @action, one of those that work. */
void drive_ask(struct drive *drive, enum run_action action);
/* Stop the engine, then go on with @then, unless something else was decided before. */
void drive_halt(struct drive *drive, enum run_action then);
/* Let run_step() decide on @input and do what it says. */
void drive_step(struct drive *drive, const struct run_input *input);
/* The run can't go on. */
void drive_fail(struct drive *drive, const char *reason);
void drive_note_findings(struct drive *drive);
/* The time from @from_ms in which the service did not run is one row, stamped at its end. */
void drive_put_down_row(struct drive *drive, int64_t from_ms, int64_t until_ms);
void drive_begin_sampling(struct drive *drive);
/* Compare the disks' own counters with ours from here on. */
void drive_watch_direct(struct drive *drive);

/* What a failed request of the target means. */
const char *drive_error_text(const struct drive *drive, int error);

/* Begin to look at what the host does to the drive's threads; the target is open. */
void drive_begin_host(struct drive *drive);
/* Put what the host did into the sample that ends and flag it when the host was its limit. */
void drive_judge_host(struct drive *drive);

/* soak_cause.c: why throughput falls, and what else the machine says of the drives. */
int drive_open_cause(struct drive *drive); /* 0 or -ENOMEM */
void drive_close_cause(struct drive *drive);
/* After the drives are there; @wake is called from another thread with the soak. 0 or -errno. */
int soak_open_evidence(struct soak *soak, void (*wake)(void *arg));
/* The target is open: its disks are known. */
void drive_begin_cause(struct drive *drive);
/* The drive is gone: another may take its names. */
void drive_leave_cause(struct drive *drive);
/* A new run: nothing was seen yet. */
void drive_forget_cause(struct drive *drive);
/* The service was started again: the troubles and the causes that the run's events tell. */
void drive_recall_cause(struct drive *drive, struct journal *journal);
void drive_settle_troubles(struct drive *drive);			  /* the service ends */
void drive_get_troubles(const struct drive *drive, struct troubles *out); /* of the run so far */
/* Keep the sample that a tick has just ended, and a reading of health. */
void drive_note_cause_sample(struct drive *drive);
void drive_note_cause_reading(struct drive *drive, const struct reading *reading);
/* At a tick, after the samples: counters that belong to the samples of @t_ms. */
void soak_ask_evidence(struct soak *soak, int64_t t_ms);
/* The kernel may have said something. */
void soak_take_lines(struct soak *soak);
/* Why the drive fell as @finding says, as far as is known now: ask again while it lasts and when it is over. */
void drive_find_cause(struct drive *drive, const struct collapse_finding *finding, struct cause_answer *out);
/* The same as events and alerts have it: the word, and its rank with the sentence. */
void drive_print_cause(struct drive *drive, const struct collapse_finding *finding, char *cause,
	size_t cause_size, char *evidence, size_t evidence_size);

/* Flush the drive; @fill_done_bytes of the fill are then durable. */
void drive_flush(struct drive *drive, uint64_t fill_done_bytes);
/* Ask the keeper whether the drive is still there. */
void drive_look(struct drive *drive);
/* The run ended while its target was not open. */
void drive_end_unopened(struct drive *drive);

/* soak_group.c: drives that share a path. */
/* Its name: the group of the config, or the PCI address of the port; "" for none. */
const char *drive_path_name(const struct drive *drive);
bool drive_shares_path(const struct drive *drive, const struct drive *other);
/* True when @action waits; soak_balance_paths() goes on with it. */
bool drive_waits_for_path(struct drive *drive, enum run_action action);
/* After whatever may have changed what a drive does: who must wait stops, who may go on does. */
void soak_balance_paths(struct soak *soak);
/* What there is to say of a drive that runs: @reason has STATUS_TEXT_MAX. */
void drive_running_reason(const struct drive *drive, char *reason);

/* soak_path.c: what the fill alone and together says of the path. */
/* Take the sample that a tick has just ended. */
void path_note_sample(struct drive *drive);
/* Conclude what is complete. */
void soak_judge_paths(struct soak *soak);
/* It can't be measured alone, for @blocker is at work. */
void path_give_up(struct drive *drive, const struct drive *blocker);
/* Put @host into the run's record; what the record says of the path already stays, and is the drive's badge. */
void path_keep_record(struct drive *drive, const char *host);

/* Call drive_announce() for every drive as soon as nothing is queued for the archive. */
void soak_announce_later(struct soak *soak);

#endif
