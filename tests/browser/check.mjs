// Opens the HTML reports in headless Chromium. Says what it saw, and ends with 1 if a rule is broken.
// Usage: node check.mjs PAGES, where PAGES was filled by `cargo bench --bench html`.

import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'node_modules', 'none.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const pages = resolve(process.argv[2]);
const mostBytes = 5_000_000;
const problems = [];

function check(holds, what) {
  if (!holds) problems.push(what);
  console.log(`${holds ? 'ok    ' : 'BROKEN'} ${what}`);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});

// A page of its own for each check: nothing is left over from another one. What it complains about is a problem.
async function open(name, options, see) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const asked = [];
  page.on('console', (message) => check(false, `${name}: nothing on the console: ${message.text()}`));
  page.on('pageerror', (error) => check(false, `${name}: no errors: ${error.message}`));
  page.on('dialog', (dialog) => { check(false, `${name}: no dialogs`); dialog.dismiss(); });
  page.on('request', (request) => asked.push(request.url()));
  const url = pathToFileURL(join(pages, `${name}.html`)).href;
  await page.goto(url);
  await see(page);
  const foreign = asked.filter((one) => one !== url);
  check(foreign.length === 0, `${name}: asks for nothing else ${foreign.join(' ')}`);
  await context.close();
}

const shown = (page) => page.locator('#tests > tbody:visible').count();
const names = (page) => page.locator('#tests > tbody:visible .id').allTextContents();
const column = async (page, name) => page.locator(`#tests > tbody:visible td.${name}`).allTextContents();

async function sorts(page) {
  const percents = async () => (await column(page, 'change')).map((text) => Number.parseFloat(text));
  const isSorted = (figures, sign) => figures.every((x, i) => i === 0 || sign * (x - figures[i - 1]) >= 0);
  const change = page.getByRole('columnheader', { name: 'Change' });
  await change.getByRole('button').click();
  check(await change.getAttribute('aria-sort') === 'descending', 'few: a click sorts, the largest change first, and says so');
  check(isSorted(await percents(), -1), 'few: changes fall');
  await change.getByRole('button').press('Enter');
  check(isSorted(await percents(), 1), 'few: a key sorts the other way round');
  await page.getByRole('checkbox', { name: 'Not measured' }).check();
  const rows = page.locator('#tests > tbody');
  check(await rows.last().getAttribute('class') === 'unmeasured', 'few: tests without figures come last');
  await page.getByRole('columnheader', { name: 'Test' }).getByRole('button').click();
  const sorted = await names(page);
  const expected = [...sorted].sort(new Intl.Collator('en', { numeric: true }).compare);
  check(sorted.join() === expected.join(), 'few: names are sorted');
  check(await page.locator('th[aria-sort]').count() === 1, 'few: one column is the sorted one');
}

async function filters(page) {
  const all = await shown(page);
  check(await page.locator('#tests > tbody.unmeasured:visible').count() === 0, 'few: measured tests alone at first');
  await page.getByRole('checkbox', { name: 'Not measured' }).check();
  check(await shown(page) === all + 3, 'few: a verdict can be added');
  await page.getByRole('searchbox').fill('parser LONG');
  check((await names(page)).join() === 'parser::tests::long_lines', 'few: text finds a test');
  check((await page.getByRole('status').textContent()).startsWith('1 of 11'), 'few: how many are shown is said');
  await page.getByRole('searchbox').fill('');
  await page.getByRole('checkbox', { name: 'Slower' }).uncheck();
  check(await shown(page) === all, 'few: a verdict can be taken away');
}

async function unfolds(page) {
  const button = page.getByRole('button', { name: 'parser::tests::long_lines' });
  check(await button.getAttribute('aria-expanded') === 'false', 'few: details are folded');
  await button.press('Enter');
  check(await button.getAttribute('aria-expanded') === 'true', 'few: a key unfolds them');
  check(await page.locator('.plot:visible').count() === 2, 'few: both plots are there');
  check(await page.locator('.flame:visible .f').count() > 4, 'few: the flamegraph is there');
  check(await page.getByText('Why it got slower').isVisible(), 'few: the explanation is there');
  const frame = page.locator('.flame:visible .f', { hasText: 'lexer::word' });
  const before = (await frame.boundingBox()).width;
  await frame.click();
  check((await frame.boundingBox()).width > 1.2 * before, 'few: a click makes a frame wider');
  await page.locator('.flame:visible .f').first().click();
  check(Math.abs((await frame.boundingBox()).width - before) < 1, 'few: one on the first frame puts it back');
  const filled = await page.locator('.plot:visible circle').evaluateAll((dots) => dots.every((dot) => dot.getBoundingClientRect().width > 3));
  check(filled, 'few: dots have a size');
}

