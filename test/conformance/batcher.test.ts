import { Batcher, type Batch } from '../../gateway/src/stream/fanout/batcher.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let batcher: Batcher;
let batch: Batch;
const published: string[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'], now: 1_000_000 });
  published.length = 0;
  batcher = new Batcher((_batch, message) => void published.push(Buffer.from(message).toString()));
  const topic = { afterBatch: new Set<() => void>() };
  batch = { format: 'json', room: 'r', topic, buffer: null, length: 0, count: 0, publishedAtMs: 0 };
  vi.advanceTimersByTime(streamLimits.batchPauseMs);
});
afterEach(() => vi.useRealTimers());

function add(frame: string): void {
  const bytes = Buffer.from(frame);
  batcher.reserve(batch, bytes.length).set(bytes, batch.length);
  batcher.added(batch, batch.length + bytes.length);
}

describe('a batch', () => {
  it('is published at the end of the turn if its topic paused, with all that arrived in the turn', () => {
    for (const frame of ['1', '2', '3']) add(frame);
    expect(published).toEqual([]);
    vi.advanceTimersByTime(0);
    expect(published).toEqual(['[1,2,3]']);
  });

  it('is collected for its time if its topic did not pause', () => {
    add('1');
    vi.advanceTimersByTime(streamLimits.batchPauseMs - 1);
    add('2');
    vi.advanceTimersByTime(streamLimits.batchMs - 1);
    add('3');
    expect(published).toEqual(['[1]']);
    vi.advanceTimersByTime(1);
    expect(published).toEqual(['[1]', '[2,3]']);
    vi.advanceTimersByTime(streamLimits.batchPauseMs);
    add('4');
    vi.advanceTimersByTime(0);
    expect(published.at(-1)).toBe('[4]');
  });

  it('lets others send after it only at the end of a turn, when each event is in the batches of all its followers', () => {
    const after: number[] = [];
    const wait = (): void => void batch.topic.afterBatch.add(() => after.push(published.length));
    wait();
    for (let at = 0; at < streamLimits.batchEvents; at++) add(String(at));
    add('last');
    batcher.flush(batch);
    expect([published.length, after]).toEqual([2, []]);
    vi.advanceTimersByTime(streamLimits.batchMs);
    expect(after).toEqual([]);
    add('next');
    vi.advanceTimersByTime(streamLimits.batchMs);
    expect([published.length, after]).toEqual([3, [3]]);
  });

  it('is published when it is full, and what follows in the same turn is collected', () => {
    const frames = Array.from({ length: streamLimits.batchEvents + 1 }, (_, at) => String(at));
    for (const frame of frames) add(frame);
    expect(published).toEqual([`[${frames.slice(0, -1).join()}]`]);
    vi.advanceTimersByTime(streamLimits.batchMs);
    expect(published.slice(1)).toEqual([`[${frames.at(-1)}]`]);
  });
});
