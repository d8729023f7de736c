/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the samples say against what an engine counted, while engines come and go within an interval. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/sampler.h"

static const int no_fds[1] = { -1 };

static struct engine *null_engine(void)
{
	const struct engine_job job = {
		.fds = no_fds,
		.fd_count = 1,
		.file_bytes = 1 << 30,
		.to_bytes = 1 << 30,
		.block_bytes = 16384,
		.threads = 2,
		.queue_depth = 8,
		.engine = ENGINE_NULL,
		.payload = PAYLOAD_ZEROS,
	};
	char why[ENGINE_WHY_MAX];
	struct engine *engine;

	assert_int_equal(engine_new(&job, &engine, why), 0);
	assert_int_equal(engine_start(engine, why), 0);
	return engine;
}

/* At least for @us, and until a busy machine has let the workers run: false after 10 s. */
static bool work_await(struct engine *engine, useconds_t us)
{
	static struct engine_totals totals;
	uint64_t before;

	engine_read(engine, &totals);
	before = totals.write_ios;
	for (int i = 0; i < 2000; i++) {
		(void)usleep(us);
		engine_read(engine, &totals);
		if (totals.write_ios > before)
			return true;
	}
	return false;
}

static void test_samples_add_up_to_the_engines_totals(void **state)
{
	static struct engine_totals totals;
	struct sampler *sampler;
	struct sample sample;
	uint64_t bytes = 0, ios = 0, truth_bytes = 0, truth_ios = 0;

	(void)state;
	assert_int_equal(sampler_new(&sampler), 0);
	for (int engines = 0; engines < 3; engines++) {
		struct engine *engine = null_engine();

		sampler_attach(sampler, engine);
		for (int i = 0; i < 5; i++) {
			assert_true(work_await(engine, 10000));
			sampler_take(sampler, 10 * NS_PER_MS, &sample);
			assert_true(sample.write_ios > 0);
			assert_int_equal(sample.write_bytes, sample.write_ios * 16384);
			bytes += sample.write_bytes;
			ios += sample.write_ios;
		}
		assert_true(engine_stop(engine, NS_PER_S));
		sampler_detach(sampler);
		engine_read(engine, &totals);
		truth_bytes += totals.write_bytes;
		truth_ios += totals.write_ios;
		engine_free(engine);
	}
	sampler_take(sampler, NS_PER_MS, &sample);
	bytes += sample.write_bytes;
	ios += sample.write_ios;
	assert_int_equal(bytes, truth_bytes);
	assert_int_equal(ios, truth_ios);
	assert_int_equal(sampler_get_sums(sampler).write_bytes, truth_bytes);
	sampler_free(sampler);
}

/* The mean is exact; the histogram knows it within 0.8 %, or 1.6 % when it had to be joined, and 8 ns. */
static void check_mean(const struct hist *hist, uint64_t mean_ns)
{
	double sum = 0, mean;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		sum += (double)hist->counts[i] * (double)hist_value_ns(i);
	mean = sum / (double)hist_total(hist);
	if (fabs((double)mean_ns - mean) > mean * 0.016 + 9)
		fail_msg("mean %llu, by the histogram of %llu %f", (unsigned long long)mean_ns,
			(unsigned long long)hist_total(hist), mean);
}

static void test_the_stored_histogram_holds_every_completion_of_the_sample(void **state)
{
	static struct hist hist;
	struct engine *engine = null_engine();
	struct sampler *sampler;
	struct sample sample;
	uint64_t from_ns = clock_mono_ns(), now_ns, elapsed_ns, looked_ns;

	(void)state;
	assert_int_equal(sampler_new(&sampler), 0);
	sampler_attach(sampler, engine);
	for (int i = 0; i < 5; i++) {
		assert_true(work_await(engine, 5000));
		now_ns = clock_mono_ns();
		elapsed_ns = now_ns - from_ns;
		sampler_take(sampler, elapsed_ns, &sample);
		looked_ns = clock_mono_ns() - from_ns;
		from_ns = now_ns;
		hist = (struct hist){ 0 };
		assert_int_equal(hist_decode_add(sample.hist, sample.hist_bytes, &hist), 0);
		assert_int_equal(hist_total(&hist), sample.write_ios);
		assert_int_equal(hist_percentile_ns(&hist, 99), sample.lat_p99_ns);
		assert_true(isnan(sample.run_delay_share) && sample.throttled_ns == SAMPLE_UNKNOWN);
		check_mean(&hist, sample.lat_mean_ns);
		assert_true(sample.lat_p50_ns <= sample.lat_p99_ns && sample.lat_p99_ns <= sample.lat_max_ns);
		/* 8 are in flight, until the look is over: on a busy machine that may take longer than the interval. */
		assert_true(sample.inflight_mean > 0 &&
			    sample.inflight_mean * (double)elapsed_ns <= 8.01 * (double)looked_ns);
	}
	assert_true(engine_stop(engine, NS_PER_S));
	sampler_detach(sampler);
	engine_free(engine);
	sampler_free(sampler);
}

static void test_without_an_engine_nothing_is_known_of_latency_and_bytes_are_zero(void **state)
{
	struct sampler *sampler;
	struct sample sample;

	(void)state;
	assert_int_equal(sampler_new(&sampler), 0);
	sampler_take(sampler, NS_PER_S, &sample);
	assert_int_equal(sample.write_bytes, 0);
	assert_int_equal(sample.write_ios, 0);
	assert_true(sample.lat_p99_ns == SAMPLE_UNKNOWN && sample.lat_mean_ns == SAMPLE_UNKNOWN);
	assert_int_equal(sample.hist_bytes, 0);
	assert_true(isnan(sample.temp_c));
	sampler_free(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_add_up_to_the_engines_totals),
		cmocka_unit_test(test_the_stored_histogram_holds_every_completion_of_the_sample),
		cmocka_unit_test(test_without_an_engine_nothing_is_known_of_latency_and_bytes_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
