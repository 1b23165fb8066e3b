import { describe, expect, it } from 'vitest';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { signatureOf } from './pump-frames.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

const slot = 100;
const never = new AbortController().signal;
const read = (): { readonly kind: 'read' } => ({ kind: 'read' });

/** A node that knows a transaction once its signature is in `known`. */
function startNode() {
  const known = new Set<string>();
  const requests: string[] = [];
  const rpc = {
    call: async (_method: string, [signature]: readonly [string]) => {
      requests.push(signature);
      return known.has(signature) ? wholeTransaction(signature, [curveBuy({ solAmount: 1n })]) : null;
    },
  } as unknown as Rpc;
  return { known, requests, rpc };
}

describe('fetching transactions', () => {
  it('a transaction that is not readable yet does not keep others waiting', async () => {
    const { known, requests, rpc } = startNode();
    const fetcher = new TransactionFetcher(rpc, { maxConcurrent: 1, giveUpAfterMs: 1_000 });
    const [missing, there] = [signatureOf('missing'), signatureOf('there')];
    known.add(there);
    const lost = fetcher.fetch(missing, slot, never, read);
    expect(await fetcher.fetch(there, slot, never, read)).toEqual({ kind: 'read' });
    expect(requests).toEqual([missing, there]);
    expect(await lost).toMatchObject({ kind: 'lost', reason: 'not found' });
  });

  it('waits for the confirmation of the slot before the first request', async () => {
    const { known, requests, rpc } = startNode();
    const fetcher = new TransactionFetcher(rpc);
    const signature = signatureOf('early');
    known.add(signature);
    fetcher.confirmed(slot - 2);
    const fetched = fetcher.fetch(signature, slot, never, read);
    fetcher.confirmed(slot - 1);
    await new Promise(setImmediate);
    expect(requests).toEqual([]);
    fetcher.confirmed(slot);
    expect(await fetched).toEqual({ kind: 'read' });
    expect(requests).toEqual([signature]);
  });

  it('ends at once if nobody waits any more', async () => {
    const { requests, rpc } = startNode();
    const fetcher = new TransactionFetcher(rpc);
    const over = new AbortController();
    fetcher.confirmed(slot - 1);
    const fetched = fetcher.fetch(signatureOf('dead'), slot, over.signal, read);
    over.abort();
    expect(await fetched).toMatchObject({ kind: 'lost', reason: 'no longer requested' });
    expect(requests).toEqual([]);
  });

  it('refuses more than it can hold', async () => {
    const { rpc } = startNode();
    const over = new AbortController();
    const fetcher = new TransactionFetcher(rpc);
    const open = Array.from({ length: 2_000 }, (_, i) => fetcher.fetch(signatureOf(`open ${i}`), slot, over.signal, read));
    expect(await fetcher.fetch(signatureOf('one more'), slot, over.signal, read)).toMatchObject({ reason: 'queue full' });
    over.abort();
    await Promise.all(open);
    const after = fetcher.fetch(signatureOf('after'), slot, over.signal, read);
    expect(await after).toMatchObject({ reason: 'no longer requested' });
  });
});
