import { SluiceError, type EventOf } from '@sluice/client';
import { faultText, simulated, sluice } from '../state/server.ts';
import { soon } from '../state/bounded.ts';
import { Store } from '../state/store.ts';
import { learnImage } from '../state/metadata/images.ts';
import { capOf, forgetCaps, learnCap } from '../state/metadata/market-caps.ts';
import { learnName, nameOf } from '../state/metadata/names.ts';
import { EventList } from './event-list.ts';
import { noFilters, passes, type Known, type LiveEvent, type LiveFilters } from './filters.ts';

/** Maximum number of events of a kind that are remembered. Events that the filters hide are forgotten first, so rare matches stay. */
const maxEvents = 400;
/**
 * Events of the past that the page reads when it is opened, so that the lists are full and recent symbols can be found. A new token is usually two
 * events: itself, and its metadata.
 */
const past = { newTokens: 1_000, trades: 200, pools: 100, migrations: 100 } as const;
/** The lists are drawn at most this often, milliseconds: more cannot be read. */
const drawEveryMs = 300;

export type LiveChannel = keyof typeof past;
const channels = Object.keys(past) as LiveChannel[];

/** Newest first. */
export type FeedState = { readonly [C in LiveChannel]: readonly Exclude<EventOf<C>, { type: 'retract' | 'tokenMetadata' }>[] };
export interface Connection {
  readonly state: 'connecting' | 'live' | 'reconnecting' | 'ended';
  readonly detail: string;
  /** Events that are missing and cannot be replayed, as far as their number is known. */
  readonly missed: number;
  /** Events per second over the last seconds. */
  readonly rate: number;
  /** From the notification of the chain to this page. */
  readonly delayMs: number | null;
  /** Why the server does not send a list, by channel. */
  readonly refused: Readonly<Partial<Record<LiveChannel, string>>>;
}

const idle: Connection = { state: 'connecting', detail: '', missed: 0, rate: 0, delayMs: null, refused: {} };
export const feed = new Store<FeedState>({ newTokens: [], trades: [], pools: [], migrations: [] });
export const connection = new Store<Connection>(idle);
/** While true, events are remembered, but the lists do not change. */
export const isPaused = new Store(false);

export const filters = new Store<LiveFilters>(noFilters);
export const known: Known = { nameOf, capOf };

const isShown = (event: LiveEvent): boolean => passes(event, filters.value, known);
const lists = Object.fromEntries(channels.map((channel) => [channel, new EventList<LiveEvent>(maxEvents, isShown)])) as Readonly<
  Record<LiveChannel, EventList<LiveEvent>>
>;
let subscriptions: readonly { close(): void }[] = [];
let events = 0;
let delayMs: number | null = null;

const draw = soon(() => {
  if (isPaused.value) return;
  feed.set(Object.fromEntries(channels.map((channel) => [channel, lists[channel].newestFirst])) as unknown as FeedState);
}, drawEveryMs);

function noteEvent(event: LiveEvent, isPast: boolean): void {
  const atUs = event.ts.received;
  if (!isPast) {
    events++;
    if (event.late !== true) delayMs = Math.max(0, Date.now() - atUs / 1_000);
  }
  simulated.set(event.simulated === true);
  learnCap(event.mint, event.marketCapUsd, atUs);
  draw();
}

function retract(id: string): void {
  for (const channel of channels) lists[channel].remove(id);
  draw();
}

const contents: Readonly<Record<LiveChannel, string>> = {
  newTokens: 'new tokens',
  trades: 'the trades of all tokens',
  pools: 'pools',
  migrations: 'migrations',
};

/** Why the server does not send a list, for people. A plan that lacks the list is named with those that have it. */
function refusalText(channel: LiveChannel, error: unknown): string {
  const { plan, plans } = (error instanceof SluiceError ? error.details : {}) as { readonly plan?: string; readonly plans?: unknown };
  if (plan === undefined || !Array.isArray(plans)) return faultText(error);
  const others =
    plans.length > 1
      ? `The plans ${plans.join(' and ')} include`
      : plans.length === 1
        ? `The plan ${plans[0]} includes`
        : 'No plan includes';
  const instead = channel === 'trades' ? ' The page of a token shows its trades.' : '';
  return `Your plan is ${plan}. ${others} ${contents[channel]}.${instead}`;
}

/** A subscription has ended for good. The server may refuse one list, while the others continue. */
function end(channel: LiveChannel, error: unknown): void {
  const { value } = connection;
  const isRefused = error instanceof SluiceError && error.code === 'FORBIDDEN';
  connection.set(
    isRefused
      ? { ...value, refused: { ...value.refused, [channel]: refusalText(channel, error) } }
      : { ...value, state: 'ended', detail: faultText(error) },
  );
}

/** Follows a channel, from its recent past on. */
function follow(channel: LiveChannel) {
  const subscription = sluice.subscribe<LiveChannel>(channel, {
    onGap: (gap) => {
      // The gateway was behind the one before it. Nothing is lost.
      if (gap.reason === 'ahead') return;
      const lost = gap.to === null ? 1 : Math.max(0, gap.to - gap.from + 1);
      connection.set({ ...connection.value, missed: connection.value.missed + lost });
    },
    onStatus: (status) => {
      connection.set({ ...connection.value, state: status.state, detail: status.state === 'live' ? '' : status.reason });
    },
    last: past[channel],
    onError: (error) => end(channel, error),
    onEvent: (event) => {
      if (event.type === 'retract') return retract(event.id);
      if (event.type === 'tokenMetadata') {
        learnName(event.mint, event);
        if (event.image !== null) learnImage(event.mint);
        return;
      }
      if (event.type === 'newToken') learnName(event.mint, { ...event, createdAtMs: event.ts.received / 1_000 });
      lists[channel].add(event);
      noteEvent(event, subscription.isPast);
    },
  });
  return subscription;
}

/** Follows all lists on one connection, until `stopFeed`. */
export function startFeed(): void {
  if (subscriptions.length > 0) return;
  connection.set(idle);
  subscriptions = channels.map(follow);
}

export function stopFeed(): void {
  for (const subscription of subscriptions) subscription.close();
  subscriptions = [];
  for (const channel of channels) lists[channel].clear();
  forgetCaps();
  draw();
}

let before = 0;
setInterval(() => {
  const rate = events - before;
  before = events;
  const smooth = connection.value.rate === 0 ? rate : connection.value.rate * 0.7 + rate * 0.3;
  connection.set({ ...connection.value, rate: smooth, delayMs });
}, 1_000);
