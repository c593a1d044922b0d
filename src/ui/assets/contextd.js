// Theme, keyboard and help. Every page works without it.
(() => {
  'use strict';
  const root = document.documentElement;
  const themes = ['automatic', 'light', 'dark'];
  const stored = () => {
    try { return localStorage.getItem('contextd-theme'); } catch { return null; }
  };
  const apply = (theme) => {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
    document.dispatchEvent(new CustomEvent('contextd:theme'));
  };
  // Before the page is drawn.
  let theme = themes.includes(stored()) ? stored() : 'automatic';
  apply(theme);

  const field = (element) => element && (element.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName));
  const rows = () => [...document.querySelectorAll('[data-rows] > tr, [data-rows] > li')].filter((row) => row.querySelector('a'));
  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
    all[next].querySelector('a').focus();
    all[next].scrollIntoView({ block: 'nearest' });
  };

  document.addEventListener('DOMContentLoaded', () => {
    const toggle = document.querySelector('[data-theme-toggle]');
    const help = document.getElementById('help');
    const opener = document.querySelector('[data-help]');
    const show = () => { toggle.textContent = `Theme: ${theme}`; };
    toggle.hidden = opener.hidden = false;
    show();
    toggle.addEventListener('click', () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      try { localStorage.setItem('contextd-theme', theme); } catch { /* for this page alone, then */ }
      apply(theme);
      show();
    });
    opener.addEventListener('click', () => help.showModal());

    let leader = 0;
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      if (field(event.target)) {
        if (event.key === 'Escape') event.target.blur();
        return;
      }
      if (Date.now() < leader) {
        leader = 0;
        const link = [...document.querySelectorAll('[data-go]')].find((one) => one.dataset.go === event.key);
        if (link) { event.preventDefault(); location.assign(link.href); }
        return;
      }
      const search = document.querySelector('[data-search]');
      if (event.key === '/' && search) { event.preventDefault(); search.focus(); search.select(); }
      else if (event.key === '?') { event.preventDefault(); help.showModal(); }
      else if (event.key === 'g') leader = Date.now() + 1500;
      else if (event.key === 'j') move(1);
      else if (event.key === 'k') move(-1);
    });

    // A choice that needs no button where there is a script.
    document.addEventListener('change', (event) => {
      if (event.target.matches('[data-submit]')) event.target.form.requestSubmit();
    });
    // What was unfolded, or has the focus, is not swapped away under somebody's hands.
    document.body.addEventListener('htmx:beforeRequest', (event) => {
      const busy = event.target.matches('[data-live]')
        && (event.target.contains(document.activeElement) || event.target.querySelector('details[open]') || document.hidden);
      if (busy) event.preventDefault();
    });
    // A figure that could not be renewed says so.
    document.body.addEventListener('htmx:afterRequest', (event) => {
      if (event.target.matches('[data-live]')) event.target.toggleAttribute('data-stale', !event.detail.successful);
    });
  });
})();
