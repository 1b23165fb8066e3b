import { SluiceError } from '@sluice/client';
import type { CandleInterval, Channel, EventOf, Gap, RejectedKey, Sluice, Status } from '@sluice/client';
import { oneLine } from '@sluice/shared/runtime/log/terminal-text.ts';

export interface WatchedKeys {
  readonly channel: Channel;
  readonly mints: readonly string[];
  readonly accounts: readonly string[];
  /** For candles; null for other channels. */
  readonly interval: CandleInterval | null;
}

export interface WatchHandlers {
  onEvent(event: EventOf<Channel>): void;
  /** A message for the user: connected, connection lost, gap. */
  onNotice(text: string): void;
}

/** Event ids that are remembered, so that an event on two topics is shown once. The oldest are dropped. */
const maxSeenIds = 8_192;

export const refusedKey = 'the gateway refused the API key';
/** The same reason is shown again after this time. */
const repeatAfterMs = 10_000;

/** Follows one channel until the signal aborts. Returns why it ended; null for the signal. */
export async function follow(sluice: Sluice, keys: WatchedKeys, handlers: WatchHandlers, signal: AbortSignal): Promise<string | null> {
  const notice = (text: string): void => handlers.onNotice(oneLine(text));
  const { channel, mints, accounts, interval } = keys;
  const seen = new Set<string>();
  const isNew = (id: string): boolean => {
    if (seen.has(id)) return false;
    seen.add(id);
    const [oldest] = seen.size > maxSeenIds ? seen : [];
    if (oldest !== undefined) seen.delete(oldest);
    return true;
  };
  let last: { readonly reason: string | null; readonly atMs: number } = { reason: null, atMs: 0 };
  const subscription = sluice.subscribe(channel, {
    ...(mints.length > 0 && { mints }),
    ...(accounts.length > 0 && { accounts }),
    ...(interval !== null && { interval }),
    signal,
    onGap: ({ topic, from, to, reason }: Gap) => notice(`gap in ${topic}: ${from} to ${to ?? 'unknown'} (${reason})`),
    onRejected: (rejected: readonly RejectedKey[]) => {
      for (const { key, code } of rejected) notice(`"${key}" is rejected: ${code}`);
    },
    onStatus: (status: Status) => {
      // A gateway that stays unreachable is not reported at each attempt.
      const reason = status.state === 'live' ? null : status.reason;
      const nowMs = performance.now();
      if (reason !== null && reason === last.reason && nowMs - last.atMs < repeatAfterMs) return;
      last = { reason, atMs: nowMs };
      notice(statusText(status));
    },
  });
  try {
    for await (const event of subscription) if (event.type === 'retract' || isNew(event.id)) handlers.onEvent(event);
    return null;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    if (error.code === 'UNAUTHENTICATED' && error.details['closeCode'] === undefined) return `${refusedKey}: ${oneLine(error.message)}`;
    return oneLine(error.message);
  }
}

function statusText(status: Status): string {
  if (status.state === 'live') return `connected to ${status.url}`;
  return `${status.reason}; reconnecting in ${(status.inMs / 1000).toFixed(1)} s`;
}
