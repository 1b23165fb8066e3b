import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import type { Format, FrameHead } from '@sluice/shared/wire/stream/frames.ts';
import type { Batch } from './batcher.ts';
import type { CompiledFilter } from './filters.ts';

/** A topic with at least one follower. */
export interface TopicState {
  readonly topic: string;
  /** Its frames are published once their slots are confirmed. */
  readonly confirmed: boolean;
  readonly head: FrameHead;
  /** `seq` of the last frame published. If `confirmed`, every frame up to it is decided. */
  seq: number;
  movedAtTick: number;
  readonly groups: Group[];
  /** Each sends a message, once, directly after the next frame of the topic. The transport then needs one write for both. */
  readonly afterFrame: Set<() => void>;
  /**
   * The same, after the next batch that is published at the end of a turn. Earlier, an event may be on its way to only some of its followers,
   * and a heartbeat would name it to the others before they get it.
   */
  readonly afterBatch: Set<() => void>;
}

/** The followers of one topic that get exactly the same bytes. They share one room (a set of sockets) of the transport. */
export interface Group {
  readonly topic: TopicState;
  readonly room: string;
  readonly format: Format;
  readonly filter: CompiledFilter | null;
  /** Null without `?batch=1`. */
  readonly batch: Batch | null;
  /** Id of the key that used this group first. The filter counts against the limit of that key. */
  readonly ownerKeyId: string;
  /** With a filter: `seq` of the last frame that passed. If none has passed yet (`prevIsExact` is false), the position at which the first follower began. */
  prev: number;
  prevIsExact: boolean;
  /** Connections in the group, including those that still replay. */
  members: number;
}

/** How far the gateway has followed the log. */
export type BusPosition = Pick<BusSubscriber, 'epoch' | 'position'>;

export type Publish = (room: string, message: Uint8Array, binary: boolean) => void;

let rooms = 0;
/** A name for a room, unique in this process. */
export function newRoom(): string {
  return (rooms++).toString(36);
}

/** Sends each message that waits, and removes it. */
export function sendAll(waiting: Set<() => void>): void {
  for (const send of waiting) {
    waiting.delete(send);
    send();
  }
}
