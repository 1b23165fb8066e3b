import { Sluice } from '@sluice/client';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { onStop } from '@sluice/shared/runtime/process/on-stop.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { candleIntervalNames, isCandleInterval } from '@sluice/shared/wire/values/intervals.ts';
import { channelNames, channels, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import { action, CommandError, inQuotes, loadConfig, option, UsageError } from '../../command-line/command.ts';
import { gatewayUrl, httpUrl } from '../../gateway/gateway-probe.ts';
import { keyForSluice, openKey, otherStore } from '../keys/command-key.ts';
import { headingLine } from './event-line.ts';
import { follow, refusedKey, type WatchedKeys } from './follow.ts';
import { Names } from './names.ts';
import { paintFor } from './paint.ts';
import { Printer } from './printer.ts';
import { onReaderGone, print, printError, printJson } from '../../command-line/terminal.ts';

export const command = action({
  about: 'Print live events.',
  args: {
    '<channel>': channelNames.join(', '),
    '[target…]':
      'the address of a mint, or @ and the address of a wallet. Wallets work with trades only. trades without targets prints the trades of all tokens',
  },
  options: {
    interval: option('NAME', `interval of candles: ${candleIntervalNames.join(', ')}. Default: 1m`),
    url: option('URL', 'the URL of the gateway. Default: from HOST and PORT'),
    key: option(
      'API_KEY',
      'API key. Default: SLUICE_API_KEY, or else a temporary key that watch creates in the store and deletes at its end. orders needs the API key whose orders you want to see',
    ),
  },
  json: 'print one JSON event a line',
  more: `It reconnects when the connection is lost, says why, and runs until Ctrl-C. On a terminal it uses colours (NO_COLOR turns them off), repeats
the names of the columns on each screen, and shows the rate of events every ten seconds.`,
  examples: [
    'watch trades',
    'watch newTokens --json | head -1',
    'watch pools',
    'watch candles <mint> --interval 5m    (newTokens shows mints)',
  ],
  async run(values, positionals) {
    const subscription = readSubscription(positionals, values.interval);
    const given = values.key ?? process.env['SLUICE_API_KEY'];
    if ('own' in channels[subscription.channel] && !given)
      throw new UsageError(`${subscription.channel} requires the API key whose ${subscription.channel} you want to see: --key API_KEY`);
    const config = loadConfig();
    const url = httpUrl(values.url ?? gatewayUrl(config));
    const key = await openKey(given, config, async () => ({ label: 'sluice watch', accountId: null, scopes: ['stream', 'read'] }));
    const controller = new AbortController();
    onStop(process.env, () => controller.abort());
    onReaderGone(() => controller.abort());
    let apiKey = '';
    const sluice = new Sluice({ url, apiKey: keyForSluice(url, config, async () => (apiKey = await key.get())) });
    // It uses the key of the stream. If it created another key, the key of the stream would be deleted.
    const reader = new Sluice({ url, apiKey: async () => apiKey, retries: 0 });
    const printer = values.json ? null : printerOf(new Names(reader, controller.signal), subscription.channel);
    try {
      const end = await follow(
        sluice,
        subscription,
        {
          onEvent: (event) => (printer === null ? printJson(event) : printer.print(event as StreamEvent)),
          onNotice: (text) => printError(text),
        },
        controller.signal,
      );
      printer?.close();
      if (end !== null) throw new CommandError(end.startsWith(refusedKey) && !given ? `${end}\n${otherStore('watch', config)}` : end);
      return 0;
    } finally {
      sluice.close();
      reader.close();
      await key.close();
    }
  },
});

/** The terminal may be so small that a heading for each screen would hide the events. */
const minHeadingEvery = 20;
/** Lines of a terminal that show something else: the heading, the prompt, notices. */
const otherRows = 4;

function printerOf(names: Names, channel: Channel): Printer {
  const note = process.stdout.isTTY && process.stderr.isTTY ? (text: string) => printError(text) : null;
  return new Printer(names, paintFor(process.stdout), {
    line: print,
    note,
    // In a pipe, each line is an event.
    heading: process.stdout.isTTY ? headingLine(channel) : null,
    headingEvery: () => Math.max(minHeadingEvery, process.stdout.rows - otherRows),
  });
}

function readSubscription([name = '', ...keys]: readonly string[], interval: string | undefined): WatchedKeys {
  const channel = channelNames.find((candidate) => candidate === name);
  if (channel === undefined) throw new UsageError(`There is no channel ${inQuotes(name)}.`);
  const accounts = keys.filter((key) => key.startsWith('@')).map((key) => key.slice(1));
  const mints = keys.filter((key) => !key.startsWith('@'));
  const wrong = [...mints, ...accounts].filter((key) => !isAddress(key));
  if (wrong.length > 0) throw new UsageError(`not an address: ${wrong.map(inQuotes).join(', ')}`);
  const takes: { readonly keys: readonly string[]; readonly all?: boolean } = channels[channel];
  if (mints.length > 0 && !takes.keys.includes('mints') && channel !== 'programs') throw new UsageError(`${channel} takes no mints`);
  if (accounts.length > 0 && !takes.keys.includes('accounts')) throw new UsageError(`${channel} takes no wallets`);
  if (keys.length === 0 && takes.keys.length > 0 && takes.all !== true)
    throw new UsageError(`${channel} needs a ${channel === 'programs' ? 'program' : 'mint'}`);
  if (channel !== 'candles') {
    if (interval !== undefined) throw new UsageError(`${channel} takes no --interval`);
    return { channel, mints, accounts, interval: null };
  }
  if (interval !== undefined && !isCandleInterval(interval)) {
    throw new UsageError(`--interval takes one of ${candleIntervalNames.join(', ')}`);
  }
  return { channel, mints, accounts, interval: interval ?? '1m' };
}
