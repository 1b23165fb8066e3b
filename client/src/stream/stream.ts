import type { Channel } from '../wire.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { Subscription, type AnySubscription, type SubscribeOptions, type SubscriptionHost } from './subscription.ts';

/** All subscriptions of one client, on as few connections as possible. */
export class Stream implements SubscriptionHost {
  readonly #options: ConnectionOptions;
  readonly #connections = new Map<AnySubscription, Connection>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  subscribe<C extends Channel>(channel: C, options: SubscribeOptions<C>): Subscription<C> {
    const subscription = new Subscription(channel, options, this);
    if (subscription.isEnded) return subscription;
    const shared = [...new Set(this.#connections.values())].find((connection) => connection.hasRoomFor(subscription));
    const connection = shared ?? new Connection(this.#options);
    this.#connections.set(subscription, connection);
    connection.add(subscription);
    return subscription;
  }

  pause(subscription: AnySubscription): void {
    this.#connections.get(subscription)?.pause(subscription);
  }

  resume(subscription: AnySubscription): void {
    this.#connections.get(subscription)?.resume(subscription);
  }

  remove(subscription: AnySubscription): void {
    const connection = this.#connections.get(subscription);
    this.#connections.delete(subscription);
    connection?.remove(subscription);
  }

  close(): void {
    for (const subscription of this.#connections.keys()) subscription.close();
  }
}
