/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a page up to date and draws the charts of a run. Every page is complete without it.
 *
 * Live parts: the server draws each page; every sample interval the page is fetched again and the elements marked
 * data-live are brought to the new state in place. Charts: dygraphs over /series, which the server reduces to at
 * most one bucket a pixel; zooming asks the server again. window.drivesoak tells tests what is on the screen. */
'use strict';

(() => {
	const body = document.body;
	const intervalS = Math.max(1, Number(body.dataset.intervalS) || 10);
	const told = { updates: 0, failures: 0, charts: {} };
	window.drivesoak = told;

	/* ---- time and numbers as the server prints them ---- */
	let skewMs = Number(body.dataset.nowMs) - Date.now();
	const serverNowMs = () => Date.now() + skewMs;

	function group(value, decimals) {
		if (value === null || !Number.isFinite(value)) return '';
		const [whole, rest] = Math.abs(value).toFixed(decimals).split('.');
		const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
		return (value < 0 ? '-' : '') + grouped + (rest ? '.' + rest : '');
	}
	function three(value) {
		const size = Math.abs(value);
		return group(value, size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
	}
	function span(seconds) {
		if (seconds < 60) return `${Math.floor(seconds)} s`;
		if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
		if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
		return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
	}
	const utc = ms => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

	/* ---- age of the data: late is amber, lost is red, but only where a sample is due ---- */
	function showAges() {
		for (const element of document.querySelectorAll('[data-sample-ms]')) {
			const age = Math.max(0, (serverNowMs() - Number(element.dataset.sampleMs)) / 1000);
			const due = Number(element.dataset.dueS) || Infinity;
			const text = element.querySelector('b');
			text.textContent = span(age);
			text.className = age > 6 * due ? 'bad' : age > 3 * due ? 'warn' : '';
		}
	}

	/* ---- live parts ---- */
	function sameShape(a, b) {
		return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.childNodes.length === b.childNodes.length;
	}
	/* Change what differs and keep the rest, so that focus, selection and scrolling stay. */
	function bring(now, next) {
		if (!sameShape(now, next)) {
			now.replaceWith(document.importNode(next, true));
			return;
		}
		if (now.nodeType === Node.TEXT_NODE) {
			if (now.data !== next.data) now.data = next.data;
			return;
		}
		if (now.nodeType !== Node.ELEMENT_NODE) return;
		for (const { name, value } of next.attributes)
			if (now.getAttribute(name) !== value) now.setAttribute(name, value);
		for (const { name } of [...now.attributes])
			if (!next.hasAttribute(name)) now.removeAttribute(name);
		const children = [...now.childNodes];
		children.forEach((child, i) => bring(child, next.childNodes[i]));
	}
	async function refreshParts() {
		const reply = await fetch(location.href, { cache: 'no-cache', headers: { Accept: 'text/html' } });
		if (!reply.ok) throw new Error(`status ${reply.status}`);
		const next = new DOMParser().parseFromString(await reply.text(), 'text/html');
		skewMs = Number(next.body.dataset.nowMs) - Date.now();
		for (const part of document.querySelectorAll('[data-live]')) {
			const other = next.getElementById(part.id);
			if (other) bring(part, other);
		}
		/* The soak may have begun or the run ended meanwhile. */
		if (charts) Object.assign(charts.dataset, next.getElementById('charts')?.dataset);
		showAges();
	}

	/* ---- charts ---- */
	const charts = document.getElementById('charts');
	const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const readout = document.getElementById('readout');
	const MIB = 1024 * 1024;

	function makeCharts() {
		const data = charts.dataset;
		const shownLatencies = [['p50', 'lat_p50_ns'], ['p99', 'lat_p99_ns'], ['p99.99', 'lat_p9999_ns'], ['max', 'lat_max_ns']];
		const commitLatencies = [['commit p50', 'commit_p50_ns'], ['commit p99', 'commit_p99_ns']];
		const commits = 'commits' in data;
		const second = data.second ?? null;
		const fields = [data.field, second, ...shownLatencies.map(([, field]) => field), 'host_limited', 'probing', 'verifying',
			'flushed', ...(commits ? ['commits_per_s', ...commitLatencies.map(([, field]) => field)] : [])].filter(Boolean);
		const number = name => data[name] === undefined ? null : Number(data[name]);
		const wholeRun = { from: number('fromMs'), to: number('toMs') };
		let range = wholeRun;
		let series = null, loading = 0, nextLoadMs = 0;
		const drawn = []; /* of each chart the dygraph and its options now */

		charts.hidden = false;
		/* The legend writes style attributes, which the content security policy refuses; ours is in the page. */
		Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

		function url() {
			const points = Math.max(100, Math.min(2000, Math.floor(charts.clientWidth - 60)));
			const query = new URLSearchParams({ points, fields: fields.join(',') });
			if (range.from !== null) query.set('from', (range.from / 1000).toFixed(3));
			if (range.to !== null) query.set('to', (range.to / 1000).toFixed(3));
			return `${data.root}api/v1/runs/${encodeURIComponent(data.run)}/series?${query}`;
		}

		/* Spans without a value between the first and the last known one, in ms. */
		function findGaps(t, values, stepMs) {
			const gaps = [], last = values.findLastIndex(value => value !== null);
			let start = null;
			for (let i = values.findIndex(value => value !== null); i >= 0 && i <= last; i++) {
				if (values[i] === null && start === null) start = t[i] * 1000 - stepMs;
				if (values[i] !== null && start !== null) {
					gaps.push([start, t[i] * 1000 - stepMs]);
					start = null;
				}
			}
			return gaps;
		}

		/* Spans in which something held, the host the limit or a phase, each with its share of the bucket's time, in ms. */
		function findSpans({ t_s: t, mean }, stepMs) {
			const spans = [];
			mean.forEach((share, i) => {
				if (!share) return;
				const last = spans.at(-1), from = t[i] * 1000 - stepMs;
				if (last && last.to === from && last.share === share) last.to += stepMs;
				else spans.push({ from, to: from + stepMs, share });
			});
			return spans;
		}

		/* A little air on both sides, so that no line lies on the frame. */
		function rangeOf(values) {
			const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), 0);
			return values.length ? [low / 1.3, high * 1.3] : [0.1, 10];
		}

		function digest(reply) {
			const of = name => reply.fields[name];
			const main = of(data.field), t = main.t_s, at = i => new Date(t[i] * 1000);
			const mib = value => value === null ? null : value / MIB;
			const ms = value => value === null || value <= 0 ? null : value / 1e6;
			const bar = (field, i, unit) => [unit(field.min[i]), unit(field.mean[i]), unit(field.max[i])];
			const spansOf = name => findSpans(of(name), reply.bucket_s * 1000);
			const all = list => list.flatMap(([, field]) => of(field).min.concat(of(field).max)).map(ms).filter(value => value !== null);
			return {
				stepMs: reply.bucket_s * 1000, fromMs: reply.from_s * 1000, toMs: reply.to_s * 1000,
				rate: t.map((_, i) => [at(i), bar(main, i, mib), ...(second ? [bar(of(second), i, mib)] : [])]),
				/* Of the longest the longest counts; a mean of it would say nothing. */
				latency: t.map((_, i) => [at(i), ...shownLatencies.map(([name, field]) =>
					ms(of(field)[name === 'max' ? 'max' : 'mean'][i]))]),
				commits: commits ? t.map((_, i) => [at(i), bar(of('commits_per_s'), i, value => value)]) : null,
				commitLatency: commits ? t.map((_, i) => [at(i), ...commitLatencies.map(([, field]) => ms(of(field).mean[i]))]) : null,
				zeros: t.filter((_, i) => main.min[i] === 0).map(s => s * 1000),
				gaps: findGaps(t, main.mean, reply.bucket_s * 1000),
				limited: spansOf('host_limited'), probing: spansOf('probing'), verifying: spansOf('verifying'),
				flushed: t.filter((_, i) => of('flushed').max[i] > 0).map(s => s * 1000),
				top: Math.max(1, ...[main, ...(second ? [of(second)] : [])].flatMap(field => field.max.map(value => mib(value) ?? 0))),
				commitsTop: commits ? Math.max(1, ...of('commits_per_s').max.map(value => value ?? 0)) : 1,
				latencyRange: rangeOf(all(shownLatencies)),
				commitRange: commits ? rangeOf(all(commitLatencies)) : null,
			};
		}

		function tell() {
			const count = rows => rows.filter(row => row.slice(1).flat().some(value => value !== null)).length;
			told.charts.rate = { points: count(series.rate), zeros: series.zeros.length, gaps: series.gaps.length,
				limitedS: series.limited.reduce((sum, { from, to, share }) => sum + (to - from) / 1000 * share, 0),
				bucketS: series.stepMs / 1000, lastMs: series.rate.findLast(row => row[1][1] !== null)?.[0].getTime() };
			if (second) told.charts.rate.secondPoints = series.rate.filter(row => row[2][1] !== null && row[2][1] > 0).length;
			const lasts = spans => spans.reduce((sum, { from, to, share }) => sum + (to - from) / 1000 * share, 0);
			Object.assign(told.charts.rate, { probeS: lasts(series.probing), verifyS: lasts(series.verifying),
				flushes: series.flushed.length, marks: findMarks().length });
			told.charts.latency = { points: count(series.latency) };
			if (commits) {
				told.charts.commits = { points: count(series.commits) };
				told.charts['commit-latency'] = { points: count(series.commitLatency) };
			}
			told.range = range;
			for (const [id, values] of Object.entries(told.charts))
				for (const [name, value] of Object.entries(values))
					document.getElementById(id).dataset[name] = value;
		}

		function shade(ctx, area, g, fromMs, toMs, style) {
			const x0 = Math.max(area.x, g.toDomXCoord(fromMs)), x1 = Math.min(area.x + area.w, g.toDomXCoord(toMs));
			if (x1 <= x0) return;
			ctx.fillStyle = style;
			ctx.fillRect(x0, area.y, x1 - x0, area.h);
		}
		function hatchStyle(ctx) {
			const tile = document.createElement('canvas'), pen = tile.getContext('2d');
			tile.width = tile.height = 6;
			pen.strokeStyle = css('--off');
			pen.globalAlpha = 0.7;
			pen.beginPath();
			pen.moveTo(-1, 7);
			pen.lineTo(7, -1);
			pen.stroke();
			return ctx.createPattern(tile, 'repeat');
		}
		/* Falls of throughput and turns of steady state, oldest first. */
		const findMarks = () => JSON.parse(data.marks ?? '[]').reverse();
		const markWords = { collapse: 'collapse', stall: 'stall', periodic: 'saw-tooth', 'level-shift': 'new level', degraded: 'degraded',
			cliff: 'cliff', steady: 'settled', 'steady-lost': 'not steady' };
		/* A shade as long as it lasts, an edge where it began, and the word where there is room for it. */
		function drawMarks(ctx, area, g, withWords) {
			let freeX = area.x;
			for (const { kind, class: meaning, from_ms: from, to_ms: to } of findMarks()) {
				const x = g.toDomXCoord(from), isBad = meaning === 'bad' || meaning === 'warn', colour = css(`--${meaning}`);
				if (kind !== 'cliff') {
					ctx.globalAlpha = isBad ? 0.14 : 0.06;
					shade(ctx, area, g, from, to ?? number('endedMs') ?? serverNowMs(), colour);
				}
				if (x < area.x || x > area.x + area.w) continue;
				ctx.globalAlpha = 1;
				ctx.strokeStyle = colour;
				ctx.setLineDash(isBad ? [] : [3, 3]);
				ctx.beginPath();
				ctx.moveTo(x, area.y);
				ctx.lineTo(x, area.y + area.h);
				ctx.stroke();
				ctx.setLineDash([]);
				if (!withWords || x < freeX) continue;
				ctx.font = `11px ${css('--sans')}`;
				ctx.textBaseline = 'top';
				const width = ctx.measureText(markWords[kind]).width;
				if (x + 4 + width > area.x + area.w) continue;
				ctx.lineWidth = 4;
				ctx.strokeStyle = css('--halo');
				ctx.strokeText(markWords[kind], x + 4, area.y + 8);
				ctx.lineWidth = 1;
				ctx.fillStyle = css(`--${meaning}-ink`);
				ctx.fillText(markWords[kind], x + 4, area.y + 8);
				freeX = x + width + 12;
			}
			ctx.globalAlpha = 1;
		}
		/* What the drive is held against now. */
		function drawBaseline(ctx, area, g) {
			const baseline = number('baseline');
			if (!baseline) return;
			for (const [share, colour, dash] of [[1, '--base', []], [number('belowPct') / 100, '--threshold', [5, 3]]]) {
				const y = g.toDomYCoord(baseline / MIB * share);
				if (y < area.y) continue;
				ctx.strokeStyle = css(colour);
				ctx.setLineDash(dash);
				ctx.beginPath();
				ctx.moveTo(area.x, y);
				ctx.lineTo(area.x + area.w, y);
				ctx.stroke();
			}
			ctx.setLineDash([]);
		}
		/* Below the lines: the phases before the soak, amber where the host was the limit, hatching where nothing is known. */
		function underlay(ctx, area, g, withWords) {
			const soakMs = number('soakMs') ?? number('endedMs') ?? serverNowMs();
			ctx.save();
			ctx.globalAlpha = 0.13;
			shade(ctx, area, g, number('startedMs'), soakMs, css('--busy'));
			for (const { from, to, share } of series.limited) {
				ctx.globalAlpha = 0.1 + 0.18 * share;
				shade(ctx, area, g, from, to, css('--warn'));
			}
			for (const [spans, colour] of [[series.probing, '--s4'], [series.verifying, '--ok']])
				for (const { from, to, share } of spans) {
					ctx.globalAlpha = 0.16 * share;
					shade(ctx, area, g, from, to, css(colour));
				}
			ctx.globalAlpha = 1;
			ctx.fillStyle = css('--ink-2');
			for (const ms of series.flushed) {
				const x = g.toDomXCoord(ms - series.stepMs / 2);
				if (x >= area.x && x <= area.x + area.w) ctx.fillRect(x - 1, area.y, 2, 7);
			}
			for (const [fromMs, toMs] of series.gaps) shade(ctx, area, g, fromMs, toMs, hatchStyle(ctx));
			drawMarks(ctx, area, g, withWords);
			ctx.restore();
		}
		function rateUnderlay(ctx, area, g) {
			underlay(ctx, area, g, true);
			ctx.save();
			drawBaseline(ctx, area, g);
			ctx.restore();
		}
		/* A real zero is a red dot on the axis, whatever the mean of its bucket. */
		function zeroPlotter(e) {
			const ctx = e.drawingContext, y = e.dygraph.toDomYCoord(0);
			ctx.fillStyle = css('--bad');
			for (const ms of series.zeros) {
				ctx.beginPath();
				ctx.arc(e.dygraph.toDomXCoord(ms), y, 3, 0, 2 * Math.PI);
				ctx.fill();
			}
		}
		/* A sample between two gaps, or few samples on a wide chart, are dots: a line needs two ends. */
		const isSparse = () => series.rate.length < charts.clientWidth / 8;

		function showReadout(event, ms, points, row) {
			const [, ...rates] = series.rate[row];
			const latencies = (list, values) => list.map(([name], i) => part(name, values?.[i + 1] ?? null, 'ms'));
			const marked = findMarks().filter(({ from_ms: from, to_ms: to }) => ms > from && (to === null || ms <= to));
			const isIn = spans => spans.some(({ from, to }) => ms > from && ms <= to);
			const wide = series.stepMs > intervalS * 1000;
			const part = (name, value, unit) => value === null ? '' : ` ${name} <b>${three(value)}</b> ${unit}`;
			const limited = series.limited.find(({ from, to }) => ms > from && ms <= to);
			const texts = [`<b>${utc(ms)}</b> UTC`];
			if (rates.every(([, mean]) => mean === null)) texts.push('no data');
			else rates.forEach(([min, mean, max], i) => mean !== null && texts.push(part(second ? ['write', 'read'][i] : '', mean, 'MiB/s') +
				(wide ? ` (${three(min)} to ${three(max)})` : '')));
			texts.push(...latencies(shownLatencies, series.latency[row]));
			if (commits) texts.push(part('', series.commits[row][1][1], 'commits/s'), ...latencies(commitLatencies, series.commitLatency[row]));
			if (isIn(series.probing)) texts.push('probe');
			if (isIn(series.verifying)) texts.push('verification');
			if (series.flushed.includes(ms)) texts.push('the drive was flushed');
			texts.push(...marked.map(({ kind }) => markWords[kind]));
			if (limited) texts.push('host was the limit' + (limited.share < 1 ? ` ${group(limited.share * 100, 0)} % of it` : ''));
			readout.innerHTML = texts.filter(Boolean).map(text => `<span>${text}</span>`).join('');
		}

		/* Touching scrolls the page; a mouse or pen zooms. */
		function interaction() {
			const { touchstart, touchmove, touchend, ...mouse } = Dygraph.defaultInteractionModel;
			return { ...mouse, dblclick: () => reset() };
		}
		function common() {
			return {
				labelsUTC: true, connectSeparatedPoints: false, animatedZooms: false,
				axisLineColor: css('--rule-strong'), gridLineColor: css('--grid'), gridLineWidth: 1, axisLabelFontSize: 11,
				highlightCircleSize: 3, underlayCallback: (ctx, area, g) => underlay(ctx, area, g, false), highlightCallback: showReadout,
				xlabel: 'time, UTC', xLabelHeight: 16, rightGap: 16, drawPoints: isSparse(), pointSize: 1.7,
				dateWindow: [series.fromMs, series.toMs],
			};
		}
		function rateOptions() {
			return {
				...common(), file: series.rate, customBars: true, underlayCallback: rateUnderlay, fillAlpha: Number(css('--band-o')),
				labels: second ? ['time', 'write', 'read'] : ['time', 'rate'],
				colors: second ? [css('--line'), css('--s3')] : [css('--line')], strokeWidth: 1.4,
				/* A little below 0, so that the dots of real zeros are whole. */
				valueRange: [-0.03 * series.top, 1.08 * series.top],
			};
		}
		function latencyOptions() {
			return {
				...common(), file: series.latency, colors: [css('--s1'), css('--s2'), css('--s4'), css('--s3')], logscale: true,
				labels: ['time', ...shownLatencies.map(([name]) => name)], valueRange: series.latencyRange, strokeWidth: 1.2,
				series: { p99: { strokePattern: [7, 2] }, 'p99.99': { strokePattern: [9, 2, 2, 2] }, max: { strokePattern: [2, 2] } },
			};
		}
		function commitsOptions() {
			return {
				...common(), file: series.commits, customBars: true, fillAlpha: Number(css('--band-o')), colors: [css('--s2')],
				labels: ['time', 'commits'], strokeWidth: 1.4, valueRange: [-0.03 * series.commitsTop, 1.08 * series.commitsTop],
			};
		}
		function commitLatencyOptions() {
			return {
				...common(), file: series.commitLatency, colors: [css('--s1'), css('--s2')], logscale: true, strokeWidth: 1.2,
				labels: ['time', ...commitLatencies.map(([name]) => name)], valueRange: series.commitRange,
				series: { 'commit p99': { strokePattern: [7, 2] } },
			};
		}
		const zoomed = (minMs, maxMs) => {
			/* Not below three samples: there is nothing to see between two. */
			if (maxMs - minMs < 3000 * intervalS) return draw();
			range = { from: Math.floor(minMs), to: Math.ceil(maxMs) };
			return reload();
		};
		function reset() {
			range = { from: null, to: null };
			reload();
		}
		/* Lines at 1, 2 and 5 of each decade, or at the decades alone when there are many. */
		function logTicks(low, high, pixels) {
			const decades = Math.log10(high / low), steps = pixels / decades < 70 ? [1] : [1, 2, 5], ticks = [];
			for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
				for (const step of steps) {
					const v = step * 10 ** power;
					if (v >= low && v <= high) ticks.push({ v, label: group(v, power < 0 ? -power : 0) });
				}
			return ticks;
		}
		const axisLabel = value => value < 0 ? '' : group(value, value >= 10 || Number.isInteger(value) ? 0 : value < 1 ? 2 : 1);

		function create() {
			const axes = y => ({ y: { axisLabelWidth: 50, ...y }, x: { axisLabelWidth: 62 } });
			const fixed = { interactionModel: interaction(), zoomCallback: zoomed };
			const linear = { axisLabelFormatter: axisLabel, pixelsPerLabel: 22 }, log = { ticker: logTicks };
			const bars = [Dygraph.Plotters.errorPlotter, Dygraph.Plotters.linePlotter];
			const add = (id, options, y, more) => drawn.push({ id, options, graph: new Dygraph(document.getElementById(id),
				options().file, { ...options(), ...fixed, axes: axes(y), ...more }) });
			add('rate', rateOptions, linear, { plotter: [...bars, zeroPlotter] });
			add('latency', latencyOptions, log);
			if (commits) {
				add('commits', commitsOptions, linear, { plotter: bars });
				add('commit-latency', commitLatencyOptions, log);
			}
			Dygraph.synchronize(...drawn.map(({ graph }) => graph), { selection: true, zoom: false });
		}
		function draw() {
			if (!drawn.length) create();
			else for (const { graph, options } of drawn) {
				const { highlightCallback: _, ...rest } = options();
				graph.updateOptions(rest);
			}
			for (const { id } of drawn)
				document.getElementById(`${id}-step`).textContent =
					`, ${series.stepMs > intervalS * 1000 ? span(series.stepMs / 1000) + ' a point' : 'each sample'}`;
			tell();
		}
		const reload = () => load().catch(() => body.classList.add('lost'));
		async function load() {
			const mine = ++loading;
			const reply = await fetch(url(), { cache: 'no-cache' });
			if (!reply.ok) throw new Error(`status ${reply.status}`);
			const next = digest(await reply.json());
			/* A slower answer to an older question must not win. */
			if (mine !== loading) return;
			series = next;
			nextLoadMs = Date.now() + Math.max(series.stepMs, intervalS * 1000) - 500;
			draw();
		}

		document.addEventListener('keydown', event => {
			if (event.key === 'Escape') reset();
		});
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => series && draw());
		return {
			load,
			/* A window that ends in the past does not change any more. */
			isDue: () => number('endedMs') === null && range.to === null && Date.now() >= nextLoadMs,
		};
	}

	/* ---- the clock of the page ---- */
	const control = charts && window.Dygraph ? makeCharts() : null;
	const everyS = Math.max(intervalS, Number(document.querySelector('[data-every-s]')?.dataset.everyS) || 0);
	let busy = false;

	async function update(first) {
		if (document.hidden || busy) return;
		busy = true;
		try {
			if (control && (first || control.isDue())) await control.load();
			if (!first) await refreshParts();
			told.updates++;
			body.classList.remove('lost');
		} catch (error) {
			told.failures++;
			body.classList.add('lost');
		}
		busy = false;
	}
	showAges();
	setInterval(showAges, 1000);
	setInterval(() => update(false), everyS * 1000);
	document.addEventListener('visibilitychange', () => update(false));
	update(true);
})();
