import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import type { ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { Markets } from '@sluice/trading/quote/markets.ts';
import { expect, it, vi } from 'vitest';
import { raydiumAmm } from '../../../venues/src/raydium/amm/index.ts';
import { pool as at, poolLength } from '../../../venues/src/raydium/amm/layout.ts';
import { authority, programId } from '../../../venues/src/raydium/amm/program.ts';
import { mintData, tokenAccountData } from '../../simnet/layout/token-state.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { until } from '../../support/until.ts';

const keyOf = (name: string): string => wallet('opened', name).publicKey;
const mint = keyOf('coin');

it('a pool that opens while the coin is followed counts from then on, and its accounts are followed', async () => {
  const accounts = new Map<string, ChainAccount>();
  const put = (address: string, owner: string, data: Uint8Array): void =>
    void accounts.set(address, { owner, data, lamports: 1n, executable: false });
  put(mint, tokenProgram, mintData(6, 10n ** 15n, null));
  const known: KnownPool[] = [];
  const open = (name: string): void => {
    const [pool, coinVault, pcVault] = [keyOf(name), keyOf(`${name} coin`), keyOf(`${name} pc`)];
    const data = Buffer.alloc(poolLength);
    data.writeBigUInt64LE(6n, at.status);
    data.writeBigUInt64LE(25n, at.swapFeeNumerator);
    data.writeBigUInt64LE(10_000n, at.swapFeeDenominator);
    for (const [from, key] of [
      [at.coinVault, coinVault],
      [at.pcVault, pcVault],
      [at.coinMint, mint],
      [at.pcMint, wrappedSolMint],
    ] as const)
      data.set(addressBytes(key), from);
    put(pool, programId, data);
    put(coinVault, tokenProgram, tokenAccountData(mint, authority, 10n ** 12n));
    put(pcVault, tokenProgram, tokenAccountData(wrappedSolMint, authority, 10n ** 10n));
    known.push({ venue: 'raydium-amm', address: pool, quoteMint: wrappedSolMint, depthSol: 1, slot: 1 });
  };
  let reads = 0;
  const reader = {
    read: async (addresses: readonly string[]) => {
      reads++;
      return {
        slot: 1,
        askedAtMs: performance.now(),
        accounts: addresses.map((one) => accounts.get(one) ?? null),
        disputed: [],
        othersAreLate: false,
        aloneBy: null,
      };
    },
  };
  const followed = new Set<string>();
  const states = new Map<string, { readonly account: ChainAccount | null }>();
  const stateOf = (address: string): { readonly account: ChainAccount | null } => {
    const state = states.get(address) ?? { account: accounts.get(address) ?? null };
    states.set(address, state);
    return state;
  };
  const log = createLog({ level: 'silent', name: 'test' });
  const directory = { poolsOf: async () => [...known] };
  const markets = new Markets({
    pools: new PoolReader({ reader: reader as never, venues: [raydiumAmm], directory, log }),
    accounts: {
      follow: (address) => followed.add(address).has(address),
      release: (address) => void followed.delete(address),
      current: (addresses) => ({ slot: 1, asOfMs: performance.now(), soleSources: 0, states: addresses.map(stateOf) }),
      addRead: () => undefined,
    },
  });
  const poolsOf = async (): Promise<readonly string[]> => {
    const { result } = await markets.read(mint);
    return result.kind === 'market' ? result.market.pools.map(({ pool }) => pool.address) : [];
  };
  open('first');
  expect(await poolsOf()).toEqual([keyOf('first')]);
  const before = reads;
  expect(markets.read(mint)).not.toBeInstanceOf(Promise);
  expect(markets.bytesOf(keyOf('first'))).toHaveLength(poolLength);
  expect(markets.bytesOf(keyOf('second'))).toBeNull();
  open('second');
  // The directory is asked again after five seconds.
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 6_000);
  await until('the second pool is found', async () => (await poolsOf()).length === 2).finally(() => clock.mockRestore());
  expect(await poolsOf()).toEqual([keyOf('first'), keyOf('second')]);
  expect([followed.has(keyOf('second')), followed.has(keyOf('second pc'))]).toEqual([true, true]);
  expect(reads).toBeGreaterThan(before);
  expect(markets.read(mint)).not.toBeInstanceOf(Promise);
});
