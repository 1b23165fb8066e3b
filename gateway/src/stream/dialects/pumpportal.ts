import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { dialectAcks, type DialectCommand, type DialectMethod } from '@sluice/shared/wire/stream/pumpportal.ts';
import { accountTradesTopic, poolsTopic, tradesTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import { maxTopics } from '../fanout/fanout.ts';
import { newRoom, type Publish } from '../fanout/topic-group.ts';
import type { LazyEvent } from '../history/lazy-event.ts';
import type { Connection } from '../session/connection.ts';
import { countDialectTopic, exceededKeyless, exceededSubscriptions } from '../session/usage.ts';
import { missingChannel } from '../../auth/plan-features.ts';
import { pumpPortalEvent, type SupplyOf } from './pumpportal-events.ts';

/** Invalid keys that a reply names. */
const namedKeys = 3;

interface DialectRoom {
  readonly room: string;
  readonly members: Set<Connection>;
}

function channelOf(method: DialectMethod): Channel {
  if (method.endsWith('NewToken')) return 'newTokens';
  if (method.endsWith('Liquidity')) return 'pools';
  return method.endsWith('Migration') ? 'migrations' : 'trades';
}

/** The topics that a method and its keys name, and the keys that are not addresses. */
function topicsOf(method: DialectMethod, keys: readonly string[] | undefined): { topics: string[]; invalid: string[] } {
  const channel = channelOf(method);
  const unique = [...new Set(keys)];
  if (channel !== 'trades' && (channel !== 'pools' || unique.length === 0)) return { topics: [channel], invalid: [] };
  const topicOf = channel === 'pools' ? poolsTopic : method.endsWith('TokenTrade') ? tradesTopic : accountTradesTopic;
  return { topics: unique.filter(isAddress).map(topicOf), invalid: unique.filter((key) => !isAddress(key)) };
}

/** Why a connection may not follow these further topics; null if it may. */
function limitFault({ principal, usage }: Connection, method: DialectMethod, more: readonly string[]): string | null {
  if (usage === null) return null;
  if (principal === null) return exceededKeyless(usage, more);
  const fault = missingChannel(principal, channelOf(method), false) ?? exceededSubscriptions(principal.plan, usage, more.length);
  return fault?.message ?? null;
}

/** The followers that use PumpPortal's protocol. It has no positions and no filters. An event reaches a socket once, even if it matches twice. */
export class PumpPortalDialect {
  readonly #rooms = new Map<string, DialectRoom>();
  readonly #publish: Publish;
  supplyOf: SupplyOf = () => null;

  constructor(publish: Publish) {
    this.#publish = publish;
  }

  get topicCount(): number {
    return this.#rooms.size;
  }

  /** Carries out a command and returns the text of its reply. New keys are added to the keys that are followed already. */
  execute(connection: Connection, { method, keys }: DialectCommand): string {
    const { topics, invalid } = topicsOf(method, keys);
    if (topics.length + invalid.length > streamLimits.keysPerCommand) return `At most ${streamLimits.keysPerCommand} keys in one message.`;
    const isEnd = method.startsWith('unsubscribe');
    if (!isEnd && topics.length + invalid.length === 0) return 'Nothing is followed: `keys` must list at least one address.';
    const current = connection.dialectTopics;
    const more = isEnd ? [] : topics.filter((topic) => current?.has(topic) !== true);
    if (connection.topicCount + more.length > streamLimits.subscriptionsPerConnection) {
      return `At most ${streamLimits.subscriptionsPerConnection} subscriptions on one connection.`;
    }
    const fault = isEnd ? null : limitFault(connection, method, more);
    if (fault !== null) return fault;
    if (this.#rooms.size + more.length > maxTopics) return `This gateway follows at most ${maxTopics} topics.`;
    if (isEnd) {
      // Some clients send an empty list where others send none.
      const wholeChannel = (keys ?? []).length === 0;
      for (const topic of wholeChannel ? this.#topicsOf(connection, method) : topics) this.#unfollow(connection, topic);
    } else for (const topic of more) this.#follow(connection, topic);
    if (invalid.length === 0) return dialectAcks[method];
    const named = invalid.slice(0, namedKeys).map((key) => key.slice(0, 64));
    const others = invalid.length > namedKeys ? ` and ${invalid.length - namedKeys} more` : '';
    return `Not addresses: ${named.join(', ')}${others}. ${topics.length > 0 ? dialectAcks[method] : 'No keys were accepted.'}`;
  }

  unfollowAll(connection: Connection): void {
    for (const topic of connection.dialectTopics ?? []) this.#unfollow(connection, topic);
  }

  onEntry(entry: LogEntry, lazy: LazyEvent): void {
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
    const message = pumpPortalEvent(lazy.event, this.supplyOf);
    if (message === null) return;
    const bytes = Buffer.from(JSON.stringify(message));
    this.#publish(first.room, bytes, false);
    if (others !== null) sendOnce(first, others, bytes);
  }

  /** The topics of the kind of a method that a connection follows. */
  #topicsOf(connection: Connection, method: DialectMethod): string[] {
    const channel = channelOf(method);
    const ofAccounts = method.endsWith('AccountTrade');
    return [...(connection.dialectTopics ?? [])].filter(
      (topic) => topic.split(':', 1)[0] === channel && topic.startsWith(accountTradesTopic('')) === ofAccounts,
    );
  }

  #follow(connection: Connection, topic: string): void {
    let room = this.#rooms.get(topic);
    if (room === undefined) this.#rooms.set(topic, (room = { room: newRoom(), members: new Set() }));
    room.members.add(connection);
    (connection.dialectTopics ??= new Set()).add(topic);
    if (connection.usage !== null) countDialectTopic(connection.usage, topic, 1);
    connection.joinRoom(room.room);
  }

  #unfollow(connection: Connection, topic: string): void {
    const room = this.#rooms.get(topic);
    if (connection.dialectTopics?.delete(topic) !== true || room === undefined) return;
    room.members.delete(connection);
    if (connection.usage !== null) countDialectTopic(connection.usage, topic, -1);
    connection.leaveRoom(room.room);
    if (room.members.size === 0) this.#rooms.delete(topic);
  }
}

/** Sends a message once to each member of `others`, except the members of `first`, who got it as a published message. */
function sendOnce(first: DialectRoom, others: readonly DialectRoom[], bytes: Uint8Array): void {
  const served = new Set<Connection>();
  for (const { members } of others) {
    for (const member of members) {
      if (first.members.has(member) || served.has(member)) continue;
      served.add(member);
      member.writeDialect(bytes);
    }
  }
}
