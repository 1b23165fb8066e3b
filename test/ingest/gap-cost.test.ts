import { describe, expect, it } from 'vitest';
import type { Listed } from '../../ingest/src/sources/rpc/listing.ts';
import { inChainOrder } from '../../ingest/src/continuity/chain-order.ts';
import { createHarness } from './harness.ts';
import { ammProgram, keyOf, signatureOf } from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { poolBuy } from './some-trades.ts';
import { logsSighting } from './sightings.ts';

/** The same object; `count` is called for each read of its signature. */
function counted<T extends { readonly signature: string }>(value: T, count: () => void): T {
  const { signature } = value;
  return Object.defineProperty({ ...value }, 'signature', {
    enumerable: true,
    get: () => {
      count();
      return signature;
    },
  });
}

describe('the cost of the gap filler for each listed transaction', () => {
  it('does not include the waiting events', () => {
    const [waiting, listed] = [400, 4_000];
    // No answer comes: all of them wait.
    const harness = createHarness({ answer: () => new Promise(() => undefined) });
    let reads = 0;
    for (let index = 0; index < waiting; index++) {
      const pool = keyOf(`pool ${index % 7}`);
      const logs = invoked(ammProgram, 1, [dataLine(poolBuy({ pool }))]);
      const seen = logsSighting({ signature: signatureOf(`waiting ${index}`), slot: 100, logs, receivedUs: 1 });
      const { transaction } = harness.pipeline.decoder.read(seen);
      harness.pipeline.take(counted(transaction, () => reads++));
    }
    expect(harness.pipeline.waiting).toBe(waiting);
    reads = 0;
    for (let index = 0; index < listed; index++) expect(harness.pipeline.isHeld(signatureOf(`listed ${index}`))).toBe(false);
    expect(harness.pipeline.isHeld(signatureOf('waiting 17'))).toBe(true);
    expect(reads).toBe(0);
    harness.pipeline.abandon(100);
    expect(harness.pipeline.isHeld(signatureOf('waiting 17'))).toBe(false);
  });

  it('grows with the list, not with its square, when several endpoints list one slot', async () => {
    const readsFor = async (count: number): Promise<number> => {
      let reads = 0;
      const items = Array.from({ length: count }, (_, index) =>
        counted<Listed>({ signature: signatureOf(`listed ${index}`), slot: 1, index: null }, () => reads++),
      );
      // Three programs by two endpoints: each transaction is in the lists of two programs.
      const lists = [0, 1, 2].map((program) => items.filter((_, index) => index % 3 !== program));
      const ordered = await inChainOrder([...lists, ...lists.map((list) => [...list])]);
      expect(ordered.map(({ signature }) => signature)).toEqual(items.map(({ signature }) => signature));
      return reads;
    };
    expect(await readsFor(600)).toBeLessThan(2.5 * (await readsFor(300)));
  });
});
