import { TopicProgress } from '../../client/src/stream/topic-progress.ts';
import { describe, expect, it } from 'vitest';

const at = (seq: number, epoch = 'a') => ({ epoch, seq });

describe('the progress in a topic', () => {
  it('takes the next frame alone', () => {
    const progress = new TopicProgress(at(5));
    expect(progress.frame(6, undefined)).toBe('deliver');
    expect(progress.frame(6, undefined)).toBe('repeat');
    expect(progress.frame(8, undefined)).toBe('hole');
    expect(progress.position).toEqual(at(6));
  });

  it('takes frames under a filter that follow what is known', () => {
    const progress = new TopicProgress(at(5));
    expect(progress.frame(9, 5)).toBe('deliver');
    expect(progress.heartbeat(at(20), true)).toBe(true);
    expect(progress.frame(30, 18)).toBe('deliver');
    expect(progress.frame(40, 33)).toBe('hole');
  });

  it('sees by a heartbeat that a frame is missing', () => {
    const progress = new TopicProgress(at(5));
    expect(progress.heartbeat(at(5), false)).toBe(true);
    expect(progress.heartbeat(at(6), false)).toBe(false);
    expect(progress.heartbeat(at(5, 'b'), false)).toBe(false);
  });

  it('goes on behind a gap, and with any number where the gap has no end', () => {
    const progress = new TopicProgress(at(5));
    progress.gap({ from: 6, to: 9, reason: 'trimmed', epoch: 'a' });
    expect(progress.frame(10, undefined)).toBe('deliver');
    progress.gap({ from: 11, to: null, reason: 'epoch', epoch: 'b' });
    expect(progress.frame(3, undefined)).toBe('deliver');
    expect(progress.position).toEqual(at(3, 'b'));
  });

  it('drops what a gateway that is behind sends again', () => {
    const progress = new TopicProgress(at(5));
    expect(progress.frame(6, undefined)).toBe('deliver');
    progress.resume({ ...at(4), recovered: false });
    expect([5, 6, 7].map((seq) => progress.frame(seq, undefined))).toEqual(['repeat', 'repeat', 'deliver']);
  });

  it('keeps its numbers in an epoch that continues them', () => {
    const progress = new TopicProgress(at(5));
    progress.gap({ from: 6, to: 5, reason: 'epoch', epoch: 'b' });
    expect(progress.frame(6, undefined)).toBe('deliver');
    progress.resume({ ...at(6, 'c'), recovered: true });
    expect(progress.position).toEqual(at(6, 'c'));
    expect(progress.frame(7, undefined)).toBe('deliver');
  });
});
