import { oneLine, printableJson, terminalJson, terminalText } from '@sluice/shared/runtime/log/terminal-text.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { expect, it } from 'vitest';
import { eventLine } from '../../cli/commands/watch/event-line.ts';
import { follow, type WatchHandlers } from '../../cli/commands/watch/follow.ts';
import { paintFor } from '../../cli/commands/watch/paint.ts';
import { addressOf, candleEvent, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';

/** Clears the screen, sets the title (C0 and C1), turns the text around, ends the line, hides a character. */
const hostile = '\u001B[2J\u001B]0;t\u0007\u009B31m\u202Etxet\u2066\r\n\u2028\u200B\u{E0001}\uD800';
const acts = /[\p{C}\p{Zl}\p{Zp}]/u;
const colours = paintFor({ isTTY: true });
// oxlint-disable-next-line no-control-regex
const withoutColours = (text: string): string => text.replaceAll(/\u001B\[\d+m/g, '');

/** The same value with the text at the end of each of its texts. */
function poisoned<T>(value: T): T {
  if (typeof value === 'string') return `${value}${hostile}` as T;
  if (Array.isArray(value)) return value.map((each: unknown) => poisoned(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, name === 'type' ? each : poisoned(each as unknown)])) as T;
}

it('no text of an event acts on the terminal', () => {
  const mint = addressOf(1);
  const retract = { type: 'retract', id: 'id' };
  const wrong = [retract, { type: 'other' }, { type: 'trade' }, { ...tradeEvent(mint), ts: { received: 'x', published: 1 } }];
  const events = [tradeEvent(mint), priceEvent(mint), newTokenEvent(mint), migrationEvent(mint), candleEvent(mint), ...wrong];
  for (const event of events as readonly unknown[] as readonly StreamEvent[]) {
    const line = eventLine(poisoned(event), colours, { symbolOf: () => hostile });
    expect(withoutColours(line), event.type).not.toMatch(acts);
  }
});

it('no text of a gateway acts on the terminal', async () => {
  const notices: string[] = [];
  const handlers: WatchHandlers = { onEvent: () => undefined, onNotice: (text) => void notices.push(text) };
  const sluice = {
    subscribe: (_: string, options: Record<string, (value: unknown) => void>) => {
      options['onGap']!({ topic: hostile, from: 1, to: 2, reason: hostile });
      options['onRejected']!([{ key: hostile, code: hostile }]);
      options['onStatus']!({ state: 'down', reason: hostile, inMs: 1 });
      return [];
    },
  };
  await follow(sluice as never, { channel: 'trades', mints: [], accounts: [], interval: null }, handlers, new AbortController().signal);
  expect(notices).toHaveLength(3);
  expect(notices.join('')).not.toMatch(acts);
});

it('printed text keeps our colours and lines only; JSON keeps its value', () => {
  expect(oneLine(`a${hostile}b`)).toBe('a[2J]0;t31mtxetb');
  expect(terminalText(`${colours.buy('a')}\n\tb${hostile}`)).toBe(`${colours.buy('a')}\n\tb[2J]0;t31mtxet\n`);
  const json = JSON.stringify({ text: `\\${hostile}\\u001b` });
  expect(terminalJson(json)).not.toMatch(acts);
  expect(JSON.parse(terminalJson(json))).toEqual(JSON.parse(json));
  expect(JSON.parse(printableJson(json))).toEqual({ text: '\\[2J]0;t31mtxet\n\uD800\\u001b' });
});
