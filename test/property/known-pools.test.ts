import type { AccountReader, ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { readTradeRequest } from '../../trading/src/prepare/request.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { orcaWhirlpool } from '../../venues/src/orca/whirlpool/index.ts';
import { programId, tickArrayAddress } from '@sluice/venues/orca/whirlpool/program.ts';
import { sqrtPriceOfTick } from '../../venues/src/orca/whirlpool/tick-math.ts';
import { expect, test } from 'vitest';
import { mintData } from '../simnet/layout/token-state.ts';
import { address } from '../simnet/support/test-chain.ts';
import { whirlpoolAccountData } from '../support/chain/whirlpool-accounts.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

const mint = address('coin');
const owned = (owner: string, data: Uint8Array): ChainAccount => ({ owner, data, lamports: 1n, executable: false });
const log = createLog({ level: 'silent', name: 'test' });

function poolAt(tick: number, feeTierIndex = 64, quoteMint = wrappedSolMint): ChainAccount {
  const [mintA, mintB] = [addressBytes(mint), addressBytes(quoteMint)];
  const rates = { tickSpacing: 64, feeTierIndex, feeRate: 3_000, protocolFeeRate: 1_300 };
  return owned(programId, whirlpoolAccountData({ ...rates, liquidity: 10n ** 15n, sqrtPrice: sqrtPriceOfTick(tick), tick, mintA, mintB }));
}

/** A node with these accounts, and a directory with these pools of the coin; `before` is called with the number of each read. */
function readerOf(accounts: Map<string, ChainAccount>, pools: readonly string[], before: (read: number) => void = () => undefined) {
  const calls: (readonly string[])[] = [];
  const reader = {
    async read(addresses: readonly string[]) {
      before(calls.push(addresses));
      const found = addresses.map((at) => accounts.get(at) ?? null);
      return { slot: 1, lastSlot: 1, askedAtMs: 0, accounts: found, aloneBy: null, othersAreLate: false, disputed: [] };
    },
  } as unknown as AccountReader;
  const known = pools.map((at): KnownPool => ({ venue: 'orca-whirlpool', address: at, quoteMint: wrappedSolMint, depthSol: 1, slot: 1 }));
  const directory = { poolsOf: async (of: string) => (of === mint ? known : []) };
  return { calls, pools: new PoolReader({ reader, venues: [orcaWhirlpool], directory, log }) };
}

const whirlpool = address('whirlpool');
const base = (): Map<string, ChainAccount> =>
  new Map([
    [mint, owned(tokenProgram, mintData(6, 10n ** 15n, null))],
    [whirlpool, poolAt(10)],
  ]);

async function marketOf(pools: PoolReader) {
  const { result } = await pools.readMarket(mint, { settings: null });
  if (result.kind !== 'market') throw new Error(result.kind);
  return result.market.pools;
}

test('a pool that the directory names is read with the accounts that it names, in one call', async () => {
  const { calls, pools } = readerOf(base(), [whirlpool]);
  const [found] = await marketOf(pools);
  expect(found?.pool.address).toBe(whirlpool);
  expect(found?.pool.quote({ exact: 'quoteIn', amount: 1_000_000n }, atAnyTime)).toMatchObject({ ok: true });
  expect(calls).toHaveLength(2);
  expect(calls[1]).toContain(whirlpool);
  expect(calls[1]).toContain(tickArrayAddress(whirlpool, 0));
  // The next read needs one call.
  await marketOf(pools);
  expect(calls).toHaveLength(3);
});

test('if the price leaves the arrays between two reads, the new ones are read, and the old ones no longer', async () => {
  const accounts = base();
  const { calls, pools } = readerOf(accounts, [whirlpool], (read) => {
    if (read === 2) accounts.set(whirlpool, poolAt(100_000));
  });
  expect(await marketOf(pools)).toHaveLength(1);
  expect(calls).toHaveLength(3);
  expect(calls[2]).toHaveLength(calls[1]!.length);
  expect(calls[2]).not.toContain(tickArrayAddress(whirlpool, 0));
});

test('a pool that is not what the directory says is left out', async () => {
  const accounts = base();
  accounts.set(address('other owner'), owned(tokenProgram, poolAt(10).data));
  accounts.set(address('in no quote coin'), poolAt(10, 64, address('odd coin')));
  const { pools } = readerOf(accounts, [address('nothing'), address('other owner'), address('in no quote coin'), whirlpool]);
  expect((await marketOf(pools)).map(({ pool }) => pool.address)).toEqual([whirlpool]);
});

test('a pool with an adaptive fee is not quoted', async () => {
  const accounts = base().set(whirlpool, poolAt(10, 1_024));
  const [found] = await marketOf(readerOf(accounts, [whirlpool]).pools);
  expect(found?.pool.quote({ exact: 'baseIn', amount: 1_000n }, atAnyTime)).toEqual({ ok: false, fault: 'unknown_fee' });
});

test('orders to a venue that accepts none are refused by name', () => {
  const body = { publicKey: address('wallet'), mint: usdcMint, amount: 1, pool: 'orca-whirlpool' } as const;
  expect(readTradeRequest('buy', body, [orcaWhirlpool])).toEqual({
    error: 'INVALID_REQUEST',
    details: { fields: { pool: '`orca-whirlpool` is quoted, but no orders are sent to it' } },
  });
});
