import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** What servers and streams call their states: the page uses these words as classes next to another one. */
const words = ['live', 'paper', 'off', 'ended', 'confirmed', 'finalized', 'failed', 'expired', 'unknown', 'submitted'];

it.each(['base', 'layout', 'pages'])('%s.css has no rule for every element with a word of the server', (name) => {
  const css = readFileSync(new URL(`../../site/web/src/style/${name}.css`, import.meta.url), 'utf8').replaceAll(/\w:is\([^()]*\)/g, '');
  expect(words.filter((word) => new RegExp(`(^|[\\s,>]|:(has|where)\\()\\.${word}[\\s,){:]`, 'm').test(css))).toEqual([]);
});
