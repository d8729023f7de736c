// SPDX-License-Identifier: GPL-2.0-or-later
// Every page in a real browser: what it draws, that it stays live, that nothing leaves the host and nothing is
// blocked by the policy; pictures in light and dark, at 1400 and 360 pixels.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT);
const [program, folder] = process.argv.slice(2);
const pictures = process.env.SCREENSHOTS;
const SAMPLES = 900, DOWN = SAMPLES / 20, FILL = 60, LIMITED = 40, PROBE = 40; // as serve_fixture lays them out

mkdirSync(pictures, { recursive: true });
const server = spawn(program, [folder, String(SAMPLES)], { stdio: ['pipe', 'pipe', 'inherit'] });
const ended = once(server, 'exit');
const base = (await once(server.stdout, 'data')).toString().trim();
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM,
	args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
const problems = [];

async function open(path, { width = 1400, height = 1000, ...options } = {}) {
	const context = await browser.newContext({ viewport: { width, height }, ...options });
	const page = await context.newPage();
	page.on('console', message => {
		if (['error', 'warning'].includes(message.type())) problems.push(`${path}: ${message.text()}`);
	});
	page.on('pageerror', error => problems.push(`${path}: ${error}`));
	page.on('request', request => {
		if (!request.url().startsWith(base)) problems.push(`${path}: asks ${request.url()}`);
	});
	page.on('response', reply => {
		if (reply.status() >= 400) problems.push(`${path}: ${reply.status()} for ${reply.url()}`);
	});
	await page.goto(base + path, { waitUntil: 'load' });
	return page;
}
const close = page => page.context().close();
const runs = (await (await fetch(`${base}api/v1/runs`)).json()).runs;
const idOf = drive => runs.map(run => run.id).find(id => id.startsWith(`${drive}-`));
const charted = page => page.waitForFunction(() => window.drivesoak?.charts.rate?.points > 0);
const chartsOf = page => page.evaluate(() => window.drivesoak.charts);

