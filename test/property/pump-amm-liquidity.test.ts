import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { withU64s } from '@sluice/shared/solana/transaction/instructions.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import {
  canonicalPoolAddress,
  eventAuthority,
  eventDiscriminators,
  globalConfig,
  lpMintAddress,
  programId,
} from '@sluice/venues/pump/amm/program.ts';
import type { VenueEvent } from '@sluice/venues/seam/venue.ts';
import { decodeData } from '../support/events/decode-data.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { anchorEvent, pumpAmmEvents, pumpAmmIdl } from '../golden/anchor.ts';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { signTransaction } from '../simnet/runtime/wallets.ts';
import { associatedTokenInstruction } from '../simnet/programs/token/associated-token.ts';
import { startChain } from '../orders/built-trades.ts';
import { launchCoin, moveToPool, trader, tradeOnChain } from '../support/chain/quoted-trades.ts';
import { programsNote, programsPresent, RealPrograms } from '../support/chain/real-programs.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';
import { encodeWith } from './encode.ts';

const half = fc.bigInt({ min: 0n, max: 2n ** 63n });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const common = {
  timestamp: fc.integer({ min: 0, max: 2 ** 33 - 1 }),
  user_base_token_reserves: half,
  user_quote_token_reserves: half,
  pool_base_token_reserves: half,
  pool_quote_token_reserves: half,
  lp_mint_supply: half,
  pool: key,
  user: key,
  user_base_token_account: key,
  user_quote_token_account: key,
  user_pool_token_account: key,
};
const deposit = fc.record({
  ...common,
  lp_token_amount_out: half,
  max_base_amount_in: half,
  max_quote_amount_in: half,
  base_amount_in: half,
  quote_amount_in: half,
});
const withdraw = fc.record({
  ...common,
  lp_token_amount_in: half,
  min_base_amount_out: half,
  min_quote_amount_out: half,
  base_amount_out: half,
  quote_amount_out: half,
});

