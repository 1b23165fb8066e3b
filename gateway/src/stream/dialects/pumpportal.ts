import { toUi } from '@sluice/shared/solana/amounts.ts';
import { isAddress } from '@sluice/shared/solana/base58.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { MigrationEvent, NewTokenEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import {
  dialectAcks,
  type DialectCommand,
  type DialectCreate,
  type DialectMethod,
  type DialectMigrate,
  type DialectTrade,
} from '@sluice/shared/wire/pumpportal.ts';
import { accountTradesTopic, migrationsTopic, newTokensTopic, tradesTopic, type Channel } from '@sluice/shared/wire/topics.ts';
import type { Connection } from '../session/connection.ts';
import type { EventCell } from '../history/event-cell.ts';
import { maxTopics, newRoom, type Publish } from '../fanout/fanout.ts';
import { subscriptionsBeyond } from '../session/key-usage.ts';
import { channelOutOfReach } from '../session/plan-reach.ts';

/** Venues whose trades run on a bonding curve; the others are pools. */
const curveVenues: ReadonlySet<string> = new Set(['pump', 'launchlab', 'meteora-dbc']);
/** Wrong keys that an answer names. */
const namedKeys = 3;

interface DialectRoom {
  readonly room: string;
  readonly members: Set<Connection>;
}

/**
 * The event as PumpPortal's clients read it, or null for one their protocol does not have. Amounts are whole coins.
 * What of it is in SOL is left out where the quote coin is another one and its price is not known; `newTokenBalance` is
 * left out always, as an event does not tell it.
 */
function dialectEvent(event: StreamEvent): DialectCreate | DialectTrade | DialectMigrate | null {
  switch (event.type) {
    case 'newToken':
      return createOf(event);
    case 'trade':
      return tradeOf(event);
    case 'migration':
      return migrateOf(event);
    default:
      return null;
  }
}

function createOf(event: NewTokenEvent): DialectCreate {
  const inSol = event.quoteMint === wrappedSolMint;
  return {
    signature: event.signature ?? '',
    mint: event.mint,
    traderPublicKey: event.trader,
    txType: 'create',
    initialBuy: event.initialBuy?.tokenAmount ?? 0,
    solAmount: event.initialBuy === null ? 0 : (event.initialBuy.solAmount ?? event.initialBuy.tokenAmount * (event.priceSol ?? 0)),
    bondingCurveKey: event.bondingCurve,
    vTokensInBondingCurve: toUi(BigInt(event.reserves.virtualBase), event.decimals),
    ...(inSol ? { vSolInBondingCurve: toUi(BigInt(event.reserves.virtualQuote), solDecimals) } : {}),
    ...optional('marketCapSol', event.marketCapSol),
    name: event.name,
    symbol: event.symbol,
    uri: event.uri,
    is_mayhem_mode: event.flags.mayhemMode,
    pool: event.pool,
    ...tailOf(event),
  };
}

function tradeOf(event: TradeEvent): DialectTrade {
  const inSol = event.quoteMint === wrappedSolMint;
  const { reserves, baseDecimals, quoteDecimals } = event;
  const solAmount = event.solAmount ?? (event.priceSol === null ? null : event.tokenAmount * event.priceSol);
  const base = {
    signature: event.signature ?? '',
    mint: event.mint,
    traderPublicKey: event.trader,
    txType: event.side,
    tokenAmount: event.tokenAmount,
    ...optional('solAmount', solAmount),
  } as const;
  const place = curveVenues.has(event.pool)
    ? {
        bondingCurveKey: event.poolAddress,
        vTokensInBondingCurve: toUi(BigInt(reserves.virtualBase), baseDecimals),
        ...(inSol ? { vSolInBondingCurve: toUi(BigInt(reserves.virtualQuote), quoteDecimals) } : {}),
      }
    : {
        tokensInPool: toUi(BigInt(reserves.realBase), baseDecimals),
        ...(inSol ? { solInPool: toUi(BigInt(reserves.realQuote), quoteDecimals) } : {}),
      };
  return { pool: event.pool, ...base, ...place, ...optional('marketCapSol', event.marketCapSol), ...tailOf(event) };
}

function migrateOf(event: MigrationEvent): DialectMigrate {
  return { signature: event.signature ?? '', mint: event.mint, txType: 'migrate', pool: event.pool };
}

function optional<Name extends string>(name: Name, value: number | null): Partial<Record<Name, number>> {
  return value === null ? {} : ({ [name]: value } as Record<Name, number>);
}

function tailOf(event: TradeEvent | NewTokenEvent): Pick<DialectTrade, 'quoteMint' | 'slot' | 'blockUnixTime' | 'simulated'> {
  return {
    slot: event.slot,
    ...(event.quoteMint === wrappedSolMint ? {} : { quoteMint: event.quoteMint }),
    ...(event.blockTime === null ? {} : { blockUnixTime: event.blockTime }),
    ...(event.simulated === true ? { simulated: true } : {}),
  };
}

