// The page of a session: its saw-tooth, and what is loaded anew when something happens. Every page works without it.
(() => {
  'use strict';
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const number = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
  const drawn = new Map();
  const both = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

  const line = (plot, value, color, dash, name) => {
    const y = Math.round(plot.valToPos(value, 'y', true));
    const { left, top, width, height } = plot.bbox;
    if (y < top || y > top + height) return;
    const { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'bottom';
    // Readable over the bands too.
    ctx.setLineDash([]);
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.lineJoin = 'round';
    ctx.strokeStyle = token('card');
    ctx.strokeText(name, left + 4 * devicePixelRatio, y - 2);
    ctx.fillText(name, left + 4 * devicePixelRatio, y - 2);
    ctx.restore();
  };

  const signs = { compaction: ['◆', 'c5'], overflow: ['▲', 'bad'], chapter: ['■', 'c2'], branch: ['▼', 'c1'] };
  const mark = (plot, one) => {
    const { ctx, bbox } = plot;
    const [sign, color] = signs[one.kind] ?? ['●', 'dim'];
    const x = Math.round(plot.valToPos(one.x, 'x', true));
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = token(one.landed ? color : 'calm');
    ctx.globalAlpha = one.landed ? 1 : 0.7;
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'bottom';
    ctx.fillText(one.landed ? sign : '◇', x, bbox.top - 1);
    ctx.restore();
  };

  const draw = (element) => {
    const asked = JSON.parse(element.dataset.sawtooth);
    const places = asked.at.map((_, place) => place);
    let sum = places.map(() => 0);
    const tops = asked.bands.map((band) => (sum = sum.map((below, at) => below + band.values[at]))).reverse();
    const bands = [...asked.bands].reverse();
    const most = Math.max(...sum, asked.window);
    const top = Math.max(most, Math.min(Math.max(...asked.twin), most * 1.6)) * 1.06;
    const time = (at) => (at === null || at === undefined ? '' : both.format(asked.at[at] * 1000));
    const axis = { stroke: token('dim'), grid: { stroke: token('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui' };
    const options = {
      width: Math.max(240, element.clientWidth),
      height: 300,
      padding: [20, 44, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (_, low, high) => [low, Math.max(high, low + 1)] }, y: { range: () => [0, top] } },
      axes: [
        { ...axis, grid: { show: false }, space: 120, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) && tick < asked.at.length ? time(tick) : '')) },
        { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => number.format(tick)) },
      ],
      series: [
        { label: 'UTC', value: (_, __, ___, at) => time(at) },
        ...bands.map((band) => ({
          label: band.label, fill: token(band.color), stroke: token(band.color), width: 1, points: { show: places.length === 1 },
          value: (_, __, ___, at) => (at === null ? '' : number.format(band.values[at])),
        })),
        { label: 'Without contextd', stroke: token('ink'), width: 1.5, dash: [6, 4], points: { show: false }, value: (_, value) => (value === null ? '' : number.format(value)) },
      ],
      hooks: {
        draw: [(plot) => {
          line(plot, asked.window, token('ink'), [], 'window');
          line(plot, asked.red, token('bad'), [5, 4], 'red');
          line(plot, asked.yellow, token('fair'), [5, 4], 'yellow');
          asked.marks.forEach((one) => mark(plot, one));
        }],
      },
    };
    drawn.get(element)?.destroy();
    element.replaceChildren();
    drawn.set(element, new uPlot(options, [places, ...tops, asked.twin], element));
  };

  const all = () => {
    for (const [element, plot] of drawn) if (!element.isConnected) { plot.destroy(); drawn.delete(element); }
    document.querySelectorAll('[data-sawtooth]').forEach(draw);
  };
  const fresh = () => document.querySelectorAll('[data-sawtooth]').forEach((one) => { if (!drawn.has(one)) all(); });
  let pause = 0;
  addEventListener('resize', () => { clearTimeout(pause); pause = setTimeout(all, 80); });
  document.addEventListener('contextd:theme', all);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  document.body.addEventListener('htmx:afterSettle', fresh);
  all();

  // One stream a page, none while nobody looks. It says that something happened; the parts are asked for themselves.
  const live = document.querySelector('[data-events]');
  if (!live) return;
  let stream = null;
  let due = 0;
  let again = 0;
  const gone = () => {
    stop();
    unfollowed(false);
    live.removeAttribute('data-events');
    const told = document.getElementById('gone');
    if (told) told.hidden = false;
  };
  const changed = () => {
    if (due) return;
    due = setTimeout(() => {
      due = 0;
      if (live.hasAttribute('data-reload')) location.reload();
      else document.body.dispatchEvent(new CustomEvent('contextd:changed'));
    }, 700);
  };
  const stop = () => {
    clearTimeout(again);
    stream?.close();
    stream = null;
  };
  const unfollowed = (is) => {
    const told = document.getElementById('unfollowed');
    if (told) told.hidden = !is;
  };
  // Refused or ended: the session may be gone, or too many look on.
  const ask = async () => {
    stop();
    const answer = await fetch(live.dataset.events.replace(/events$/, 'now'), { headers: { 'hx-request': 'true' } }).catch(() => null);
    if (answer?.status === 404) return gone();
    unfollowed(true);
    changed();
    again = setTimeout(start, 10000);
  };
  const start = () => {
    if (stream || document.hidden || !live.dataset.events) return;
    stream = new EventSource(live.dataset.events);
    let first = true;
    stream.addEventListener('open', () => unfollowed(false));
    stream.addEventListener('changed', (event) => {
      // How it stands at the beginning is on the page already.
      if (!(first && event.data === 'snapshot')) changed();
      first = false;
    });
    stream.addEventListener('error', ask);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop();
    else { start(); changed(); }
  });
  addEventListener('pagehide', stop);
  document.body.addEventListener('htmx:responseError', (event) => {
    const told = event.detail.xhr.status;
    if (told === 404 && event.detail.elt.id === 'now') gone();
  });
  start();
})();
