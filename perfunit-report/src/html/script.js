(() => {
  'use strict';
  const table = document.getElementById('tests');
  const form = document.getElementById('filter');
  const shown = document.getElementById('shown');
  const text = document.getElementById('text');
  const target = document.getElementById('target');
  const boxes = [...form.querySelectorAll('input[type=checkbox]')];
  const all = document.getElementById('all');
  // More rows take their time to be laid out, and nobody reads them.
  const most = 500;
  let limit = most;
  const collator = new Intl.Collator('en', { numeric: true });

  // One entry for each test, in the order of the table. What is looked at again and again is read once.
  let tests = [...table.tBodies].map((body, place) => {
    const row = body.rows[0];
    const keys = (row.dataset.keys ?? '').split(' ').map(Number.parseFloat);
    const cell = row.cells[0].textContent;
    return {
      body, place, row, more: body.rows[1] ?? null,
      verdict: body.className, target: body.dataset.target, words: cell.toLowerCase(),
      name: row.querySelector('.id').textContent,
      base: keys[0] ?? NaN, head: keys[1] ?? NaN, change: keys[2] ?? NaN,
    };
  });

  function unfold(test, open) {
    test.more.hidden = !open;
    test.more.querySelector('details').open = open;
    test.button.setAttribute('aria-expanded', String(open));
  }

  // Details unfold by the test's name instead of a line of their own.
  function foldable(test) {
    const id = test.row.querySelector('.id');
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('aria-controls', test.more.id);
    button.append(...id.childNodes);
    id.append(button);
    test.button = button;
    unfold(test, false);
    button.addEventListener('click', () => unfold(test, test.more.hidden));
  }

  function filter() {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = target?.value ?? 'all targets';
    let count = 0;
    for (const test of tests) {
      const fits = wanted.has(test.verdict)
        && (only === 'all targets' || only === test.target)
        && words.every((word) => test.words.includes(word));
      if (fits) count += 1;
      const visible = fits && count <= limit;
      if (test.body.hidden === visible) test.body.hidden = !visible;
    }
    shown.textContent = `${Math.min(count, limit)} of ${tests.length} shown`;
    all.hidden = count <= limit;
    all.textContent = `Show ${count - limit} more`;
  }

  // Tests without a figure come last in both directions.
  function comparison(key, sign) {
    if (key === 'name') return (a, b) => sign * collator.compare(a.name, b.name) || a.place - b.place;
    if (key === 'verdict') return (a, b) => sign * (a.place - b.place);
    return (a, b) => {
      const [x, y] = [a[key], b[key]];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a.place - b.place;
      return sign * (x - y) || a.place - b.place;
    };
  }

  function sort(heading) {
    const key = heading.dataset.sort;
    const before = heading.getAttribute('aria-sort');
    // The largest first is what people look for in figures.
    const first = key === 'name' || key === 'verdict' ? 'ascending' : 'descending';
    const other = first === 'ascending' ? 'descending' : 'ascending';
    const order = before === first ? other : first;
    for (const one of headings) one.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', order);
    tests = [...tests].sort(comparison(key, order === 'ascending' ? 1 : -1));
    filter();
    table.append(...tests.map((test) => test.body));
  }

  // A frame of a flamegraph becomes as wide as the picture, and those above and below it with it.
  function zoom(chosen) {
    const frames = [...chosen.parentElement.children];
    const place = (frame) => {
      const { style, dataset } = frame;
      dataset.place ??= [style.left, style.width].map(Number.parseFloat).join(' ');
      return dataset.place.split(' ').map(Number);
    };
    const [from, whole] = place(chosen);
    for (const frame of frames) {
      const [left, width] = place(frame);
      const start = Math.max(0, (left - from) / whole);
      const end = Math.min(1, (left + width - from) / whole);
      frame.hidden = end - start < 0.001;
      frame.style.left = `${100 * start}%`;
      frame.style.width = `${100 * (end - start)}%`;
      // Names that did not fit are in what the pointer brings up.
      if (frame.textContent === '' && end - start > 0.02) frame.textContent = frame.title.split(': ')[0];
    }
  }
  table.addEventListener('click', (event) => {
    const frame = event.target.closest('.f');
    if (frame) zoom(frame);
  });

  const headings = [...table.tHead.querySelectorAll('th[data-sort]')];
  for (const heading of headings) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener('click', () => sort(heading));
  }
  table.tHead.querySelector('th.verdict').setAttribute('aria-sort', 'ascending');

  tests.filter((test) => test.more).forEach(foldable);
  form.addEventListener('input', () => { limit = most; filter(); });
  all.addEventListener('click', () => { limit = Infinity; filter(); });
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
  filter();
  table.classList.add('ready');
})();
