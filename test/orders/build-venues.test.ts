import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { compileMessage } from '@sluice/shared/solana/transaction/transaction.ts';
import { computeUnitPrice } from '@sluice/shared/solana/transaction/instructions.ts';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { temporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type LookedUpAccount, type QuotedPool, type QuoteAccounts } from '@sluice/venues/seam/quoting.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { judge } from '@sluice/trading/signer/checks/check-message.ts';
import { expect, it } from 'vitest';
import { createMessageBuilder, maxMessageBytes, type BuildRequest } from '../../trading/src/prepare/message-builder.ts';
import { priceIndex, surround } from '../../trading/src/prepare/surround.ts';
import { meteoraDammV2 } from '../../venues/src/meteora/damm-v2/index.ts';
import { meteoraDbc } from '../../venues/src/meteora/dbc/index.ts';
import { config as dbcConfigAt, pool as dbcPoolAt } from '../../venues/src/meteora/dbc/layout.ts';
import { poolOf as dbcPoolOf, programId as dbcProgram } from '../../venues/src/meteora/dbc/program.ts';
import { launchLab } from '../../venues/src/raydium/launchlab/index.ts';
import { raydiumAmm } from '../../venues/src/raydium/amm/index.ts';
import { raydiumCpmm } from '../../venues/src/raydium/cpmm/index.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { bonk, curveAccounts } from '../support/chain/launchlab-curves.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';
import { ammPool, cpmmPool, dammPool, type OpenedPool, type Terms } from '../support/chain/venue-pools.ts';

/** The messages of orders on pools whose programs are not simulated: built from a template, and accepted by the signer. */
const user = wallet('build venues', 'user').publicKey;
const blockhash = wallet('build venues', 'blockhash').publicKey;
const tip = { accounts: [jitoTipAccounts[0]], lamports: 1_000_000n };

interface Case {
  readonly venue: Venue;
  readonly mint: string;
  readonly tokenProgram: string;
  readonly pool: string;
  readonly accounts: ReadonlyMap<string, { readonly owner: string; readonly data: Uint8Array }>;
}

function written(venue: Venue, make: (terms: Terms) => OpenedPool, terms: Partial<Terms> = {}): Case {
  const whole = { quoteMint: wrappedSolMint, isFirst: true, withheldBps: null, ...terms };
  const { mint, pool, accounts } = make(whole);
  return { venue, mint, pool, tokenProgram: whole.withheldBps === null ? tokenProgram : token2022Program, accounts: new Map(accounts) };
}

function onLaunchLab(): Case {
  const accounts = new Map([...curveAccounts(bonk)].map(([address, data]) => [address, { owner: launchLab.programId, data }]));
  return { venue: launchLab, mint: bonk.mint, tokenProgram, pool: [...accounts.keys()][0]!, accounts };
}

function onDbc(): Case {
  const [config, data] = ['fee_in_quote_config', 'fee_in_quote_pool'].map((name) => fixtureBytes(`accounts/meteora-dbc/${name}.bin`)) as [
    Buffer,
    Buffer,
  ];
  const key = (at: number): string => encodeBase58(data, at, 32);
  config.set(addressBytes(wrappedSolMint), dbcConfigAt.quoteMint);
  const mint = key(dbcPoolAt.baseMint);
  const pool = dbcPoolOf(key(dbcPoolAt.config), mint, wrappedSolMint);
  const accounts = new Map(
    [[pool, data] as const, [key(dbcPoolAt.config), config] as const].map(([at, bytes]) => [at, { owner: dbcProgram, data: bytes }]),
  );
  return { venue: meteoraDbc, mint, tokenProgram: token2022Program, pool, accounts };
}

function poolIn({ venue, mint, pool, accounts }: Case): QuotedPool {
  const at = (address: string): LookedUpAccount | null => {
    const found = accounts.get(address);
    return found === undefined ? null : { ...found, lamports: 1n };
  };
  const coin = { address: mint, decimals: 6, supply: 10n ** 15n, transferFee: null };
  const open = (addresses: QuoteAccounts) => venue.quoting!.open(coin, addresses, at, () => null);
  const first = open([pool]);
  const opened = first.kind === 'more' ? open([pool, ...first.addresses]) : first;
  if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
  return opened.pool;
}

