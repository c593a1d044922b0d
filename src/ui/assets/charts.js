// Draws what stands in `data-chart`: {"x": [seconds], "bucket": seconds, "series": [{"label", "values", "color"}], "height"}, as stacked bars.
// `color` names a token of contextd.css. The page has the same figures as a table.
(() => {
  'use strict';
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const number = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
  const drawn = new Map();
  const utc = (options) => new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });
  const [clock, day, both] = [
    utc({ hour: '2-digit', minute: '2-digit' }), utc({ day: 'numeric', month: 'short' }),
    utc({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
  ];
  const whole = Array.from({ length: 13 }, (_, zeros) => [1, 2, 5].map((first) => first * 10 ** zeros)).flat();
  // Midnight is told by its day.
  const tick = (seconds) => (seconds % 86400 === 0 ? day : clock).format(seconds * 1000);

  // Sums from the bottom up: the tallest is drawn first, the others over it.
  const stacked = (series) => {
    let sum = series[0].values.map(() => 0);
    return series.map((one) => (sum = sum.map((below, at) => below + (one.values[at] ?? 0)))).reverse();
  };

  const draw = (element) => {
    const asked = JSON.parse(element.dataset.chart);
    const tallestFirst = [...asked.series].reverse();
    const bars = uPlot.paths.bars({ size: [0.72, 48], align: 1 });
    const axis = { stroke: token('dim'), grid: { stroke: token('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui' };
    const options = {
      width: Math.max(240, element.clientWidth),
      height: asked.height ?? 180,
      padding: [12, 24, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      // A bar stands behind its time: the newest needs room at the right.
      scales: { x: { time: true, range: (_, first, last) => [first, last + asked.bucket] }, y: { range: (_, __, most) => [0, Math.max(most, 4) * 1.05] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      axes: [{ ...axis, size: 30, grid: { show: false }, values: (_, ticks) => ticks.map(tick) }, { ...axis, size: 52, incrs: whole, values: (_, ticks) => ticks.map((tick) => number.format(tick)) }],
      series: [{ label: 'UTC', value: (_, seconds) => (seconds === null ? '' : both.format(seconds * 1000)) }, ...tallestFirst.map((one) => ({
        label: one.label,
        fill: token(one.color),
        stroke: token(one.color),
        width: 0,
        paths: bars,
        points: { show: false },
        value: (_, __, ___, at) => (at === null ? '' : number.format(one.values[at] ?? 0)),
      }))],
    };
    drawn.get(element)?.destroy();
    drawn.set(element, new uPlot(options, [asked.x, ...stacked(asked.series)], element));
  };

  const all = (anew) => {
    for (const [element, plot] of drawn) if (!element.isConnected) { plot.destroy(); drawn.delete(element); }
    document.querySelectorAll('[data-chart]').forEach((element) => { if (anew || !drawn.has(element)) draw(element); });
  };
  let pause = 0;
  const soon = () => { clearTimeout(pause); pause = setTimeout(() => all(true), 80); };
  document.addEventListener('contextd:theme', () => all(true));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => all(true));
  addEventListener('resize', soon);
  document.body.addEventListener('htmx:afterSettle', () => all(false));
  all(true);
})();
