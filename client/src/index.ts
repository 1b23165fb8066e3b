export { SluiceError, type SluiceErrorFields } from './errors.ts';
export { printable } from './printable.ts';
export { Triggers, type OnceOptions } from './http/triggers.ts';
export { Sluice, type SluiceOptions, type TradeOptions } from './sluice.ts';
export type { RequestOptions } from './http/requests.ts';
export type { OpenSocket, Socket } from './stream/connection.ts';
export type { EventOf, Heartbeat, Status, SubscribeOptions, Subscription, VenueName } from './stream/subscription.ts';
export type * from './wire.ts';
