import type { Format } from '@sluice/shared/wire/frames.ts';
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
  /** In the list of its topic: its heartbeat is sent behind the next frame. */
  queued: boolean;
  /** Its heartbeat may be sent now, before its tick. */
  early: 'no' | 'allowed' | 'sent';
}
