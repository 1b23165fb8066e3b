import { Place } from '@sluice/client/stream/place.ts';
import { describe, expect, it } from 'vitest';

const at = (seq: number, epoch = 'a') => ({ epoch, seq });

describe('the place in a topic', () => {
  it('takes the next frame alone', () => {
    const place = new Place(at(5));
    expect(place.frame(6, undefined)).toBe('deliver');
    expect(place.frame(6, undefined)).toBe('repeat');
    expect(place.frame(8, undefined)).toBe('hole');
    expect(place.position).toEqual(at(6));
  });

  it('takes frames under a filter that follow what is known', () => {
    const place = new Place(at(5));
    expect(place.frame(9, 5)).toBe('deliver');
    expect(place.heartbeat(at(20), true)).toBe(true);
    expect(place.frame(30, 18)).toBe('deliver');
    expect(place.frame(40, 33)).toBe('hole');
  });

  it('sees by a heartbeat that a frame is missing', () => {
    const place = new Place(at(5));
    expect(place.heartbeat(at(5), false)).toBe(true);
    expect(place.heartbeat(at(6), false)).toBe(false);
    expect(place.heartbeat(at(5, 'b'), false)).toBe(false);
  });

  it('goes on behind a gap, and with any number where the gap has no end', () => {
    const place = new Place(at(5));
    place.gap({ from: 6, to: 9, reason: 'trimmed', epoch: 'a' });
    expect(place.frame(10, undefined)).toBe('deliver');
    place.gap({ from: 11, to: null, reason: 'epoch', epoch: 'b' });
    expect(place.frame(3, undefined)).toBe('deliver');
    expect(place.position).toEqual(at(3, 'b'));
  });

  it('drops what a gateway that is behind sends again', () => {
    const place = new Place(at(5));
    expect(place.frame(6, undefined)).toBe('deliver');
    place.resume({ ...at(4), recovered: false });
    expect([5, 6, 7].map((seq) => place.frame(seq, undefined))).toEqual(['repeat', 'repeat', 'deliver']);
  });

  it('keeps its numbers in an epoch that continues them', () => {
    const place = new Place(at(5));
    place.gap({ from: 6, to: 5, reason: 'epoch', epoch: 'b' });
    expect(place.frame(6, undefined)).toBe('deliver');
    place.resume({ ...at(6, 'c'), recovered: true });
    expect(place.position).toEqual(at(6, 'c'));
    expect(place.frame(7, undefined)).toBe('deliver');
  });
});
