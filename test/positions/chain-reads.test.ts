import { PositionLedger, type History } from '../../followers/src/positions/ledger.ts';
import type { Balances } from '../../followers/src/positions/wallet-state.ts';
import type { WalletTrade } from '../../followers/src/positions/wallet-trade.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSendNodes } from '../../trading/src/nodes/nodes.ts';
import { readBalances } from '../../trading/src/positions/balances.ts';
import { readHistory } from '../../trading/src/positions/history.ts';
import { Upkeep } from '../../trading/src/positions/upkeep.ts';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { tokenAmount } from '../simnet/layout/token-state.ts';
import { launchCoin, tradeOnChain, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** What positions read from the chain, with one endpoint of three that lies. */
const { signal } = new AbortController();
let world: TradingWorld;
let coin: QuotedCoin;
beforeAll(async () => {
  world = await startTradingWorld();
  coin = launchCoin(world.chain);
  for (const amount of [2n, 3n, 5n]) tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: amount * 100_000_000n }, 1n);
  const reached = world.chain.slot;
  await until('these trades to be confirmed', () => world.chain.confirmedSlot > reached);
});
afterAll(() => world.close());

type Lie = (method: string, answer: unknown) => unknown;
const honest: Lie = (_method, answer) => answer;

/** Three endpoints with the same chain, each with its own answers. */
function endpoints(...lies: readonly Lie[]) {
  return lies.map((lie) => {
    const { rpc } = createSendNodes([world.simnet.rpcUrl])[0]!;
    const call: Rpc['call'] = async (method, params, until_, accept) => lie(method, await rpc.call(method, params, until_, accept));
    return { rpc: { ...rpc, call } };
  });
}

const historyWith = (...lies: readonly Lie[]): Promise<History | null> =>
  readHistory({ nodes: endpoints(...lies), signal }, trader.publicKey, 0, world.chain.confirmedSlot);
