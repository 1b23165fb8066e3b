import type { Random } from '../simnet/market/random.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { falseTrade, repricedCurve, type AccountJson } from './lies.ts';

/** A notification as the node sends it. */
export interface Frame {
  readonly method: string;
  readonly params: { readonly subscription: number; readonly result: Record<string, unknown> };
}

/** Sends a client a frame, after `delayMs`. */
export type Say = (frame: Frame | string, delayMs?: number) => void;
/** Receives each notification and sends what it chooses instead. */
export type PubsubLie = (frame: Frame, say: Say, random: Random) => void;

/** A wallet that never trades. */
export const ghost = wallet('liars', 'ghost').publicKey;
const slotsAhead = 50;
const soonMs = 25;
const floodFrames = 2_000;
const longText = 'x'.repeat(2 * 1024 * 1024);

const copyOf = (frame: Frame): Frame => structuredClone(frame);
const isAccount = ({ method }: Frame): boolean => method === 'accountNotification';

function repriced(frame: Frame, how: 'cheap' | 'dear', slotsMore = 0): Frame {
  const copy = copyOf(frame);
  const { context, value } = copy.params.result as unknown as { context: { slot: number }; value: AccountJson };
  context.slot += slotsMore;
  repricedCurve(value, how);
  return copy;
}

/** Sends another curve after each true update, or instead of it. */
function curveLie(how: 'cheap' | 'dear', { instead = false, slotsMore = 0 } = {}): PubsubLie {
  return (frame, say) => {
    if (!instead || !isAccount(frame)) say(frame);
    if (isAccount(frame)) say(repriced(frame, how, slotsMore), instead ? 0 : soonMs);
  };
}

const base58Letters = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'.split('');
const signatureOf = (random: Random): string => Array.from({ length: 88 }, () => random.pick(base58Letters)).join('');

/** A copy of a log with false trades; null if the frame has none. */
function withFalseTrades(frame: Frame, trade: Parameters<typeof falseTrade>[1]): Frame | null {
  if (frame.method !== 'logsNotification') return null;
  const copy = copyOf(frame);
  const value = copy.params.result['value'] as { logs: string[] };
  const logs = value.logs.map((line) => falseTrade(line, trade));
  if (logs.every((line, at) => line === value.logs[at])) return null;
  value.logs = logs;
  return copy;
}

/** Lies about what happened on the market, so that orders that wait are placed, or are not. */
export const falseMarkets: Readonly<Record<string, PubsubLie>> = {
  'trades at false prices': (frame, say, random) => say(withFalseTrades(frame, { how: random.pick(['cheap', 'dear'] as const) }) ?? frame),
  'trades that never happened': (frame, say, random) => {
    say(frame);
    const invented = withFalseTrades(frame, { how: random.pick(['cheap', 'dear'] as const), by: ghost });
    if (invented === null) return;
    (invented.params.result['value'] as Record<string, unknown>)['signature'] = signatureOf(random);
    say(invented, soonMs);
  },
  'trades are hidden': (frame, say) => {
    if (!isAccount(frame) && frame.method !== 'logsNotification') say(frame);
  },
};

/** False values in the correct form. */
export const falseFrames: Readonly<Record<string, PubsubLie>> = {
  'expensive curves after each update': curveLie('dear'),
  'cheap curves after each update': curveLie('cheap'),
  'expensive curves instead of each update': curveLie('dear', { instead: true }),
  'expensive curves of the next slot': curveLie('dear', { slotsMore: 1 }),
  'future slots': (frame, say) => {
    const copy = copyOf(frame);
    const { result } = copy.params;
    if (copy.method === 'slotNotification') for (const name of ['slot', 'parent']) result[name] = Number(result[name]) + slotsAhead;
    say(copy);
  },
  'updates are repeated': (frame, say) => {
    for (let times = 0; times < 3; times++) say(frame, times * soonMs);
  },
  'updates are missing': (frame, say, random) => {
    if (!isAccount(frame) && (frame.method !== 'logsNotification' || random.chance(0.5))) say(frame);
  },
  'invented events': (frame, say, random) => {
    say(frame);
    if (frame.method !== 'logsNotification' || !random.chance(0.1)) return;
    const copy = copyOf(frame);
    (copy.params.result['value'] as Record<string, unknown>)['signature'] = signatureOf(random);
    say(copy);
  },
  'landed transactions have failed': (frame, say) => {
    const copy = copyOf(frame);
    if (copy.method === 'logsNotification')
      (copy.params.result['value'] as Record<string, unknown>)['err'] = { InstructionError: [2, { Custom: 6002 }] };
    say(copy);
  },
};

/** Faults after which an endpoint is dropped for a while. */
export const brokenFrames: Readonly<Record<string, PubsubLie>> = {
  'large frames': (frame, say) => {
    const copy = copyOf(frame);
    copy.params.result['more'] = longText;
    say(copy);
  },
  'no JSON': (frame, say, random) => say(random.pick(['{', '', `${JSON.stringify(frame)}]`, '['.repeat(50_000), '\u0000'])),
  'a flood': (frame, say) => {
    for (let times = 0; times < floodFrames; times++) say(frame);
  },
};
