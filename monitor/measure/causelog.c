/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/causelog.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

#define ANSWERS_MAX 8

struct kept_line {
	int64_t t_ms;
	enum kernelline_word word;
	char text[KERNELLINE_TEXT_MAX];
};

/* Those of samples and readings hold twice what is kept: when one is full its newer half moves to the front. */
struct causelog {
	struct cause_sample samples[2 * CAUSELOG_SAMPLES];
	struct kept_line lines[CAUSELOG_LINES];
	struct cause_reading readings[2 * CAUSELOG_READINGS];
	unsigned sample_count, line_count, reading_count;
	bool was_idle; /* has been idle at all, so that what follows is known */
	bool is_idle;
	uint64_t since_idle_bytes, idle_ns;
	struct {
		int64_t detected_ms; /* 0: free */
		struct cause_answer answer;
	} answers[ANSWERS_MAX];
	unsigned next_answer;
	struct cause_line views[CAUSELOG_LINES]; /* of lines, for the decider */
};

int causelog_new(struct causelog **out)
{
	struct causelog *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	*out = log;
	return 0;
}

void causelog_free(struct causelog *log)
{
	free(log);
}

void causelog_clear(struct causelog *log)
{
	memset(log, 0, sizeof(*log));
}

/* Room for one more at the end of @array, which holds up to @most. */
static void make_room(void *array, size_t size, unsigned *count, unsigned most)
{
	const unsigned half = most / 2;

	if (*count < most)
		return;
	memmove(array, (char *)array + (size_t)(most - half) * size, half * size);
	*count = half;
}

static void idle_note(struct causelog *log, const struct cause_sample *sample)
{
	const bool is_idle = sample->state == SAMPLE_PAUSED || sample->state == SAMPLE_DOWN;

	if (is_idle) {
		log->idle_ns = (log->is_idle ? log->idle_ns : 0) + sample->elapsed_ns;
		log->since_idle_bytes = 0;
		log->was_idle = true;
	} else if (sample->bytes != SAMPLE_UNKNOWN) {
		log->since_idle_bytes += sample->bytes;
	}
	log->is_idle = is_idle;
}

void causelog_add_sample(struct causelog *log, const struct cause_sample *sample)
{
	struct cause_sample *kept;

	make_room(log->samples, sizeof(log->samples[0]), &log->sample_count, 2 * CAUSELOG_SAMPLES);
	kept = &log->samples[log->sample_count++];
	*kept = *sample;
	idle_note(log, sample);
	kept->since_idle_bytes = log->was_idle ? log->since_idle_bytes : SAMPLE_UNKNOWN;
	kept->idle_ns = log->was_idle ? log->idle_ns : SAMPLE_UNKNOWN;
	kept->cpu_pressure = kept->io_pressure = kept->foreign_bytes = kept->foreign_discards = NAN;
	evidence_counters_init(&kept->counters);
}

/* NAN where it is not known or went back. */
static double difference(uint64_t before, uint64_t after)
{
	return before == EVIDENCE_UNKNOWN || after == EVIDENCE_UNKNOWN || after < before
		       ? NAN
		       : (double)(after - before);
}

static double share_of(double us, const struct cause_sample *sample)
{
	return sample->elapsed_ns ? us * (double)NS_PER_US / (double)sample->elapsed_ns : NAN;
}

static void intervals_put(struct cause_sample *sample, const struct cause_sample *before)
{
	const struct evidence_counters *was = &before->counters, *is = &sample->counters;
	double disk = difference(was->read_bytes, is->read_bytes) +
		      difference(was->write_bytes, is->write_bytes);

	sample->cpu_pressure = share_of(difference(was->cpu_pressure_us, is->cpu_pressure_us), sample);
	sample->io_pressure = share_of(difference(was->io_pressure_us, is->io_pressure_us), sample);
	sample->foreign_discards = difference(was->discard_bytes, is->discard_bytes);
	/* Of several disks copies and stripes are not told apart from what others write. */
	if (is->disks == 1 && was->disks == 1 && sample->bytes != SAMPLE_UNKNOWN)
		sample->foreign_bytes = fmax(disk - (double)sample->bytes, isnan(disk) ? NAN : 0);
}

void causelog_put_counters(struct causelog *log, const struct evidence_counters *counters)
{
	for (unsigned i = log->sample_count; i-- > 0;) {
		struct cause_sample *sample = &log->samples[i];

		if (sample->t_ms > counters->stamp)
			continue;
		if (sample->t_ms < counters->stamp || sample->counters.stamp == counters->stamp)
			return;
		sample->counters = *counters;
		if (i > 0)
			intervals_put(sample, &log->samples[i - 1]);
		return;
	}
}

