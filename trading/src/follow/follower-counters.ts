import type { PollCounter } from './evidence/status-poller.ts';

export type FollowerCounter =
  | PollCounter
  | 'followed'
  | 'takenOver'
  | 'forgotten'
  | 'advanced'
  | 'stale'
  | 'contradictions'
  | 'storeFailures'
  | 'refused';

export type FollowerCounters = Record<FollowerCounter, number>;

export const noFollowerCounts: Readonly<FollowerCounters> = {
  polls: 0,
  heights: 0,
  malformed: 0,
  unanswered: 0,
  followed: 0,
  takenOver: 0,
  forgotten: 0,
  advanced: 0,
  stale: 0,
  contradictions: 0,
  storeFailures: 0,
  refused: 0,
};
