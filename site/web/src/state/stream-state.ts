import { Sluice, type Channel, type SluiceOptions, type SubscribeOptions, type Subscription } from '@sluice/client';
import { Store } from './store.ts';

/** A gateway sends a heartbeat each second. After this time without a message, what the page shows may be old. */
const silentMs = 1_500;
/**
 * If the newest slot is older than this, what the page shows may be old. A slot of an absent leader takes as long as another, and a leader has four
 * in a row. The reports of ingest and their way take half a second.
 */
const slotStaleMs = 1_600;
/** A subscription that is not live for this long is reported. */
const interruptedMs = 1_000;
const checkEveryMs = 250;
const heartbeatHead = '{"op":"heartbeat"';

/** When the stream last showed everything that the page follows, Unix milliseconds; null while it does. */
export const interruptedSince = new Store<number | null>(null);
/** Whether the connection works, and the nodes or ingest have stopped. */
export const isChainSilent = new Store(false);

/** When each connection last brought a message, milliseconds of `performance.now()`. */
const heardAt = new Map<WebSocket, number>();
/** When ingest saw the newest slot, as of the last heartbeat of each connection, if that was too long before. */
const staleSlotAt = new Map<WebSocket, number>();
/** Subscriptions that are not live, and since when. */
const notLiveSince = new Map<Pick<Subscription<Channel>, 'isEnded'>, number>();

function openSocket(url: string): WebSocket {
  const socket = new WebSocket(url);
  const hear = (): void => void heardAt.set(socket, performance.now());
  socket.addEventListener('open', hear);
  socket.addEventListener('message', ({ data }) => {
    hear();
    if (typeof data === 'string' && data.startsWith(heartbeatHead)) noteSlotAge(socket, data);
  });
  // The client reports the state of the subscriptions from here on.
  socket.addEventListener('close', () => {
    heardAt.delete(socket);
    staleSlotAt.delete(socket);
  });
  return socket;
}

function noteSlotAge(socket: WebSocket, heartbeat: string): void {
  const { slotAgeMs } = JSON.parse(heartbeat) as { readonly slotAgeMs: number | null };
  if (slotAgeMs === null || slotAgeMs <= slotStaleMs) staleSlotAt.delete(socket);
  else staleSlotAt.set(socket, performance.now() - slotAgeMs);
}

/** The client of the page, which notices if the stream is silent or interrupted. */
export class WatchedSluice extends Sluice {
  constructor(options: SluiceOptions) {
    super({ openSocket, ...options });
  }

  override subscribe<C extends Channel>(channel: C, options: SubscribeOptions<C> = {}): Subscription<C> {
    const subscription: Subscription<C> = super.subscribe(channel, {
      ...options,
      onStatus: (status) => {
        if (status.state === 'live') notLiveSince.delete(subscription);
        else if (!notLiveSince.has(subscription)) notLiveSince.set(subscription, performance.now());
        options.onStatus?.(status);
      },
    });
    notLiveSince.set(subscription, performance.now());
    return subscription;
  }
}

setInterval(() => {
  const nowMs = performance.now();
  for (const subscription of notLiveSince.keys()) if (subscription.isEnded) notLiveSince.delete(subscription);
  const isOpen = (socket: WebSocket): boolean => socket.readyState === WebSocket.OPEN;
  const silent = [...heardAt].flatMap(([socket, atMs]) => (isOpen(socket) && nowMs - atMs > silentMs ? [atMs] : []));
  const patienceMs = interruptedSince.value === null ? interruptedMs : 0;
  const interrupted = [...notLiveSince.values()].filter((sinceMs) => nowMs - sinceMs >= patienceMs);
  isChainSilent.set(silent.length === 0 && interrupted.length === 0 && staleSlotAt.size > 0);
  const oldest = Math.min(...silent, ...interrupted, ...staleSlotAt.values());
  if (!Number.isFinite(oldest)) return interruptedSince.set(null);
  const since = Date.now() - (nowMs - oldest);
  // A connection that was silent first, and is then replaced, has been interrupted since it was silent.
  interruptedSince.set(Math.min(since, interruptedSince.value ?? since));
}, checkEveryMs);
