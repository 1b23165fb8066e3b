import { systemProgram, token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import { pool as poolLayout } from '../../venues/src/pump/amm/layout.ts';
import { curve as curveLayout } from '../../venues/src/pump/curve/layout.ts';
import { bondingCurveAddress, creatorVaultAddress, userVolumeAccumulatorAddress } from '@sluice/venues/pump/curve/program.ts';
import type { QuotedPool } from '@sluice/venues/seam/quoting.ts';
import { describe, expect, it } from 'vitest';
import { associatedTokenAddress, addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { buybackFeeRecipients, feeRecipients } from '../simnet/programs/recipients.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import type { NewCoin } from '../simnet/market/instructions.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import type { SimChain } from '../simnet/sim-chain.ts';
import { launchCoin, maker, moveToPool, tradeOnChain, wrapFor, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { programsNote, programsPresent, RealPrograms } from '../support/chain/real-programs.ts';
import {
  buyTheRest,
  changed,
  faultOf,
  openPoolOf,
  sendTrade,
  startChain,
  tokensHeld,
  tradeAll,
  tradeAsQuoted,
  user,
} from './built-trades.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/**
 * Our transactions in the venues' real programs, in the real virtual machine: the result equals the quote, to the lamport. Coins and pools
 * start in the state that the simulated chain created; the programs' settings are recorded from mainnet, if available.
 */
const timeout = 60_000;

/** A coin whose curve was sold out and migrated to its pool. */
function launchPool(chain: SimChain, parts: Partial<NewCoin> = {}, boost = true): QuotedCoin {
  const coin = launchCoin(chain, parts);
  const { err } = tradeOnChain(
    chain,
    coin,
    'pump',
    { exact: 'quoteIn', amount: coin.quoteMint === usdcMint ? 10n ** 12n : 10n ** 14n },
    1n,
  );
  expect(err).toBeNull();
  moveToPool(chain, coin, boost);
  return coin;
}

const kinds: readonly (readonly [string, Partial<NewCoin>])[] = [
  ['an ordinary coin', {}],
  ['a mayhem coin', { mayhem: true }],
  ['a cashback coin', { cashback: true }],
  ['a holder-reward coin', { holderReward: true }],
  ['a coin with its own creator fee', { creatorFeeBps: 120n }],
  ['a coin against USDC', { quoteMint: usdcMint }],
  ['a cashback coin against USDC', { quoteMint: usdcMint, cashback: true }],
  ['a mayhem coin against USDC', { quoteMint: usdcMint, mayhem: true }],
];

describe.skipIf(!programsPresent)(`the real programs (${programsNote})`, () => {
  it.each(kinds)('%s on its curve, to its end', { timeout }, (_, parts) => {
    const chain = startChain();
    const coin = launchCoin(chain, parts);
    const world = new RealPrograms(chain);
    tradeAll(world, coin);
    buyTheRest(world, coin);
  });

  it.each(kinds)('%s on its pool', { timeout }, (_, parts) => {
    const chain = startChain();
    const coin = launchPool(chain, parts);
    tradeAll(new RealPrograms(chain), coin);
  });

  it('pools of older and shorter layouts can be traded', { timeout }, () => {
    const chain = startChain();
    const coin = launchPool(chain, {}, false);
    const at = canonicalPoolAddress(coin.mint, coin.quoteMint);
    for (const bytes of [211, 243, 244, 245, 261, 270, 271, 287]) {
      const world = new RealPrograms(chain);
      const pool = world.account(at)!;
      world.put(at, { ...pool, lamports: minimumBalance(bytes), data: pool.data.slice(0, bytes) });
      tradeAll(world, coin);
    }
  });

  it(
    'the smallest amount, from a new wallet and for a creator without fees so far, buys what was quoted: rent is paid in addition',
    { timeout },
    () => {
      const chain = startChain();
      const creator = wallet('built', 'new creator').publicKey;
      const coin = launchCoin(chain, { creator });
      const world = new RealPrograms(chain);
      world.put(creatorVaultAddress(creator), { lamports: 0n, owner: systemProgram, data: new Uint8Array(0) });
      const { before, built } = tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 1_000_000n });
      const made = built.trade.programAccounts.filter(({ grows }) => grows === null).map(({ address, bytes }) => ({ address, bytes }));
      expect(made.map(({ bytes }) => bytes)).toEqual([137, 0]);
      for (const { address, bytes } of made) {
        expect(before.get(address)).toBeNull();
        expect(world.account(address)?.data.length).toBe(bytes);
      }
      tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 1_000_000n });
    },
  );

  it('the associated account of wrapped SOL stays as it is', { timeout }, () => {
    const chain = startChain();
    const coin = launchPool(chain);
    const address = wrapFor(chain, user, 1_000_000_000n);
    const world = new RealPrograms(chain);
    const before = world.account(address);
    tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 500_000_000n });
    tradeAsQuoted(world, coin, { exact: 'baseOut', amount: 5_000_000_000n });
    tradeAsQuoted(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) });
    expect(world.account(address)).toEqual(before);
  });

  it('a sale pays for the accounts that are missing, before it receives anything', { timeout }, () => {
    for (const parts of [{}, { cashback: true }, { quoteMint: usdcMint }]) {
      const chain = startChain();
      const coin = launchCoin(chain, parts);
      const world = new RealPrograms(chain);
      const inSol = coin.quoteMint === wrappedSolMint;
      tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: inSol ? 5_000_000_000n : 500_000_000n });
      const none = { lamports: 0n, owner: systemProgram, data: new Uint8Array(0) };
      for (const address of [userVolumeAccumulatorAddress(user), creatorVaultAddress(maker.publicKey)]) world.put(address, none);
      tradeAsQuoted(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) / 2n });
      world.put(userVolumeAccumulatorAddress(user), { ...none, lamports: 700_000n });
      tradeAsQuoted(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) / 2n });
    }
  });

  it('an account grows at the cost of the rent that it lacks', { timeout }, () => {
    const chain = startChain();
    for (const [coin, at, bytes] of [
      [launchCoin(chain), bondingCurveAddress, 125],
      [launchCoin(chain, { quoteMint: usdcMint }), bondingCurveAddress, 151],
      [launchPool(chain), (mint: string) => canonicalPoolAddress(mint, wrappedSolMint), 245],
    ] as const) {
      for (const surplus of [0n, 100_000n, 600_000n]) {
        const world = new RealPrograms(chain);
        const account = world.account(at(coin.mint))!;
        const lamports = account.lamports - minimumBalance(account.data.length) + minimumBalance(bytes) + surplus;
        world.put(at(coin.mint), { ...account, lamports, data: account.data.slice(0, bytes) });
        const { built } = tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 20_000_000n });
        expect(built.trade.programAccounts.some(({ grows }) => grows?.from === bytes)).toBe(true);
      }
    }
  });

  it('a purchase in another coin needs what it costs of that coin', { timeout }, () => {
    const chain = startChain();
    for (const coin of [launchCoin(chain, { quoteMint: usdcMint }), launchPool(chain, { quoteMint: usdcMint })]) {
      const world = new RealPrograms(chain);
      const account = associatedTokenAddress(user, usdcMint, tokenProgram);
      const loose = ({ pool }: { readonly pool: QuotedPool }): QuotedPool =>
        changed(pool, (order) => pool.build({ ...order, maxIn: order.maxIn * 2n }));
      for (const [exact, amount] of [
        ['quoteIn', 20_000_007n],
        ['baseOut', 5_000_000_000n],
      ] as const) {
        const outcome = openPoolOf(world, coin).pool.quote({ exact, amount }, atAnyTime);
        if (!outcome.ok) throw new Error(outcome.fault);
        for (const missing of [1n, 0n]) {
          const held = tokenAccountData(usdcMint, user, outcome.quote.traderQuote - missing);
          world.put(account, { lamports: minimumBalance(held.length), owner: tokenProgram, data: held });
          const { failed } = sendTrade(world, coin, { exact, amount }, { pool: loose(openPoolOf(world, coin)) });
          expect(failed, `${exact}, ${missing} too little`).toBe(missing > 0n);
        }
      }
    }
  });

  it('coins without a creator', { timeout }, () => {
    const chain = startChain();
    for (const [coin, at, creatorAt] of [
      [launchCoin(chain), bondingCurveAddress, curveLayout.creator],
      [launchPool(chain), (mint: string) => canonicalPoolAddress(mint, wrappedSolMint), poolLayout.coinCreator],
    ] as const) {
      const world = new RealPrograms(chain);
      const account = world.account(at(coin.mint))!;
      const data = Uint8Array.from(account.data);
      data.fill(0, creatorAt, creatorAt + 32);
      world.put(at(coin.mint), { ...account, data });
      tradeAll(world, coin);
    }
  });

  it('a coin against any other coin, of Token-2022', { timeout }, () => {
    const chain = startChain();
    const launched = launchCoin(chain, { quoteMint: usdcMint });
    const world = new RealPrograms(chain);
    const quoteMint = wallet('built', 'quote coin').publicKey;
    const coin = { ...launched, quoteMint };
    const put = (address: string, data: Uint8Array): void =>
      world.put(address, { lamports: minimumBalance(data.length), owner: token2022Program, data });
    put(quoteMint, mintData(8, 10n ** 16n, null));
    const curve = bondingCurveAddress(coin.mint);
    const ata = (owner: string): string => associatedTokenAddress(owner, quoteMint, token2022Program);
    put(ata(user), tokenAccountData(quoteMint, user, 10n ** 14n));
    const account = world.account(curve)!;
    const data = Uint8Array.from(account.data);
    data.set(addressBytes(quoteMint), curveLayout.quoteMint);
    world.put(curve, { ...account, data });
    const held = Buffer.from(data).readBigUInt64LE(curveLayout.realQuote);
    put(ata(curve), tokenAccountData(quoteMint, curve, held));
    // Every fee recipient has an account before the program lists a quote coin.
    for (const owner of [...feeRecipients, ...buybackFeeRecipients]) put(ata(owner), tokenAccountData(quoteMint, owner, 0n));
    tradeAll(world, coin);
    buyTheRest(world, coin);
  });

  it('errors have the expected meaning', { timeout }, () => {
    const chain = startChain();
    for (const coin of [launchCoin(chain), launchPool(chain)]) {
      const world = new RealPrograms(chain);
      tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 1_000_000_000n });
      const { pool, venue } = openPoolOf(world, coin);
      const tight = changed(pool, (order) => pool.build({ ...order, minOut: order.minOut + 1n, maxIn: order.maxIn - 1n }));
      for (const exact of ['quoteIn', 'baseOut', 'baseIn'] as const)
        expect(faultOf(sendTrade(world, coin, { exact, amount: 9_000_000n }, { pool: tight })), exact).toBe('slippage');
      const feeRecipientAt = venue === 'pump' ? 6 : 9;
      const stranger = changed(pool, (order) => {
        const built = pool.build(order);
        const replaced = built.instruction.accounts.map((meta, i) => (i === feeRecipientAt ? { ...meta, address: order.user } : meta));
        return { ...built, instruction: { ...built.instruction, accounts: replaced } };
      });
      expect(faultOf(sendTrade(world, coin, { exact: 'baseIn', amount: 9_000_000n }, { pool: stranger }))).toBe('stale_accounts');
      const more = sendTrade(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) + 1n });
      // PumpSwap leaves this check to the token program: its error 1.
      expect(faultOf(more)).toBe(venue === 'pump' ? 'insufficient_tokens' : `${token2022Program} 1`);
      if (venue !== 'pump') continue;
      buyTheRest(world, coin);
      expect(faultOf(sendTrade(world, coin, { exact: 'baseIn', amount: 9_000_000n }, { pool }))).toBe('complete');
    }
  });
});
