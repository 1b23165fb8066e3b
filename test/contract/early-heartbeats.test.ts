import { LogEntry } from '@sluice/shared/bus/bus.ts';
import { Fanout } from '../../gateway/src/stream/fanout/fanout.ts';
import { StreamStats } from '../../gateway/src/stream/fanout/stream-stats.ts';
import { HeartbeatRooms } from '../../gateway/src/stream/connections/heartbeat.ts';
import { sliceCount } from '../../gateway/src/stream/connections/slices.ts';
import { LazyEvent } from '../../gateway/src/stream/history/lazy-event.ts';
import type { Connection } from '@sluice/gateway/stream/session/connection.ts';
import { TopicMap } from '@sluice/gateway/stream/session/topic-map.ts';
import type { Group } from '../../gateway/src/stream/fanout/topic-group.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const json = Buffer.from('{}');
const half = sliceCount / 2;
/** PROTOCOL.md: a heartbeat arrives at most 400 ms early. */
const earliest = (sliceCount * 3) / 5;

/** Followers of `trades` in one room, and the log of what is published to them: `seq` of frames, heartbeats with their position. */
function follow(followers: number, batched: boolean) {
  const published: string[] = [];
  const publish = (_room: string, message: Uint8Array): void => {
    const parsed = JSON.parse(Buffer.from(message).toString()) as unknown;
    for (const { op, seq, positions } of [parsed].flat() as readonly {
      op?: string;
      seq?: number;
      positions?: Record<string, { seq: number }>;
    }[])
      published.push(op === 'heartbeat' ? `heartbeat ${positions!['trades']!.seq}` : `frame ${seq}`);
  };
  const bus = { epoch: 'e', position: () => 0 };
  const history = { read: () => null, newest: () => 0, oldest: () => 0 };
  const fanout = new Fanout(publish, new StreamStats(), bus, history);
  const rooms = new HeartbeatRooms({ fanout, bus, publish, slotAgeMs: () => null });
  for (let i = 0; i < followers; i++) {
    const topics = new TopicMap<Group>();
    topics.set('trades', fanout.acquire('trades', 'json', batched, null, 'key')!);
    const session = { authenticated: true, usesOps: true };
    const rest = { format: 'json', batch: batched, catchingUp: false, heartbeatRoom: null };
    rooms.place({ topics, session, ...rest, joinRoom: () => undefined, leaveRoom: () => undefined } as unknown as Connection);
  }
  let seq = 0;
  const event = (): void => {
    const entry = new LogEntry(++seq, [{ topic: 'trades', seq }], json);
    fanout.onEntry(entry, new LazyEvent(entry));
    // Batches are published at the end of a turn, or some milliseconds later.
    if (batched) vi.advanceTimersByTime(streamLimits.batchMs);
  };
  const ticks = (from: number, to: number): void => {
    for (let tick = from; tick < to; tick++) rooms.beat(tick % sliceCount);
  };
  return { published, event, ticks };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

it.each([false, true])(
  'sends the heartbeat of a full room after a frame that comes shortly before it is due, with batches: %s',
  (batched) => {
    const { published, event, ticks } = follow(60, batched);
    ticks(1, earliest);
    event();
    expect(published).toEqual(['frame 1']);
    ticks(earliest, earliest + 1);
    event();
    event();
    expect(published.splice(0)).toEqual(['frame 1', 'frame 2', 'heartbeat 2', 'frame 3']);
    // Not once more at its tick.
    ticks(earliest + 1, sliceCount + half);
    expect(published).toEqual([]);
  },
);

it('sends one heartbeat a second without events, and to a small room only at its tick', () => {
  const quiet = follow(60, false);
  quiet.ticks(1, 3 * sliceCount + 1);
  expect(quiet.published).toEqual(['heartbeat 0', 'heartbeat 0', 'heartbeat 0']);
  const small = follow(3, false);
  small.ticks(1, sliceCount);
  small.event();
  small.ticks(sliceCount, sliceCount + 1);
  expect(small.published).toEqual(['frame 1', 'heartbeat 1']);
});