static enum kernelline_word most_frequent_word(const struct causelog *log)
{
	unsigned counts[KERNELLINE_WORD_COUNT] = { 0 }, most = 0;

	for (unsigned i = 0; i < log->line_count; i++)
		counts[log->lines[i].word]++;
	for (unsigned word = 1; word < KERNELLINE_WORD_COUNT; word++)
		if (counts[word] > counts[most])
			most = word;
	return most;
}

/* What is missed least: what is older than all samples, else of the most frequent word the line that came soonest after
 * another of it. */
static unsigned line_to_drop(const struct causelog *log)
{
	const enum kernelline_word word = most_frequent_word(log);
	unsigned drop = 0, last = CAUSELOG_LINES;
	int64_t least_ms = INT64_MAX;

	if (log->sample_count && log->lines[0].t_ms < log->samples[0].t_ms)
		return 0;
	for (unsigned i = 0; i < log->line_count; i++) {
		if (log->lines[i].word != word)
			continue;
		if (last < CAUSELOG_LINES && log->lines[i].t_ms - log->lines[last].t_ms < least_ms) {
			least_ms = log->lines[i].t_ms - log->lines[last].t_ms;
			drop = i;
		}
		last = i;
	}
	return drop;
}

void causelog_add_line(struct causelog *log, int64_t t_ms, enum kernelline_word word, const char *text)
{
	struct kept_line *line;

	if (log->line_count == CAUSELOG_LINES) {
		unsigned drop = line_to_drop(log);

		log->line_count--;
		memmove(&log->lines[drop], &log->lines[drop + 1],
			(log->line_count - drop) * sizeof(log->lines[0]));
	}
	line = &log->lines[log->line_count++];
	line->t_ms = t_ms;
	line->word = word;
	text_copy(line->text, sizeof(line->text), text);
}

void causelog_add_reading(struct causelog *log, const struct cause_reading *reading)
{
	make_room(log->readings, sizeof(log->readings[0]), &log->reading_count, 2 * CAUSELOG_READINGS);
	log->readings[log->reading_count++] = *reading;
}

bool causelog_match_falls(const struct causelog *log, const struct causelog *other, int64_t near_ms,
	int64_t within_ms, struct cause_fall *out, unsigned *lone)
{
	struct cause_fall own[CAUSE_FALLS_MAX], others[CAUSE_FALLS_MAX];
	unsigned own_count = cause_falls(log->samples, log->sample_count, own);
	unsigned other_count = cause_falls(other->samples, other->sample_count, others);

	return cause_match_falls(others, other_count, own, own_count, near_ms, within_ms, out, lone);
}

const struct evidence_counters *causelog_get_counters(const struct causelog *log)
{
	for (unsigned i = log->sample_count; i-- > 0;)
		if (log->samples[i].counters.stamp != INT64_MIN)
			return &log->samples[i].counters;
	return NULL;
}

static struct cause_answer *answer_of(struct causelog *log, int64_t detected_ms)
{
	for (unsigned i = 0; i < ANSWERS_MAX; i++)
		if (log->answers[i].detected_ms == detected_ms)
			return &log->answers[i].answer;
	log->next_answer = (log->next_answer + 1) % ANSWERS_MAX;
	log->answers[log->next_answer].detected_ms = detected_ms;
	log->answers[log->next_answer].answer = (struct cause_answer){ .cause = CAUSE_UNKNOWN };
	return &log->answers[log->next_answer].answer;
}

void causelog_recall(struct causelog *log, int64_t detected_ms, const struct cause_answer *answer)
{
	*answer_of(log, detected_ms) = *answer;
}

void causelog_find(struct causelog *log, const struct collapse_finding *finding,
	const struct causelog_context *context, struct cause_answer *out)
{
	const struct cause_input input = {
		.finding = finding,
		.samples = log->samples,
		.sample_count = log->sample_count,
		.readings = log->readings,
		.reading_count = log->reading_count,
		.lines = log->views,
		.line_count = log->line_count,
		.neighbours = context->neighbours,
		.neighbour_count = context->neighbour_count,
		.path = context->path,
		.is_log_heard = context->is_log_heard,
		.capacity_bytes = context->capacity_bytes,
	};
	struct cause_answer *kept = answer_of(log, finding->detected_ms);

	for (unsigned i = 0; i < log->line_count; i++)
		log->views[i] = (struct cause_line){ log->lines[i].t_ms, log->lines[i].word,
			log->lines[i].text };
	cause_decide(&input, out);
	/* Of a fall that began before the record only what was found then is worth anything. */
	if (out->lacks_begin && kept->evidence[0])
		*out = *kept;
	*kept = *out;
}
