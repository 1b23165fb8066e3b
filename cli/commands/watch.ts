import { createApiKey, deleteApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { StreamEvent } from '@sluice/shared/wire/events.ts';
import { candleIntervalNames, isCandleInterval } from '@sluice/shared/wire/intervals.ts';
import { channelNames, channels } from '@sluice/shared/wire/topics.ts';
import { CommandError, UsageError, loadConfig, onReaderGone, parseCommand, printJson, shown, type Command } from '../command.ts';
import { gatewayUrl } from '../gateway-url.ts';
import { listenerAt } from '../listener-owner.ts';
import { colourPaint, eventLine, plainPaint } from '../watch/event-line.ts';
import { followStream, type Subscription } from '../watch/stream-client.ts';

const keyLabel = 'sluice watch';
/** The key that watch makes for itself ends by then, should watch be killed before it can revoke it; it goes on with another one. */
const keyLifeMs = 15 * 60_000;

export const watchCommand: Command = {
  help: `Usage: sluice watch <channel> [key…] [--interval 1m] [--url http://127.0.0.1:8080] [--key API_KEY] [--json]

  channel   ${channelNames.join(', ')}
  key       a mint; for trades also @wallet. trades without keys are all trades.
  interval  of candles: ${candleIntervalNames.join(', ')}; 1m unless said.

Connects to the running gateway (HOST and PORT, or --url) with the key of --key or SLUICE_API_KEY. Without one it makes a key in
the store under DATA_DIR and takes it back when it ends; orders are those of a key, which has to be given. --json prints one event per
line. Ctrl-C ends it.`,
  async run(argv) {
    const { values, positionals } = parseCommand(argv, {
      url: { type: 'string' },
      key: { type: 'string' },
      json: { type: 'boolean', default: false },
      interval: { type: 'string' },
    });
    const subscription = readSubscription(positionals, values.interval);
    const given = values.key ?? process.env['SLUICE_API_KEY'];
    if ('own' in channels[subscription.channel] && !given)
      throw new UsageError(`${subscription.channel} are those of a key: give it with --key`);
    const config = loadConfig();
    const url = streamUrl(values.url ?? gatewayUrl(config));
    const key = await openKey(given, config);
    const controller = new AbortController();
    const stop = (): void => (controller.signal.aborted ? process.exit(130) : controller.abort());
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    onReaderGone(() => controller.abort());
    const paint = process.stdout.isTTY && process.env['NO_COLOR'] === undefined ? colourPaint : plainPaint;
    try {
      const end = await followStream({
        url,
        subscription,
        apiKey: async () => {
          const listener = listenerAt(url, config);
          if (listener.kind === 'foreign') throw new CommandError(listener.fault);
          return listener.kind === 'nobody' ? null : await key.get();
        },
        renewsKey: key.isOwn,
        signal: controller.signal,
        handlers: {
          onEvent: (event) => (values.json ? printJson(event) : console.log(eventLine(event as StreamEvent, paint))),
          onNotice: (text) => console.error(text),
        },
      });
      if (end !== null) throw new CommandError(end);
      return 0;
    } finally {
      await key.close();
    }
  },
};

function readSubscription([name, ...keys]: readonly string[], interval: string | undefined): Subscription {
  if (name === undefined) throw new UsageError('missing: <channel>');
  const channel = channelNames.find((candidate) => candidate === name);
  if (channel === undefined) throw new UsageError(`There is no channel ${shown(name)}.`);
  const accounts = keys.filter((key) => key.startsWith('@')).map((key) => key.slice(1));
  const mints = keys.filter((key) => !key.startsWith('@'));
  const takes: { readonly keys: readonly string[]; readonly all?: boolean } = channels[channel];
  if (mints.length > 0 && !takes.keys.includes('mints')) throw new UsageError(`${channel} takes no keys`);
  if (accounts.length > 0 && !takes.keys.includes('accounts')) throw new UsageError(`${channel} takes no wallets`);
  if (keys.length === 0 && takes.keys.length > 0 && takes.all !== true) throw new UsageError(`${channel} needs a mint`);
  if (channel !== 'candles') {
    if (interval !== undefined) throw new UsageError(`${channel} takes no --interval`);
    return { channel, mints, accounts, interval: null };
  }
  if (interval !== undefined && !isCandleInterval(interval)) {
    throw new UsageError(`--interval takes one of ${candleIntervalNames.join(', ')}`);
  }
  return { channel, mints, accounts, interval: interval ?? '1m' };
}

function streamUrl(base: string): string {
  if (!URL.canParse(base) || !/^(http|ws)s?:$/.test(new URL(base).protocol))
    throw new UsageError('--url takes an address like http://127.0.0.1:8080');
  const url = new URL(base);
  url.protocol = url.protocol.replace('http', 'ws');
  if (url.pathname === '/') url.pathname = '/api/data';
  return url.href;
}

interface WatchKey {
  readonly isOwn: boolean;
  get(): Promise<string>;
  close(): Promise<void>;
}

async function openKey(given: string | undefined, config: Config): Promise<WatchKey> {
  if (given !== undefined && given !== '') return { isOwn: false, get: async () => given, close: async () => {} };
  const store = await openStore(config);
  let id: string | null = null;
  const takeBack = async (): Promise<void> => {
    if (id !== null) await deleteApiKey(store, id);
    id = null;
  };
  return {
    isOwn: true,
    get: async () => {
      await takeBack();
      const made = await makeKey(store);
      id = made.id;
      return made.key;
    },
    close: async () => {
      await takeBack();
      await store.close();
    },
  };
}

async function makeKey(store: Store): Promise<{ readonly id: string; readonly key: string }> {
  const expiresAtMs = Date.now() + keyLifeMs;
  const operators = { label: keyLabel, accountId: null, ipRanges: [], limits: null };
  const made = await createApiKey(store, { ...operators, plan: 'enterprise', scopes: ['stream'], expiresAtMs });
  if (!made.ok) throw new CommandError('The store holds as many keys as it takes.');
  return made.shown;
}