describe('liquidity of PumpSwap', () => {
  it('DepositEvent agrees with anchor', () => {
    fc.assert(
      fc.property(deposit, (p) => {
        const data = encodeWith('pump-amm', 'events', 'DepositEvent', p);
        expect(anchorEvent(pumpAmmEvents, data)['base_amount_in']!.toString(10)).toBe(String(p.base_amount_in));
        expect(eventIn(data)).toEqual({
          type: 'liquidityAdded',
          pool: encodeBase58(p.pool),
          pair: null,
          provider: encodeBase58(p.user),
          baseAmount: p.base_amount_in,
          quoteAmount: p.quote_amount_in,
          lpAmount: p.lp_token_amount_out,
          left: { base: p.pool_base_token_reserves + p.base_amount_in, quote: p.pool_quote_token_reserves + p.quote_amount_in },
          state: null,
          timestamp: p.timestamp,
        });
      }),
      { numRuns: fuzzCases(2_000) },
    );
  });

  it('WithdrawEvent agrees with anchor, and no pool pays more than it has', () => {
    fc.assert(
      fc.property(withdraw, (p) => {
        const data = encodeWith('pump-amm', 'events', 'WithdrawEvent', p);
        const left = { base: p.pool_base_token_reserves - p.base_amount_out, quote: p.pool_quote_token_reserves - p.quote_amount_out };
        if (left.base < 0n || left.quote < 0n) expect(eventIn(data)).toBeNull();
        else {
          const event = { type: 'liquidityRemoved', provider: encodeBase58(p.user), left, lpAmount: p.lp_token_amount_in };
          expect(eventIn(data)).toMatchObject({ ...event, baseAmount: p.base_amount_out, quoteAmount: p.quote_amount_out });
        }
      }),
      { numRuns: fuzzCases(2_000) },
    );
  });

  it('never throws for changed bytes', () => {
    for (const discriminator of [eventDiscriminators.deposit, eventDiscriminators.withdraw]) {
      const sample = Buffer.concat([discriminator, Buffer.alloc(248, 3)]);
      fc.assert(
        fc.property(mutated(sample), (data) => void eventIn(data)),
        { numRuns: fuzzCases(20_000) },
      );
    }
  });

  it.skipIf(!programsPresent)(`as the real program emits it (${programsNote})`, { timeout: 60_000 }, () => {
    const chain = startChain();
    const coin = launchCoin(chain);
    expect(tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount: 10n ** 14n }, 1n).err).toBeNull();
    moveToPool(chain, coin, false);
    expect(tradeOnChain(chain, coin, 'pump-amm', { exact: 'baseOut', amount: 10n ** 13n }, 10n ** 14n).err).toBeNull();
    const world = new RealPrograms(chain);
    const pool = canonicalPoolAddress(coin.mint, wrappedSolMint);
    const [lpMint, user] = [lpMintAddress(pool), trader.publicKey];
    const own = (mint: string, program: string): string => deriveTokenAccount(user, mint, program).address;
    const accounts = [own(coin.mint, coin.tokenProgram), own(wrappedSolMint, tokenProgram), own(lpMint, token2022Program)];
    const vaults = [deriveTokenAccount(pool, coin.mint, coin.tokenProgram), deriveTokenAccount(pool, wrappedSolMint, tokenProgram)];
    const balance = (address: string): bigint => {
      const account = world.account(address);
      return account === null ? 0n : decodeTokenAccount(account.owner, account.data)!.amount;
    };
    const run = (name: 'deposit' | 'withdraw', amounts: readonly bigint[]): VenueEvent => {
      const { discriminator } = pumpAmmIdl.instructions.find((one) => one.name === name)!;
      const instruction = {
        programId,
        accounts: [
          { address: pool, signer: false, writable: true },
          { address: globalConfig, signer: false, writable: false },
          { address: user, signer: true, writable: true },
          ...[coin.mint, wrappedSolMint].map((address) => ({ address, signer: false, writable: false })),
          { address: lpMint, signer: false, writable: true },
          ...[...accounts, ...vaults.map(({ address }) => address)].map((address) => ({ address, signer: false, writable: true })),
          ...[tokenProgram, token2022Program, eventAuthority, programId].map((address) => ({ address, signer: false, writable: false })),
        ],
        data: withU64s(Uint8Array.from(discriminator), ...amounts),
      };
      const lpAccount = associatedTokenInstruction(user, user, lpMint, token2022Program, true);
      const wire = signTransaction({
        version: 0,
        recentBlockhash: world.newBlockhash(),
        instructions: [lpAccount, instruction],
        signers: [trader],
      });
      const { logs, error } = world.send(wire);
      expect(error, logs.join('\n')).toBe('');
      const events: VenueEvent[] = [];
      readLogs(logs, (program, _path, data) => {
        const accountsOf = instruction.accounts.map(({ address }) => address);
        const emitting = { programId, accounts: accountsOf, data: instruction.data, inner: [], at: -1 };
        if (program !== programId) return;
        const context = { record: 'event', text: null, instruction: () => emitting, feePayer: user, tokenBalances: null } as const;
        pumpAmm.decode({ ...context, data }, (event) => void events.push(event));
      });
      return events[0]!;
    };
    for (const [name, type, amounts] of [
      ['deposit', 'liquidityAdded', [1_000_000_000n, 10n ** 15n, 10n ** 12n]],
      ['withdraw', 'liquidityRemoved', [400_000_001n, 1n, 1n]],
      ['withdraw', 'liquidityRemoved', [599_999_999n, 1n, 1n]],
    ] as const) {
      const before = [...accounts, ...vaults.map(({ address }) => address)].map(balance);
      const event = run(name, amounts);
      const after = [...accounts, ...vaults.map(({ address }) => address)].map(balance);
      const change = after.map((amount, index) => (amount > before[index]! ? amount - before[index]! : before[index]! - amount));
      expect(event).toMatchObject({
        type,
        pool,
        pair: { baseMint: coin.mint, quoteMint: wrappedSolMint },
        provider: user,
        baseAmount: change[0],
        quoteAmount: change[1],
        lpAmount: change[2],
        left: { base: after[3], quote: after[4] },
      });
      expect([change[3], change[4], change[2]]).toEqual([change[0], change[1], amounts[0]]);
    }
  });
});

function eventIn(data: Uint8Array): VenueEvent | null {
  return decodeData(pumpAmm, data).events[0] ?? null;
}
