// Takes the pictures of the documents: the terminal at 80 and 200 columns, the HTML report, a pull request comment.
//
// Usage: node pictures.mjs RUN IMAGES. RUN has terminal-80.txt, terminal-200.txt, report.html and comment.md of one run.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'node_modules', 'none.js'));
const { chromium } = require('playwright-core');
const { marked } = await import(pathToFileURL(join(process.cwd(), 'node_modules/marked/lib/marked.esm.js')).href);
const [run, images] = process.argv.slice(2);
const read = (name) => readFileSync(join(run, name), 'utf8');
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });

// Pictures end below the content, or at a height.
async function take(name, { width, colorScheme = 'light', height }, show) {
  const context = await browser.newContext({ viewport: { width, height: 400 }, colorScheme });
  const page = await context.newPage();
  await show(page);
  const bottom = height ?? await page.evaluate(() => Math.ceil(document.body.getBoundingClientRect().height));
  const across = await page.evaluate(() => Math.ceil(document.body.getBoundingClientRect().width));
  await page.screenshot({ path: join(images, `${name}.png`), fullPage: true, clip: { x: 0, y: 0, width: height ? width : across, height: bottom } });
  await context.close();
  console.log(`${name}.png`);
}

// Colors of the terminal's escape sequences that the tool uses.
const styles = {
  1: 'font-weight:bold', 2: 'color:#8b929e', 31: 'color:#e06c75', 32: 'color:#98c379', 33: 'color:#e5c07b',
  34: 'color:#61afef', 35: 'color:#c678dd', 36: 'color:#56b6c2',
};

function colored(text) {
  const [first, ...rest] = text.split('\x1b[');
  let current = [];
  const spans = rest.map((part) => {
    const [, codes, shown] = part.match(/^([\d;]*)m(.*)$/s) ?? ['', '', ''];
    for (const code of codes.split(';')) current = Number(code) === 0 ? [] : [...current, styles[code] ?? ''];
    return shown && `<span style="${current.join(';')}">${escaped(shown)}</span>`;
  });
  return escaped(first) + spans.join('');
}

for (const columns of [80, 200]) {
  const text = `\x1b[2m$\x1b[0m cargo perfunit diff HEAD~1\n${read(`terminal-${columns}.txt`).replaceAll('\r', '').trimEnd()}`;
  const page = `<!doctype html><body style="margin:0;background:#1e2127;color:#dcdfe4;display:inline-block">
    <pre style="margin:0;padding:12px 16px;font:14px/19px 'DejaVu Sans Mono',monospace;width:${columns}ch">${colored(text)}</pre>`;
  await take(`terminal-${columns}`, { width: 10 * columns + 40 }, (tab) => tab.setContent(page));
}

async function report(page) {
  await page.goto(pathToFileURL(join(run, 'report.html')).href);
  await page.locator('#tests .id button').first().click();
}

await take('report', { width: 1100, height: 1300 }, report);
await take('report-dark', { width: 1100, height: 700, colorScheme: 'dark' }, report);
await take('report-narrow', { width: 420, height: 900 }, report);
await take('report-narrow-dark', { width: 420, height: 900, colorScheme: 'dark' }, report);

const look = readFileSync(require.resolve('github-markdown-css/github-markdown.css'), 'utf8');
const comment = `<!doctype html><style>${look}</style><body style="margin:0"><article class="markdown-body" style="padding:16px 24px">
  ${marked.parse(read('comment.md'))}</article>`;
const show = (page) => page.setContent(comment);
await take('comment', { width: 900 }, show);
await take('comment-dark', { width: 900, colorScheme: 'dark' }, show);
await take('comment-narrow', { width: 420 }, show);

await browser.close();
