import { Sluice, type Channel, type SluiceOptions, type SubscribeOptions, type Subscription } from '@sluice/client';
import { Store } from './store.ts';

/** Above this age, the page says how old its numbers are. A chain has several slots a second, and each takes half a second to be known here. */
const oldMs = 1_000;
/** Above this age, the page says why. Before it, an absent leader of the chain may be the reason. */
const interruptedMs = 2_000;
/** A connection on which nothing arrives for this long is silent. A gateway sends a heartbeat each second. */
const silentMs = 1_500;
const pingEveryMs = 200;
/** After a ping that the plan refuses. */
const pingPauseMs = 1_000;
const checkEveryMs = 100;
/** The `id` of a ping is this, and when it was sent. The ids of the client are smaller. */
const firstPing = 10 ** 13;
const heads = /^\{"(op":"heartbeat"|id":100\d{11},)/;

/** How old the numbers of the page are, milliseconds; null if at most a second. */
export const numbersAgeMs = new Store<number | null>(null);
/** Since when the page does not know the chain, Unix milliseconds; null at first. */
export const interruptedSince = new Store<number | null>(null);
/** Whether the connection works, and the nodes or ingest have stopped. */
export const isChainSilent = new Store(false);

/** An open connection, in milliseconds of `performance.now()`. */
interface Heard {
  /** The page knows all slots of the chain that were seen up to this time. */
  currentAt: number;
  heardAtMs: number;
  /** No ping before this time. */
  pingAtMs: number;
}

const heard = new Map<WebSocket, Heard>();
/** Subscriptions that are not live, and up to when they were. */
const notLive = new Map<Pick<Subscription<Channel>, 'isEnded'>, number>();
/** What the oldest connection or subscription knew at the last check. */
let currentAt = performance.now();

function openSocket(url: string): WebSocket {
  const socket = new WebSocket(url);
  socket.addEventListener('open', () => {
    const nowMs = performance.now();
    heard.set(socket, { currentAt: nowMs, heardAtMs: nowMs, pingAtMs: 0 });
  });
  socket.addEventListener('message', (event) => note(heard.get(socket)!, event));
  socket.addEventListener('close', () => heard.delete(socket));
  return socket;
}

/** Reads how old the newest slot is. The client must not see the replies to commands that it has not sent. */
function note(of: Heard, event: MessageEvent): void {
  const nowMs = performance.now();
  of.heardAtMs = nowMs;
  if (!heads.test(event.data as string)) return;
  const { id, slotAgeMs } = JSON.parse(event.data as string) as { readonly id?: number; readonly slotAgeMs?: number | null };
  if (id !== undefined) event.stopImmediatePropagation();
  if (slotAgeMs === undefined) of.pingAtMs = nowMs + pingPauseMs;
  else if (slotAgeMs !== null) of.currentAt = Math.max(of.currentAt, (id === undefined ? nowMs : id - firstPing) - slotAgeMs);
}

/** The client of the page, which notices if the stream is silent or interrupted, and if it brings nothing new of the chain. */
export class WatchedSluice extends Sluice {
  constructor(options: SluiceOptions) {
    super({ openSocket, ...options });
  }

  override subscribe<C extends Channel>(channel: C, options: SubscribeOptions<C> = {}): Subscription<C> {
    const subscription: Subscription<C> = super.subscribe(channel, {
      ...options,
      onStatus: (status) => {
        if (status.state === 'live') notLive.delete(subscription);
        else if (!notLive.has(subscription)) notLive.set(subscription, currentAt);
        options.onStatus?.(status);
      },
    });
    notLive.set(subscription, performance.now());
    return subscription;
  }
}

function ping(): void {
  const nowMs = performance.now();
  for (const [socket, { pingAtMs }] of heard) {
    if (socket.readyState === WebSocket.OPEN && nowMs >= pingAtMs) socket.send(`{"id":${firstPing + Math.floor(nowMs)},"op":"ping"}`);
  }
}

function check(): void {
  const nowMs = performance.now();
  for (const subscription of notLive.keys()) if (subscription.isEnded) notLive.delete(subscription);
  const open = [...heard].flatMap(([socket, of]) => (socket.readyState === WebSocket.OPEN ? [of] : []));
  currentAt = Math.min(nowMs, ...notLive.values(), ...open.map((of) => of.currentAt));
  const ageMs = nowMs - currentAt;
  numbersAgeMs.set(ageMs > oldMs ? Math.floor(ageMs) : null);
  isChainSilent.set(notLive.size === 0 && open.every(({ heardAtMs }) => nowMs - heardAtMs < silentMs));
  const since = Math.round(Date.now() - ageMs);
  // Two clocks differ by a millisecond now and then.
  if (ageMs <= interruptedMs) interruptedSince.set(null);
  else if (Math.abs(since - (interruptedSince.value ?? 0)) >= checkEveryMs) interruptedSince.set(since);
}

setInterval(ping, pingEveryMs);
setInterval(check, checkEveryMs);
document.addEventListener('visibilitychange', ping);
