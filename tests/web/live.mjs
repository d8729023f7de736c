// SPDX-License-Identifier: GPL-2.0-or-later
// A live run of the real service in a real browser: what the pages draw is what the API says, and a new sample arrives
// without a reload. Pictures in light and dark, at 1280 and 360 pixels.
import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT);
const [daemon, client, folder] = process.argv.slice(2);
const pictures = process.env.SCREENSHOTS;
const SAMPLES = Number(process.env.DRIVESOAK_LIVE_SAMPLES || 15);

mkdirSync(pictures, { recursive: true });
mkdirSync(`${folder}/live`);
mkdirSync(`${folder}/other`);
writeFileSync(`${folder}/drivesoak.conf`, `state-directory = "${folder}/state"
runtime-directory = "${folder}/run"
sample-interval = "1s"
web { listen = { "127.0.0.1:0" } }
drive "live" { directory = "${folder}/live"  size = "64MiB"  files = 8  settle-time = "0"  duration = "0" }
drive "short" { directory = "${folder}/other"  size = "32MiB"  files = 4  settle-time = "0"  duration = "4s"  threads = 2 queue-depth = 4
    probe-phase = "0"  verify = "end" }
drive "gone" { directory = "${folder}/nowhere"  size = "32MiB" }
`);
const service = spawn(daemon, ['-c', `${folder}/drivesoak.conf`], { stdio: ['ignore', 'ignore', 'pipe'] });
const ended = once(service, 'exit');
/* Also when the test ends by an error of its own. */
process.on('exit', () => service.kill('SIGKILL'));
let log = '';
service.stderr.on('data', data => { log += data; });

async function until(condition, what, seconds = 60) {
	for (const end = Date.now() + seconds * 1000; Date.now() < end; await new Promise(done => setTimeout(done, 100))) {
		const answer = await condition();
		if (answer) return answer;
	}
	throw new Error(`waited ${seconds} s for ${what}\n${log}`);
}
const base = await until(() => log.match(/web: (http:\S+)/)?.[1], 'the web server');
const api = async path => (await fetch(`${base}api/v1/${path}`)).json();
const drive = async name => (await api('status')).drives.find(one => one.name === name);
/* What the charts can show: every sample in which something was asked of the drive, but for a sliver behind the last tick. */
const asked = async run => {
	const { columns, rows } = await api(`runs/${run}/samples.json`), at = name => columns.indexOf(name);
	return rows.filter(row => ['measured', 'zero', 'filling'].includes(row[at('state')]) && row[at('elapsed_s')] > 0.1)
		.map(row => ({ t: row[at('t_s')], bytes: row[at('write_bytes')] }));
};

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM,
	args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
const problems = [];
async function open(path, { width = 1280, height = 900, ...options } = {}) {
	const context = await browser.newContext({ viewport: { width, height }, ...options });
	const page = await context.newPage();
	page.on('console', message => {
		if (['error', 'warning'].includes(message.type())) problems.push(`${path}: ${message.text()}`);
	});
	page.on('pageerror', error => problems.push(`${path}: ${error}`));
	page.on('response', reply => {
		if (reply.status() >= 400) problems.push(`${path}: ${reply.status()} for ${reply.url()}`);
	});
	await page.goto(base + path, { waitUntil: 'load' });
	return page;
}
const close = page => page.context().close();
const charted = page => page.waitForFunction(() => window.drivesoak?.charts.rate?.points > 0);
const chartsOf = page => page.evaluate(() => window.drivesoak.charts);

const runs = await until(async () => {
	const [live, short] = [await drive('live'), await drive('short')];
	return live.phase === 'soak' && short.state === 'done' && (await asked(live.run)).length >= SAMPLES &&
		{ live: live.run, short: short.run };
}, `${SAMPLES} samples`, 60 + SAMPLES);

/* A busy machine makes host-limited samples; where there are no others, the pages show the whole soak. */
const figuresOf = ({ summary }) => summary.samples ? summary : summary.whole_soak;