const cases: readonly (readonly [string, () => Case])[] = [
  ['raydium-cpmm', () => written(raydiumCpmm, cpmmPool)],
  [
    'raydium-cpmm, Token-2022, against USDC',
    () => written(raydiumCpmm, cpmmPool, { isFirst: false, withheldBps: 100, quoteMint: usdcMint }),
  ],
  ['raydium-amm', () => written(raydiumAmm, ammPool, { isFirst: false })],
  ['launchlab', onLaunchLab],
  ['meteora-dbc', onDbc],
  ['meteora-damm-v2', () => written(meteoraDammV2, dammPool)],
  ['meteora-damm-v2, Token-2022, against USDC', () => written(meteoraDammV2, dammPool, { withheldBps: 100, quoteMint: usdcMint })],
];

const variants = [0n, 1n].flatMap((more) =>
  (
    [
      ['quoteIn', 500_000_000n],
      ['baseOut', 5_000_000n],
      ['baseIn', 7_000_000n],
    ] as const
  ).flatMap(([exact, amount]) =>
    [true, null].flatMap((baseAccountExists) =>
      [[], [tip]].map((requestedTips) => ({ trade: { exact, amount: amount + more }, baseAccountExists, requestedTips })),
    ),
  ),
);

it.skipIf(!fixturesPresent).each(cases)('%s', (_, make) => {
  const one = make();
  const pool = poolIn(one);
  const builder = createMessageBuilder(0, () => 'seed');
  const wrapped = temporarySol(user, 'seed');
  let tipped = 0;
  for (const { trade, ...varied } of variants) {
    const outcome = pool.quote(trade, atAnyTime);
    if (!outcome.ok) throw new Error(outcome.fault);
    const bounds = slippageBounds(trade, outcome.quote, 500n);
    const programs = { baseTokenProgram: one.tokenProgram, quoteTokenProgram: tokenProgram, baseAccountBytes: 170, quoteAccountBytes: 165 };
    const order = { user, trade, quote: outcome.quote, ...bounds, ...programs };
    const parts = { wrappedSolExists: null, wrappingRent: 2_039_280n, computeUnitLimit: null, microLamportsPerUnit: 777n };
    const request: BuildRequest = { pool, order, blockhash, ...varied, ...parts };
    const { message, trade: built, tips } = builder.build(request);
    tipped += tips.length;
    const around = { ...request, wrapping: () => wrapped, tips };
    const { instructions } = surround(order, pool.build({ ...order, recipient: 0, wrappedSol: () => wrapped.address }), around);
    instructions[priceIndex] = computeUnitPrice(777n);
    const compiled = compileMessage({ version: 0, feePayer: user, recentBlockhash: blockhash, instructions });
    expect(Buffer.from(message)).toEqual(Buffer.from(compiled));
    expect(message.length).toBeLessThanOrEqual(maxMessageBytes);
    expect(built.baseAccount).toBe(tokenAddress(user, one.mint, one.tokenProgram));
    // The wallet pays no more than the order allows, and the rent, the fees and the tip around it.
    const verdict = judge(message, user, built.poolAccount ?? null);
    expect(verdict).toMatchObject({ ok: true, mint: one.mint, venue: one.venue.programId });
    const traded = trade.exact === 'baseIn' || pool.quoteMint !== wrappedSolMint ? 0n : bounds.maxIn;
    const aside = verdict.ok ? verdict.lamports - traded : 0n;
    expect(aside > 0n && aside < 10_000_000n, String(aside)).toBe(true);
    if (built.poolAccount === undefined) continue;
    // Nothing else proves the coins of the pool.
    for (const other of [null, new Uint8Array(built.poolAccount.length)])
      expect(judge(message, user, other)).toMatchObject({ ok: false, rule: 'trade' });
  }
  expect(builder.counters).toEqual({ filled: 12, compiled: 12 });
  expect(tipped).toBe(12);
});
