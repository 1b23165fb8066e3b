import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import type { TopicState } from '../fanout/topic-group.ts';

/** What connections with the same heartbeats have in common: one topic or none, and the form of their messages. */
export interface HeartbeatKind {
  readonly key: string;
  /** Valid while the room has a member. */
  readonly topic: TopicState | null;
  readonly format: Format;
  readonly batch: boolean;
}

/** Connections of one kind. Their heartbeat is one message to this room of the transport. */
export interface HeartbeatRoom extends HeartbeatKind {
  readonly room: string;
  readonly slice: number;
  members: number;
  /** Sends its heartbeat before its tick. */
  readonly sendEarly: () => void;
  /** Its heartbeat was sent early, so none is due at its next tick. */
  sentEarly: boolean;
}