const tests = {
	async 'the overview shows each drive with its state'() {
		const page = await open('');
		const body = name => page.locator('.drives tbody').filter({ has: page.getByRole('link', { name, exact: true }) });
		assert.deepEqual(await page.locator('.drives .state').allInnerTexts(), ['failed', 'soaking', 'done']);
		assert.match(await body('gone').innerText(), /refused: .*nowhere: No such file or directory/);
		const median = figuresOf(await api(`runs/${runs.short}`)).median_write_bytes_per_s / 1048576;
		const shown = Number((await body('short').locator('[data-l="Median, MiB/s"]').innerText()).replace(/[^\d.]/g, ''));
		assert.ok(Math.abs(shown - median) <= median / 100, `${shown} for ${median}`);
		const written = body('live').locator('[data-l="Written"]'), before = await written.innerText();
		const age = Number((await body('live').locator('[data-l="Data age"]').innerText()).match(/(\d+) s/)[1]);
		assert.ok(age <= 3, `${age} s old`);
		await until(async () => await written.innerText() !== before, 'more bytes written', 15);
		await close(page);
	},

	async 'the timeline has a point for every sample of a run that is over'() {
		const page = await open(`run/${runs.short}`);
		await charted(page);
		const samples = await asked(runs.short), { rate, latency } = await chartsOf(page);
		assert.equal(rate.bucketS, 1);
		assert.equal(rate.points, samples.length);
		assert.equal(rate.lastMs, samples.at(-1).t * 1000);
		assert.equal(rate.zeros, samples.filter(sample => sample.bytes === 0).length);
		assert.equal(rate.gaps, 0);
		assert.ok(latency.points >= samples.length - rate.zeros - 1, `${latency.points} of ${samples.length}`);
		await close(page);
	},

	async 'a new sample of the live run arrives without a reload'() {
		const page = await open('drive/live');
		await charted(page);
		await page.evaluate(() => { window.notReloaded = true; });
		for (let round = 0; round < 2; round++) {
			const before = (await chartsOf(page)).rate;
			await page.waitForFunction(last => window.drivesoak.charts.rate.lastMs > last, before.lastMs, { timeout: 10000 });
		}
		/* The page may be a sample behind or ahead of what is asked here. */
		const samples = await asked(runs.live), shown = (await chartsOf(page)).rate;
		const known = samples.filter(sample => sample.t * 1000 <= shown.lastMs);
		assert.equal(shown.bucketS, 1);
		assert.equal(shown.points, known.length + (known.at(-1).t * 1000 < shown.lastMs ? 1 : 0));
		assert.equal(await page.evaluate(() => window.notReloaded), true);
		assert.equal(await page.evaluate(() => window.drivesoak.failures), 0);
		await close(page);
	},

	async 'the jitter plot has a dot for every sample that counts'() {
		const counted = async () => (await api(`compare?runs=${runs.short},${runs.live}`)).runs[0].plotted_samples;
		const count = (page, name) => page.locator(`#jitter .p ${name}`)
			.evaluateAll(paths => paths.map(path => path.getAttribute('d').split('h0').length - 1));
		let page, samples, dots, zeros;
		/* The live run may get another sample between the question and the page. */
		do {
			if (page) await close(page);
			samples = await counted();
			page = await open(`compare?runs=${runs.short},${runs.live}`);
			[dots, zeros] = [await count(page, '.jit'), await count(page, '.zero')];
		} while (samples !== await counted());
		assert.equal(dots.length, 2);
		/* Equal n: the short one decides, unless a busy host leaves fewer of the other. */
		const most = (await api(`runs/${runs.short}`)).summary.whole_soak.samples;
		assert.ok(samples >= 1 && samples <= 5 && most >= 3, `${samples} of ${most} samples`);
		assert.equal(dots[0] + zeros[0], samples);
		assert.equal(dots[1] + zeros[1], samples);
		await close(page);
	},

	async 'pictures, and no page scrolls sideways'() {
		const paths = { overview: '', run: 'drive/live', done: `run/${runs.short}`, compare: 'compare' };
		for (const [name, path] of Object.entries(paths))
			for (const width of [1280, 360])
				for (const colorScheme of ['light', 'dark']) {
					const page = await open(path, { width, height: width === 360 ? 740 : 900, colorScheme });
					if (['run', 'done'].includes(name)) await charted(page);
					const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
					assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
					await page.screenshot({ path: `${pictures}/live-${name}-${width}-${colorScheme}.png`, fullPage: true });
					await close(page);
				}
	},

	async 'the report of a short run reads well as a file of its own'() {
		const file = `${folder}/report.html`;
		execFileSync(client, ['report', runs.short, runs.live, '--state', `${folder}/state`, '-o', file]);
		for (const width of [1280, 360]) {
			const context = await browser.newContext({ viewport: { width, height: 900 } }), page = await context.newPage();
			page.on('request', request => {
				if (!request.url().startsWith('file:')) problems.push(`the report asks ${request.url()}`);
			});
			await page.goto(`file://${file}`);
			assert.match(await page.locator('body').innerText(), new RegExp(runs.short));
			const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(wide <= 0, `the report is ${wide} pixels too wide at ${width}`);
			await page.screenshot({ path: `${pictures}/live-report-${width}.png`, fullPage: true });
			await context.close();
		}
	},

	async 'nothing was blocked or failed'() {
		assert.deepEqual(problems, []);
	},

	async 'the service ends in order'() {
		service.kill('SIGTERM');
		assert.deepEqual(await ended, [0, null]);
	},
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
	try {
		await test();
		console.log(`ok   ${name}`);
	} catch (error) {
		failed++;
		console.log(`FAIL ${name}\n${error.stack}`);
	}
}
await browser.close();
service.kill('SIGKILL');
process.exit(failed ? 1 : 0);