/** The topics that a method's keys stand for, and the keys that are no addresses. */
function topicsOf(method: DialectMethod, keys: readonly string[] | undefined): { topics: string[]; wrong: string[] } {
  if (method.endsWith('NewToken')) return { topics: [newTokensTopic], wrong: [] };
  if (method.endsWith('Migration')) return { topics: [migrationsTopic], wrong: [] };
  const topicOf = method.endsWith('TokenTrade') ? tradesTopic : accountTradesTopic;
  const unique = [...new Set(keys)];
  return { topics: unique.filter(isAddress).map(topicOf), wrong: unique.filter((key) => !isAddress(key)) };
}

function channelOf(method: DialectMethod): Channel {
  if (method.endsWith('NewToken')) return 'newTokens';
  return method.endsWith('Migration') ? 'migrations' : 'trades';
}

/** Followers by the dialect: no positions, no filters; an event reaches a socket once, whatever of it matched. */
export class Dialect {
  readonly #rooms = new Map<string, DialectRoom>();
  readonly #publish: Publish;

  constructor(publish: Publish) {
    this.#publish = publish;
  }

  get topicCount(): number {
    return this.#rooms.size;
  }

  /** Carries out a command and returns the text of its answer. Keys are added to those before. */
  execute(connection: Connection, { method, keys }: DialectCommand): string {
    const { topics, wrong } = topicsOf(method, keys);
    if (topics.length + wrong.length > streamLimits.keysPerCommand) return `At most ${streamLimits.keysPerCommand} keys in one message.`;
    const isEnd = method.startsWith('unsubscribe');
    const known = connection.dialectTopics;
    const more = isEnd ? [] : topics.filter((topic) => known?.has(topic) !== true);
    if (connection.topicCount + more.length > streamLimits.subscriptionsPerConnection) {
      return `At most ${streamLimits.subscriptionsPerConnection} subscriptions on one connection.`;
    }
    const { principal, usage } = connection;
    if (principal !== null && usage !== null && !isEnd) {
      const fault = channelOutOfReach(principal.plan, channelOf(method), false) ?? subscriptionsBeyond(principal.plan, usage, more.length);
      if (fault !== null) return fault.message;
    }
    if (this.#rooms.size + more.length > maxTopics) return `This gateway follows at most ${maxTopics} topics.`;
    if (isEnd) {
      const everything = keys === undefined && method.endsWith('Trade');
      for (const topic of everything ? this.#tradeTopics(connection, method) : topics) this.#leave(connection, topic);
    } else for (const topic of more) this.#join(connection, topic);
    if (wrong.length === 0) return dialectAcks[method];
    const named = wrong.slice(0, namedKeys).map((key) => key.slice(0, 64));
    const others = wrong.length > namedKeys ? ` and ${wrong.length - namedKeys} more` : '';
    return `Not addresses: ${named.join(', ')}${others}. ${topics.length > 0 ? dialectAcks[method] : 'No keys were taken.'}`;
  }

  leaveAll(connection: Connection): void {
    for (const topic of connection.dialectTopics ?? []) this.#leave(connection, topic);
  }

  onEntry(entry: LogEntry, cell: EventCell): void {
    if (this.#rooms.size === 0) return;
    let first: DialectRoom | null = null;
    let others: DialectRoom[] | null = null;
    for (let i = 0; i < entry.topics.length; i++) {
      const room = this.#rooms.get(entry.topics[i]!.topic);
      if (room === undefined) continue;
      if (first === null) first = room;
      else (others ??= []).push(room);
    }
    if (first === null) return;
    const message = dialectEvent(cell.event);
    if (message === null) return;
    const bytes = Buffer.from(JSON.stringify(message));
    this.#publish(first.room, bytes, false);
    if (others !== null) deliverOnce(first, others, bytes);
  }

  #tradeTopics(connection: Connection, method: DialectMethod): string[] {
    const ofAccounts = method.endsWith('AccountTrade');
    return [...(connection.dialectTopics ?? [])].filter(
      (topic) => topic.startsWith('trades:') && topic.startsWith('trades:@') === ofAccounts,
    );
  }

  #join(connection: Connection, topic: string): void {
    let room = this.#rooms.get(topic);
    if (room === undefined) this.#rooms.set(topic, (room = { room: newRoom(), members: new Set() }));
    room.members.add(connection);
    (connection.dialectTopics ??= new Set()).add(topic);
    if (connection.usage !== null) connection.usage.subscriptions++;
    connection.enter(room.room);
  }

  #leave(connection: Connection, topic: string): void {
    const room = this.#rooms.get(topic);
    if (connection.dialectTopics?.delete(topic) !== true || room === undefined) return;
    room.members.delete(connection);
    if (connection.usage !== null) connection.usage.subscriptions--;
    connection.leave(room.room);
    if (room.members.size === 0) this.#rooms.delete(topic);
  }
}

/** To those in `others` who are not in `first` (which had it by publish), each once. */
function deliverOnce(first: DialectRoom, others: readonly DialectRoom[], bytes: Uint8Array): void {
  const served = new Set<Connection>();
  for (const { members } of others) {
    for (const member of members) {
      if (first.members.has(member) || served.has(member)) continue;
      served.add(member);
      member.writeDialect(bytes);
    }
  }
}