const tests = {
	async 'both charts show every sample, and a gap is a gap'() {
		const page = await open(`run/${idOf('halden')}`, { width: 2400 });
		await charted(page);
		const { rate, latency } = await chartsOf(page);
		// One in twenty seconds was down; 3 samples were real zeros and have no latency.
		assert.equal(rate.bucketS, 1);
		assert.equal(rate.points, SAMPLES - DOWN);
		assert.equal(rate.zeros, 3);
		assert.equal(rate.gaps, 1);
		assert.equal(latency.points, SAMPLES - DOWN - 3);
		await close(page);
	},

	async 'zeros are red on the canvas and the gap is not crossed by a line'() {
		const page = await open(`run/${idOf('halden')}`, { width: 2400 });
		await charted(page);
		const seen = await page.evaluate(([samples, down]) => {
			const canvas = document.querySelector('#rate canvas'), scale = canvas.width / canvas.clientWidth;
			const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
			const probe = document.createElement('canvas').getContext('2d');
			const colour = name => {
				probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
				return [1, 3, 5].map(at => parseInt(probe.fillStyle.slice(at, at + 2), 16));
			};
			const [bad, line] = [colour('--bad'), colour('--line')];
			const near = (i, c) => pixels.data[i + 3] > 200 && [0, 1, 2].every(k => Math.abs(pixels.data[i + k] - c[k]) < 40);
			const axis = 50 * scale, plot = canvas.width - axis - 16 * scale;
			const found = { red: [], lineInGap: 0, lineElsewhere: 0 };
			for (let y = 0; y < canvas.height; y++)
				for (let x = Math.ceil(axis) + 8; x < canvas.width; x++) {
					const i = 4 * (y * canvas.width + x), at = (x - axis) / plot * samples;
					// A dot is wider than the edge of a fall.
					if ([-8, -4, 0, 4, 8].every(step => near(i + step, bad))) found.red.push(at);
					if (near(i, line)) at > samples / 2 + 4 && at < samples / 2 + down - 8 ? found.lineInGap++ : found.lineElsewhere++;
				}
			return { ...found, red: [found.red.length, Math.min(...found.red), Math.max(...found.red)] };
		}, [SAMPLES, DOWN]);
		assert.ok(seen.red[0] > 8, `red pixels: ${seen.red}`);
		assert.ok(seen.red[1] > SAMPLES * 2 / 3 - 12 && seen.red[2] < SAMPLES * 2 / 3 + 16, `red from ${seen.red}`);
		assert.equal(seen.lineInGap, 0);
		assert.ok(seen.lineElsewhere > 500);
		await close(page);
	},

	async 'where the host was the limit is amber and said in words'() {
		const page = await open(`run/${idOf('halden')}`, { width: 2400 });
		await charted(page);
		assert.equal((await chartsOf(page)).rate.limitedS, LIMITED);
		const share = 100 * LIMITED / (SAMPLES - FILL);
		const words = await page.locator('#hostlimit').innerText();
		assert.match(words, new RegExp(`was the limit in ${share.toFixed(1)} % of the soak`));
		assert.match(words, /threads waited 31\.0 % of the time for a CPU/);
		assert.match(words, /782 µs on average, of which 511 µs in the device/);
		assert.doesNotMatch(words, /hypervisor|quota/); // neither did anything
		assert.match(await page.locator('#figures tr', { hasText: 'host limit' }).innerText(), new RegExp(share.toFixed(1)));
		// Pointing at the stretch says so, and beside it does not.
		const box = await page.locator('#rate').boundingBox(), plot = box.width - 66;
		const point = async (at, pattern) => {
			await page.mouse.move(box.x + 50 + plot * at / SAMPLES, box.y + 60);
			await page.waitForFunction(source => new RegExp(source).test(document.getElementById('readout').innerText), pattern);
		};
		await point(SAMPLES * 3 / 4 + LIMITED / 2, 'host was the limit');
		await point(SAMPLES * 3 / 4 + LIMITED * 2, 'MiB/s(?![^]*host was the limit)');
		await close(page);
	},

	async 'commits, reads, probe and what the verification found are shown'() {
		const page = await open(`run/${idOf('mistral')}`, { width: 2400 });
		await charted(page);
		const charts = await chartsOf(page);
		// Reads from the soak to the end of the verification, commits until it; the bands are as long as the phases.
		assert.equal(charts.rate.secondPoints, SAMPLES - FILL - DOWN - 3);
		assert.deepEqual([charts.rate.probeS, charts.rate.verifyS], [PROBE, PROBE]);
		assert.equal(charts.rate.flushes, Math.floor((SAMPLES - 1) / 120) - 1); // one fell into the time it was down
		assert.equal(charts.commits.points, SAMPLES - FILL - DOWN - PROBE);
		assert.equal(charts['commit-latency'].points, charts.commits.points);
		const legend = await page.locator('#charts').innerText();
		for (const words of ['writes, mean', 'reads, mean', 'probe', 'verification', 'drive flushed for the ledger', 'p99.99'])
			assert.ok(legend.includes(words), words);
		const cell = async name => (await page.locator('#figures tr', { hasText: name }).locator('td.num').innerText());
		assert.match(await cell('Commits, median'), /^2 4[2-4]0$/);
		assert.equal(await cell('Commit p50, median'), '0.31');
		assert.equal(await cell('Commit p99, median'), '2.15');
		assert.ok(Math.abs(await cell('Writes: Median') / 2 - await cell('Reads: Median')) < 1);
		assert.ok(Number(await cell('p99.99 latency')) >= Number(await cell('p99 latency')));
		const rows = await page.locator('#probe tbody tr').allInnerTexts();
		assert.equal(rows.length, 4);
		assert.match(rows[0], /^depth 1\s+none\s+11904\s+80 µs\s+120 µs\s+250 µs\s+4.2 ms$/);
		assert.match(rows[3], /^90 % of the soak's rate\s+53100\s+52011\s+410 µs\s+18 ms\s+61 ms\s+93 ms$/);
		assert.match(await page.locator('#probe').innerText(), /intended time.*depth \/ IOPS and does not rank drives/s);
		assert.match(await page.locator('#verify').innerText(), /Read back 69.8 GiB in 4577636 blocks; .* 98.7 % of them/);
		const bad = page.locator('#verify .bad');
		assert.equal(await bad.innerText(), 'Bad blocks: 2 corrupt, 1 stale.');
		assert.match(await page.locator('#zeros').innerText(), /payload = zeros/);
		assert.match(await page.locator('#events').innerText(), /corrupt block at byte 49152/);
		await page.locator('#commits').scrollIntoViewIfNeeded();
		const box = await page.locator('#commits').boundingBox();
		await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
		await page.waitForFunction(() => /write .*MiB\/s.*read .*MiB\/s.*p99\.99.*2.4\d\d commits\/s.*commit p50 0\.31 ms/s
			.test(document.getElementById('readout').innerText));
		await close(page);
	},

	async 'a run in which the host was always the limit has its figures and dots, marked'() {
		const words = /host-limited: what this host and drive did together, not the drive alone/;
		let page = await open(`run/${idOf('sparrow')}`);
		await charted(page);
		const row = name => page.locator('#figures tr', { hasText: name });
		const median = Number(await row('Median').locator('td.num').innerText());
		assert.ok(median > 600 && median < 800, `median ${median}`);
		assert.equal(await row('Samples').locator('td.num').innerText(), String(SAMPLES - FILL - DOWN));
		assert.match(await page.locator('#figures').innerText(), words);
		assert.match(await page.locator('#hostlimit').innerText(), words);
		assert.match(await page.locator('#verdict').innerText(), /the host was the limit in every sample/);
		await close(page);
		page = await open(`compare?runs=${idOf('sparrow')},${idOf('halden')}`);
		assert.match(await page.locator('.limited').innerText(), words);
		assert.equal(await page.locator('.jit.lim').count(), 1);
		assert.ok(await page.locator('.jit.lim').evaluate(path => path.getAttribute('d').split('h0').length > 500));
		const colour = await page.locator('.jit.lim').evaluate(path => getComputedStyle(path).stroke);
		assert.equal(colour, 'rgb(98, 107, 117)'); // --ink-3
		assert.equal(await page.locator('.chart text', { hasText: 'host-limited' }).count(), 1);
		await close(page);
		page = await open('runs');
		assert.match(await page.locator('#runs tr', { hasText: 'sparrow' }).innerText(), /host-limited/);
		await close(page);
	},

	async 'a new sample appears without a reload'() {
		const page = await open('drive/corvid', { width: 2400 });
		await charted(page);
		await page.evaluate(() => { window.notReloaded = true; });
		const before = (await chartsOf(page)).rate, samplesBefore = await page.locator('#figures tr', { hasText: 'Samples' }).innerText();
		await page.waitForFunction(last => window.drivesoak.charts.rate.lastMs >= last + 3000, before.lastMs, { timeout: 15000 });
		const after = (await chartsOf(page)).rate;
		assert.ok(after.points >= before.points + 2, `${before.points} then ${after.points}`);
		await page.waitForFunction(text => [...document.querySelectorAll('#figures tr')]
			.some(row => row.innerText.startsWith('Samples') && row.innerText !== text), samplesBefore, { timeout: 5000 });
		assert.equal(await page.evaluate(() => window.notReloaded), true);
		assert.equal(await page.evaluate(() => window.drivesoak.failures), 0);
		await close(page);
	},

	async 'the overview follows the drives'() {
		const page = await open('');
		const cell = page.locator('.drives tbody', { hasText: 'corvid' }).locator('[data-l="Written"]');
		const before = await cell.innerText();
		await page.waitForFunction(text => [...document.querySelectorAll('.drives tbody')].find(body => body.innerText.includes('corvid'))
			.querySelector('[data-l="Written"]').innerText !== text, before, { timeout: 20000 });
		assert.match(await page.locator('#strip').innerText(), /data\s+[0-3] s\s+old/);
		// Trouble first, each with its reason beside it.
		assert.deepEqual(await page.locator('.drives .state').allInnerTexts(), ['failed', 'stalled', 'soaking', 'idle', 'done', 'done']);
		assert.match(await page.locator('.drives tbody', { hasText: 'borealis' }).innerText(), /hard resetting link/);
		await close(page);
	},

	async 'zooming asks the server for the window and Esc goes back'() {
		const page = await open(`run/${idOf('halden')}`, { width: 700 });
		await charted(page);
		const whole = (await chartsOf(page)).rate;
		assert.equal(whole.bucketS, 2);
		const box = await page.locator('#rate').boundingBox();
		await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.45, box.y + 100, { steps: 5 });
		await page.mouse.up();
		await page.waitForFunction(() => window.drivesoak.charts.rate.bucketS === 1);
		const part = (await chartsOf(page)).rate;
		assert.ok(part.points > 100 && part.points < 300, `${part.points} points`);
		await page.keyboard.press('Escape');
		await page.waitForFunction(() => window.drivesoak.charts.rate.bucketS === 2);
		assert.equal((await chartsOf(page)).rate.points, whole.points);
		await close(page);
	},

	async 'pointing at one chart reads both'() {
		const page = await open(`run/${idOf('halden')}`);
		await charted(page);
		const box = await page.locator('#latency').boundingBox();
		await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
		await page.waitForFunction(() => /MiB\/s.*p50.*p99.*max/s.test(document.getElementById('readout').innerText));
		await close(page);
	},

	async 'hostile names stay text'() {
		for (const path of ['', 'runs', 'compare', 'events', `run/${idOf('halden')}`]) {
			const page = await open(path);
			assert.equal(await page.locator('main script').count(), 0);
			assert.equal(await page.locator('main td b').filter({ hasText: /^with$/ }).count(), 0);
			await close(page);
		}
	},

	async 'runs are chosen by plain boxes'() {
		const page = await open('runs', { javaScriptEnabled: false });
		await page.locator(`input[value="${idOf('halden')}"]`).check();
		await page.locator(`input[value="${idOf('corvid')}"]`).check();
		await page.getByRole('button', { name: 'Compare the chosen runs' }).click();
		assert.equal(await page.locator('h1').innerText(), 'Compare 2 runs');
		assert.equal(await page.locator('.jit').count(), 2);
		assert.equal(await page.locator('svg[style], [style]').count(), 0);
		await close(page);
	},

	async 'without a script the run page has its timeline'() {
		const page = await open(`run/${idOf('halden')}`, { javaScriptEnabled: false });
		const image = page.locator('noscript img');
		assert.equal(await image.count(), 1);
		assert.ok(await image.evaluate(element => element.complete && element.naturalWidth > 500));
		assert.ok(await page.locator('#charts').isHidden());
		await page.screenshot({ path: `${pictures}/run-noscript.png`, fullPage: true });
		await close(page);
	},

	async 'pictures stand alone'() {
		for (const path of ['graph/jitter.svg', `graph/${idOf('halden')}/timeline.svg`]) {
			const page = await open(path, { width: 1120, height: 560 });
			assert.equal(await page.evaluate(() => document.documentElement.localName), 'svg');
			await page.screenshot({ path: `${pictures}/${path.split('/').at(-1)}.png` });
			await close(page);
		}
	},

	async 'no page scrolls sideways at 360 pixels; pictures of all'() {
		const paths = { overview: '', runs: 'runs', compare: 'compare', events: 'events', run: 'drive/corvid',
			done: `run/${idOf('halden')}`, idle: 'drive/tessera', mixed: `run/${idOf('mistral')}`, limited: `run/${idOf('sparrow')}` };
		for (const [name, path] of Object.entries(paths))
			for (const width of [1400, 360])
				for (const colorScheme of ['light', 'dark']) {
					const page = await open(path, { width, height: width === 360 ? 740 : 1000, colorScheme });
					if (['run', 'done', 'mixed', 'limited'].includes(name)) await charted(page);
					const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
					const culprits = await page.evaluate(() => [...document.querySelectorAll('main *')]
						.filter(element => !element.closest('.scroll, .plot') && element.getBoundingClientRect().right > innerWidth + 1)
						.map(element => `${element.localName}.${element.className}#${element.id}`));
					assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}: ${culprits}`);
					await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true });
					await close(page);
				}
	},

	async 'what lasts stands on top with its cause, and what is over is marked in the charts'() {
		let page = await open(`run/${idOf('borealis')}`);
		await charted(page);
		assert.match(await page.locator('#findings').innerText(), /Stalled\s*borealis\s*nothing completed for 47 s\. Cause: reset\. the kernel: "ata7[^]*since [-0-9: ]+/);
		assert.equal((await chartsOf(page)).rate.marks, 2);
		assert.equal(await page.locator('#charts').getAttribute('data-baseline'), String(480 * 1048576));
		await close(page);
		page = await open(`run/${idOf('halden')}`);
		await charted(page);
		assert.equal(await page.locator('#findings').innerText(), '');
		assert.equal((await chartsOf(page)).rate.marks, 3);
		assert.match(await page.locator('#events').innerText(), /collapse\s+208 MiB\/s for 60 s.*Cause: thermal\. composite/);
		assert.match(await page.locator('#verdict').innerText(), /not settled/);
		assert.match(await page.locator('#steady').innerText(), /Not settled: .*rounds/);
		await close(page);
		page = await open('');
		assert.match(await page.locator('.drives tr.main', { hasText: 'corvid' }).innerText(), /soaking[^]*\d+\s+\d+/);
		assert.match(await page.locator('.drives tr.main', { hasText: 'halden' }).innerText(), /done\s*(FAIL|NO VERDICT)/);
		await close(page);
	},

	async 'nothing was blocked, failed or asked elsewhere'() {
		assert.deepEqual(problems, []);
	},

	async 'a page tells when the service is gone'() {
		const page = await open('');
		server.stdin.end();
		await ended;
		await page.waitForFunction(() => document.body.classList.contains('lost'), null, { timeout: 5000 });
		await close(page);
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
server.stdin.end();
await ended;
process.exit(failed ? 1 : 0);
