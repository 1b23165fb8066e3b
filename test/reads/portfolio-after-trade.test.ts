import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { History } from '../../gateway/src/stream/history/history.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { Portfolio } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { accountTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { quietChain } from '../simnet/support/test-chain.ts';
import { addressOf, entryOf, logged, tradeEvent } from '../support/events/stream-events.ts';
import { BookHarness } from './harness.ts';

const wallet = addressOf(1);
const mint = addressOf(2);

/** A node that is behind our stream: the wallet bought in slot 105. */
let nodeSlot: number;
let calls: number;
let history: History;
let ask: () => Promise<Portfolio | { readonly error: string }>;

function tokenAccount(): unknown {
  const data = Buffer.alloc(165);
  data.set(addressBytes(mint), 0);
  data.set(addressBytes(wallet), 32);
  data.writeBigUInt64LE(5n, 64);
  data[108] = 1;
  return {
    pubkey: addressOf(3),
    account: { owner: tokenProgram, lamports: 2_039_280, data: [data.toString('base64'), 'base64'], executable: false },
  };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  [nodeSlot, calls] = [100, 0];
  history = new History({ maxEntries: 1_000, maxBytes: 1024 * 1024 });
  const rpc: Rpc = {
    call: async (method, params, _signal, accept) => {
      calls++;
      const isOfTokens = (params[1] as { programId?: string }).programId === tokenProgram;
      const value = method === 'getBalance' ? 5 : isOfTokens && nodeSlot >= 105 ? [tokenAccount()] : [];
      const answer = { context: { slot: nodeSlot }, value };
      await accept?.(answer);
      return answer;
    },
  };
  const portfolioOf = new BookHarness(quietChain()).portfolio(rpc, history);
  ask = () => portfolioOf(wallet);
});
afterEach(() => vi.useRealTimers());

/** Our stream shows a trade of the wallet. */
function publish(slot: number, offset: number): void {
  const trade = tradeEvent(mint, { trader: wallet, slot });
  history.append(logged(entryOf(trade, [accountTradesTopic(wallet)]), offset));
}

const holding = expect.objectContaining({ mint, amount: '5' }) as unknown;

describe('the portfolio of a wallet that has just traded', () => {
  it('contains what our stream has shown, although the node is behind', async () => {
    publish(105, 1);
    const asked = ask();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(calls).toBeGreaterThan(6);
    nodeSlot = 105;
    await vi.advanceTimersByTimeAsync(100);
    expect(await asked).toMatchObject({ slot: 105, holdings: [holding] });
  });

  it('is read again after each trade, and is not that of a request before the trade', async () => {
    expect(await ask()).toMatchObject({ slot: 100, holdings: [] });
    nodeSlot = 101;
    expect(await ask()).toMatchObject({ slot: 100, holdings: [] });
    const before = ask();
    publish(105, 1);
    const after = ask();
    nodeSlot = 105;
    await vi.advanceTimersByTimeAsync(100);
    expect(await before).toMatchObject({ slot: 100 });
    expect(await after).toMatchObject({ slot: 105, holdings: [holding] });
    const counted = calls;
    expect(await ask()).toMatchObject({ slot: 105, holdings: [holding] });
    expect(calls).toBe(counted);
  });

  it('is unavailable if no node reaches the slot within three seconds, and not an old one', async () => {
    publish(105, 1);
    const asked = ask();
    await vi.advanceTimersByTimeAsync(3_500);
    expect(await asked).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE' });
    expect(calls).toBeLessThan(300);
  });
});