const textOf = (history: History | null): string =>
  JSON.stringify(history?.trades, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

describe('the history of a wallet', () => {
  it('has the trades of the chain in its order, although one endpoint of three hides, invents and changes them', async () => {
    const truth = await historyWith(honest, honest, honest);
    const ofCoin = truth!.trades.filter(({ legs }) => legs[0]!.mint === coin.mint);
    expect(ofCoin.map(({ legs }) => legs[0]!.side)).toEqual(['buy', 'buy', 'buy', 'buy']);
    const bought = ofCoin.reduce((sum, { legs }) => sum + legs[0]!.tokens, 0n);
    expect(bought).toBe(tokenAmount(world.chain.account(deriveTokenAccount(trader.publicKey, coin.mint, coin.tokenProgram).address)));
    const hides: Lie = (method, answer) => (method === 'getSignaturesForAddress' ? [] : answer);
    const invents: Lie = (method, answer) => {
      if (method !== 'getSignaturesForAddress') return answer;
      const [first, ...rows] = answer as Record<string, unknown>[];
      const signature = `${'1'.repeat(60)}${String(first!['signature']).slice(60)}`;
      return [{ ...first, signature }, first, ...rows];
    };
    const changes: Lie = (method, answer) => {
      if (method !== 'getTransaction' || answer === null) return answer;
      const { meta, ...rest } = answer as { readonly meta: Record<string, unknown> };
      return { ...rest, meta: { ...meta, logMessages: [], innerInstructions: [] } };
    };
    const silent: Lie = () => ({});
    for (const lie of [hides, invents, changes, silent]) {
      for (const place of [0, 2]) {
        const lies = [honest, honest, honest].with(place, lie);
        expect(textOf(await historyWith(...lies))).toBe(textOf(truth));
      }
    }
    // Two that hide what the third shows do not hide it.
    expect(textOf(await historyWith(hides, hides, honest))).toBe(textOf(truth));
  });

  it('is read again later if too few endpoints show its transactions', async () => {
    const noTransaction: Lie = (method, answer) => (method === 'getTransaction' ? null : answer);
    expect(await historyWith(noTransaction, noTransaction, noTransaction)).toBeNull();
  });
});

describe('balances', () => {
  it('count only if endpoints agree on them', async () => {
    const read = (...lies: readonly Lie[]): Promise<Balances | null> =>
      readBalances({ nodes: endpoints(...lies), newestSlot: () => world.chain.slot + 32, signal }, trader.publicKey, 0, 1);
    const empty: Lie = (method, answer) =>
      method === 'getTokenAccountsByOwner' ? { ...(answer as Record<string, unknown>), value: [] } : answer;
    const truth = await read(honest, honest, honest);
    expect(truth!.amounts.get(coin.mint)).toBeGreaterThan(0n);
    expect((await read(empty, honest, honest))?.amounts).toEqual(truth!.amounts);
    expect(await read(empty, honest)).toBeNull();
  });
});

describe('a difference between trades and balance', () => {
  const wallet = 'wallet';
  const bought: WalletTrade = {
    id: 'a:0',
    signature: 'a',
    slot: 5,
    index: 0,
    commitment: 'confirmed',
    legs: [{ mint: 'coin', side: 'buy', tokens: 100n, lamports: 1_000n, decimals: 6, atMs: 1 }],
  };

  /** Answers of the chain in order, the last one again and again; a step of time for each. */
  async function afterReads(reads: readonly Omit<Balances, 'newestSlot' | 'atMs'>[], history: readonly WalletTrade[] = []) {
    const ledger = new PositionLedger();
    ledger.confirmedSlot = 1_000;
    const state = ledger.add(wallet, null);
    ledger.addHistory(state, { from: 0, trades: [bought], to: 900, isCut: false });
    let next = 0;
    const upkeep = new Upkeep(ledger, {
      slot: () => 1_000,
      history: async (_wallet, from, to) => ({ from, trades: history, to, isCut: false }),
      balances: async () => {
        const read = reads[Math.min(next++, reads.length - 1)]!;
        return { ...read, newestSlot: read.slot, atMs: 1 };
      },
      onFault: (error) => expect.unreachable(String(error)),
    });
    for (let nowMs = 0; nowMs < 8_000; nowMs += 250) {
      if (nowMs % 1_000 === 0) upkeep.asked(wallet, nowMs);
      upkeep.start(nowMs);
      await new Promise((resolve) => setImmediate(resolve));
      upkeep.apply(nowMs);
    }
    return { position: state.settled('coin')!, checkedSlot: state.checkedSlot, counts: upkeep.counts };
  }

  it('counts once two reads show it, and never if it was a read in the middle of a slot', async () => {
    const of = (slot: number, amount: bigint) => ({ slot, amounts: new Map([['coin', amount]]) });
    const dust = await afterReads([of(950, 107n), of(960, 107n)]);
    expect(dust.position).toMatchObject({ explained: 100n, costLamports: 1_000n, unexplained: 7n });
    expect(dust.counts.differences).toBe(1);
    const glimpsed = await afterReads([of(950, 0n), of(960, 100n)]);
    expect(glimpsed.position).toMatchObject({ explained: 100n, costLamports: 1_000n, unexplained: 0n, departed: 0n });
    expect(glimpsed).toMatchObject({ checkedSlot: 960, counts: { differences: 0 } });
  });

  it('is explained by a trade that only the history has', async () => {
    const leg = { mint: 'coin', side: 'sell' as const, tokens: 40n, lamports: 900n, decimals: 6, atMs: 2 };
    const sold: WalletTrade = { ...bought, id: 'b:0', signature: 'b', slot: 940, legs: [leg] };
    const { position, counts } = await afterReads([{ slot: 950, amounts: new Map([['coin', 60n]]) }], [sold]);
    expect(position).toMatchObject({ explained: 60n, costLamports: 600n, realizedLamports: 500n, sells: 1, departed: 0n });
    expect(counts).toMatchObject({ differences: 0 });
  });
});