async function unfoldAll(page) {
  for (const button of await page.locator('.id button').all()) await button.click();
}

async function isNotWide(page, what = 'few') {
  const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  check(width <= room, `${what}: ${width} px of content on a screen of ${room}`);
}

async function isAccessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const grave = violations.filter((one) => ['serious', 'critical'].includes(one.impact));
  const told = grave.map((one) => `\n         ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`);
  check(grave.length === 0, `${what}: axe-core finds nothing serious (${violations.length} lesser)${told.join('')}`);
}

// Prints the time from the start of the navigation until the page was laid out and its script done.
async function isSmall(name) {
  await open(name, {}, async (page) => {
    const took = await page.evaluate(() => new Promise((done) => {
      requestAnimationFrame(() => setTimeout(() => done(performance.now())));
    }));
    console.log(`       ${name}: shown in ${Math.round(took)} ms`);
  });
  const { size } = statSync(join(pages, `${name}.html`));
  check(size < mostBytes, `${name}: ${size} bytes`);
}

async function isThereWithoutScripts(page) {
  check(await shown(page) === 11, 'few without scripts: all tests');
  check(await page.getByRole('heading', { name: '3 tests got slower' }).isVisible(), 'few without scripts: the answer');
  check(await page.locator('#filter').isHidden(), 'few without scripts: no controls that do nothing');
  const details = page.locator('#tests > tbody', { hasText: 'long_lines' }).first().locator('.more > td > details');
  await details.locator('summary').first().click();
  check(await details.locator('.plot').first().isVisible(), 'few without scripts: details with plots');
}

await open('few', {}, sorts);
await open('few', {}, filters);
await open('few', {}, unfolds);
// Some names in the report are scripts that would set the title.
await open('few', {}, async (page) => {
  const title = await page.title();
  check(title.endsWith(': main → working tree – cargo-perfunit'), `few: names are not obeyed (title: ${title})`);
});
for (const colorScheme of ['light', 'dark']) {
  await open('few', { colorScheme }, async (page) => {
    await unfoldAll(page);
    await page.getByRole('checkbox', { name: 'Not measured' }).check();
    await isAccessible(page, `few, ${colorScheme}`);
  });
}
await open('few', { viewport: { width: 360, height: 740 } }, async (page) => {
  await unfoldAll(page);
  await isNotWide(page);
  await isAccessible(page, 'few, on a telephone');
});
await open('few', { javaScriptEnabled: false }, isThereWithoutScripts);
await open('nothing', {}, async (page) => {
  check(await page.getByText('only comments, documentation comments and formatting differ (2 files)').isVisible(), 'nothing: says why');
  await isAccessible(page, 'nothing');
});
for (const colorScheme of ['light', 'dark']) {
  await open('log', { colorScheme }, (page) => isAccessible(page, `log, ${colorScheme}`));
}
await open('log', { viewport: { width: 360, height: 740 } }, async (page) => {
  await isNotWide(page, 'log');
  await isAccessible(page, 'log, on a telephone');
});
await open('log', { javaScriptEnabled: false }, async (page) => {
  check(await page.locator('#commits > tbody > tr').count() === 60, 'log without scripts: all commits');
  check(await page.locator('.plot.course circle').first().isVisible(), 'log without scripts: courses');
});
await open('log', {}, async (page) => {
  await page.locator('.moves a').first().click();
  check(await page.locator('#commits tr:target').isVisible(), 'log: a step leads to its commit');
});
await isSmall('many');
await isSmall('measured');
await browser.close();

if (problems.length > 0) {
  console.log(`${problems.length} broken`);
  process.exit(1);
}
