import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BufferWatch, maxBufferedBytes } from '../../gateway/src/stream/connections/slow-consumers.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';

interface Fake {
  readonly bytes: number;
  bufferedBytes(): number;
}

const holding = (bytes: number): Fake => ({ bytes, bufferedBytes: () => bytes });
const mib = 1024 * 1024;

describe('the bytes buffered for all clients', () => {
  it('are bounded: above the bound the clients with the fullest buffers are cut, and no more than needed', () => {
    const size = fc.integer({ min: 0, max: streamLimits.softBufferBytes });
    const slices = fc.array(fc.array(size, { maxLength: 120 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(slices, (sizes) => {
        const members = sizes.map((slice) => slice.map(holding));
        const watch = new BufferWatch<Fake>(3);
        members.forEach((slice, at) => expect(watch.check(at, slice, 0)).toEqual([]));
        const total = sizes.flat().reduce((sum, bytes) => sum + bytes, 0);
        expect(watch.bytes).toBe(total);
        const cut = watch.shed(members);
        const left = total - cut.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(watch.bytes).toBe(left);
        expect(left).toBeLessThanOrEqual((maxBufferedBytes * 3) / 4);
        const least = cut.at(-1)?.bytes ?? 0;
        if (cut.length > 0) expect(left + least).toBeGreaterThan((maxBufferedBytes * 3) / 4);
        for (const member of members.flat())
          if (!cut.includes(member)) expect(member.bytes).toBeLessThanOrEqual(least === 0 ? member.bytes : least);
      }),
      { numRuns: 60 },
    );
  });

  it('include the buffers of closed sockets for a time', () => {
    const watch = new BufferWatch<Fake>(1);
    const slow = holding(streamLimits.softBufferBytes + 1);
    expect(watch.check(0, [slow, holding(mib)], 1_000)).toEqual([slow]);
    expect(watch.bytes).toBe(slow.bytes + mib);
    watch.check(0, [holding(mib)], 8_999);
    expect(watch.bytes).toBe(slow.bytes + mib);
    watch.check(0, [holding(mib)], 9_000);
    expect(watch.bytes).toBe(mib);
  });
});
