import { venueByProgram } from '@sluice/venues/registry.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { GrpcStream } from './grpc-stream.ts';
import type { GrpcFilters } from './messages.ts';
import { UpdateDecoder, type ReadUpdate } from './read-update.ts';

/** What the reader needs to start. */
export interface ReaderSettings {
  /** `slot`: the newest that an earlier reader received; 0 if there was none. */
  readonly endpoints: readonly { readonly url: string; readonly slot: number }[];
  readonly token: string | null;
  readonly filters: GrpcFilters;
}

/** Updates of an endpoint, in order. `bytes`: the length of their messages. */
export interface UpdateBatch {
  readonly kind: 'updates';
  readonly endpoint: number;
  readonly updates: readonly ReadUpdate[];
  readonly bytes: number;
  readonly receivedUs: number;
}

/** From the reader. `reason` is fit to be logged. `missed`: the endpoint did not send all of the slots after `fromSlot`, up to `toSlot`. */
export type FromReader =
  | UpdateBatch
  | { readonly kind: 'state'; readonly endpoint: number; readonly isUp: boolean; readonly reason: string }
  | { readonly kind: 'counts'; readonly endpoint: number; readonly counts: SocketCounts }
  | { readonly kind: 'missed'; readonly endpoint: number; readonly fromSlot: number; readonly toSlot: number };

/** To the reader. `taken`: these bytes were processed, and it may read as many more. `fault`: an update had no valid content. */
export type ToReader =
  | { readonly kind: 'taken'; readonly endpoint: number; readonly bytes: number }
  | { readonly kind: 'fault'; readonly endpoint: number }
  | { readonly kind: 'close' };

/**
 * The connections to all endpoints. It runs in a thread of its own, which also decodes the transactions: neither TLS nor a replay nor the size of a
 * transaction delays an event.
 */
export class GrpcReader {
  readonly #life = new AbortController();
  readonly #endpoints: readonly GrpcStream[];

  constructor({ endpoints, token, filters }: ReaderSettings, emit: (message: FromReader) => void, clock: Clock) {
    const { signal } = this.#life;
    const decoder = new UpdateDecoder(filters.programs.flatMap((program) => venueByProgram.get(program) ?? []));
    const parts = { token, filters, decoder, emit, clock, signal };
    this.#endpoints = endpoints.map((one, endpoint) => new GrpcStream({ ...one, ...parts, endpoint }));
  }

  /** Ends when it is closed. */
  async run(): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.run()));
  }

  take(message: ToReader): void {
    if (message.kind === 'close') this.#life.abort();
    else if (message.kind === 'taken') this.#endpoints[message.endpoint]?.taken(message.bytes);
    else this.#endpoints[message.endpoint]?.fault('content');
  }
}
