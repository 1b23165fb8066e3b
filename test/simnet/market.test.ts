import { expect, test } from 'vitest';
import { systemProgram, token2022Program } from '@sluice/shared/solana/well-known.ts';
import { programId as ammProgram } from '@sluice/venues/pump/amm/program.ts';
import { programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import type { TransactionRecord } from './chain.ts';
import { picturedUri, withSimulatedImages } from './market/images.ts';
import { createV2, legacyBuy } from './market/instructions.ts';
import { pumpMint } from './market/pump-mint.ts';
import { signTransaction } from './runtime/wallets.ts';
import { curveOf } from './programs/addresses.ts';
import { associatedTokenInstruction } from './programs/token/associated-token.ts';
import { buybackFeeRecipients, feeRecipients } from './programs/recipients.ts';
import { routerProgram } from './programs/router.ts';
import { curveBytes, readCurve } from './programs/pump/state.ts';
import type { SimChain } from './sim-chain.ts';
import { accountBytes } from './support/account-bytes.ts';
import { isFullFuzz } from '../support/fuzz.ts';
import { bob, land, marketChain } from './support/test-chain.ts';

const slots = isFullFuzz ? 2_000 : 1_000;

/** How a trade may fail: because of a limit that is too tight, or because of an earlier trade in the same slot. */
const expectedFailures = new Set(['6002', '6003', '6042', '6005', '6004', '6040']);

function failure(record: TransactionRecord): string {
  const error = (record.err as { InstructionError?: [number, { Custom?: number }] } | null)?.InstructionError?.[1];
  return String(error?.Custom ?? JSON.stringify(record.err));
}

test(`${slots} slots: coins are created, traded, completed, migrated and traded again; only slippage makes transactions fail; no lamport is lost`, () => {
  const chain = marketChain('long run', { completeEverySeconds: 15, boostedShare: 0.4 });
  const lamports = chain.totalLamports();
  const instructions = new Map<string, number>();
  let [transactions, failed, routed, events] = [0, 0, 0, 0];
  for (let i = 0; i < slots; i++) {
    for (const record of chain.advance().transactions) {
      transactions++;
      if (record.accountKeys.includes(routerProgram)) routed++;
      if (record.err !== null) {
        failed++;
        expect(expectedFailures, record.logs.join('\n')).toContain(failure(record));
        continue;
      }
      const read = readLogs(record.logs, (programId) => {
        if (programId === pumpProgram || programId === ammProgram) events++;
      });
      expect(read.malformed).toBeNull();
      // Only a boosted migration logs more than a node retains.
      if (read.truncated) expect(record.logs.some((line) => line.startsWith('Program log: Instruction: Migrate'))).toBe(true);
      for (const line of record.logs) {
        if (!line.startsWith('Program log: Instruction: ')) continue;
        const name = line.slice(26);
        instructions.set(name, (instructions.get(name) ?? 0) + 1);
      }
    }
  }
  expect(chain.totalLamports()).toBe(lamports);
  const count = (...names: readonly string[]): number => names.reduce((sum, name) => sum + (instructions.get(name) ?? 0), 0);
  expect(count('Migrate', 'MigrateV2')).toBeGreaterThanOrEqual(5);
  expect(count('CreateV2')).toBeGreaterThan(100);
  for (const name of ['Buy', 'BuyExactSolIn', 'BuyV2', 'BuyExactQuoteInV2', 'BuyExactQuoteIn', 'Sell', 'SellV2']) {
    expect(count(name), name).toBeGreaterThan(20);
  }
  expect(failed / transactions).toBeGreaterThan(0.005);
  expect(failed / transactions).toBeLessThan(0.08);
  expect(routed / transactions).toBeGreaterThan(0.15);
  expect(events).toBeGreaterThan(1.25 * slots);
  const curves = [...chain.accountsOwnedBy(pumpProgram)]
    .filter(([, { data }]) => data.length === curveBytes)
    .map(([, { data }]) => readCurve(data));
  for (const flag of ['mayhem', 'cashback', 'holderReward'] as const)
    expect(
      curves.some((curve) => curve[flag]),
      flag,
    ).toBe(true);
  expect(curves.some(({ quoteMint }) => quoteMint !== systemProgram)).toBe(true);
});

test('the addresses of mints end in `pump`, are points of the curve, and depend on the seed', () => {
  const mints = Array.from({ length: 200 }, (_, number) => pumpMint('seed', number));
  for (const mint of mints) {
    expect(mint).toMatch(/^.{28,40}pump$/);
    expect(isOnCurve(addressBytes(mint))).toBe(true);
  }
  expect(new Set(mints).size).toBe(200);
  expect(pumpMint('seed', 7)).toBe(mints[7]);
  expect(pumpMint('other', 7)).not.toBe(mints[7]);
});

test('every coin states that it is simulated, and only the market creates coins whose mint did not sign', () => {
  const chain = marketChain('labels');
  for (let i = 0; i < 30; i++) chain.advance();
  for (const mint of mintsOnCurves(chain)) expect(mint).toMatch(/pump$/);
  const mint = pumpMint('labels', 1_000);
  const coin = { mint, user: bob.publicKey, creator: bob.publicKey, text: { name: 'a', symbol: 'b', uri: 'c' } };
  const flags = { mayhem: false, cashback: false, holderReward: false, creatorFeeBps: 0n, quoteMint: null };
  const { blockhash: recentBlockhash } = chain.latestBlockhash();
  const wire = signTransaction({
    version: 0,
    recentBlockhash,
    instructions: [createV2({ ...coin, ...flags })],
    signers: [bob],
    withoutKey: [mint],
  });
  expect(chain.send(wire, { skipPreflight: true })).toMatchObject({ ok: false, message: 'Transaction signature verification failure' });
  let [mints, unreachable, pictured] = [0, 0, 0];
  for (const [, { data }] of chain.accountsOwnedBy(token2022Program)) {
    const text = Buffer.from(data).toString('latin1');
    const hasNoMetadata = text.includes('https://simnet.invalid/coin/');
    const isPictured = text.includes('https://simnet.invalid/pictured/');
    if (isPictured) pictured++;
    if (!hasNoMetadata && !isPictured && !text.includes('data:application/json,{"description":"Simulated ')) continue;
    if (hasNoMetadata) unreachable++;
    mints++;
    expect(text).toContain('Simulated ');
    expect(text).toContain('SIM');
  }
  expect(mints).toBeGreaterThan(10);
  expect(unreachable).toBeGreaterThan(0);
  expect(unreachable).toBeLessThan(mints / 4);
  expect(pictured).toBeGreaterThan(mints / 4);
});

test("the images of the market's coins are answered from memory, and every other address is fetched", async () => {
  const refused = { ok: false, reason: 'refused' } as const;
  const fetched: string[] = [];
  const note = async (address: string): Promise<typeof refused> => (fetched.push(address), refused);
  const fetcher = withSimulatedImages({ metadata: note, image: note });
  const document = await fetcher.metadata(picturedUri(7));
  const address = document.ok ? (document.metadata.image ?? '') : '';
  expect(await fetcher.image(address)).toMatchObject({ ok: true, image: { type: 'image/png' } });
  expect(fetched).toEqual([]);
  const others = [`${picturedUri(7)}/../8`, 'https://simnet.invalid/pictured/x', `${address}?`, 'http://127.0.0.1/image/7.png'];
  for (const other of others) expect([await fetcher.metadata(other), await fetcher.image(other)]).toEqual([refused, refused]);
  expect(fetched).toHaveLength(2 * others.length);
});

test('the same seed gives the same chain, and another seed gives another chain', () => {
  const signatures = (seed: string): string[] => {
    const chain = marketChain(seed);
    return Array.from({ length: 60 }, () => chain.advance().transactions.map(({ signature }) => signature)).flat();
  };
  const first = signatures('same');
  expect(first.length).toBeGreaterThan(80);
  expect(signatures('same')).toEqual(first);
  expect(signatures('other')).not.toEqual(first);
});

test('coins retire and their accounts are removed, so that the state stays bounded; coins that an outsider holds remain', () => {
  const coins = { onCurve: 20, onPool: 2, retired: 30 };
  const chain = marketChain('retire', { newTokensPerSecond: 10, tradesPerSecond: 5, completeEverySeconds: 8, coins });
  for (let i = 0; i < 6; i++) chain.advance();
  chain.airdrop(bob.publicKey, 20_000_000_000n);
  chain.advance();
  const lamports = chain.totalLamports();
  const mint = mintsOnCurves(chain).at(-1) ?? '';
  const curve = readCurve(accountBytes(chain, curveOf(mint)));
  const trade = { mint, tokenProgram: token2022Program, curve, user: bob.publicKey, amount: 1_000_000_000n, limit: 1n };
  const recipients = { feeRecipient: feeRecipients[0] ?? '', buyback: buybackFeeRecipients[0] ?? '' };
  const account = associatedTokenInstruction(bob.publicKey, bob.publicKey, mint, token2022Program, true);
  expect(land(chain, [account, legacyBuy({ ...trade, ...recipients }, true)], [bob]).err).toBeNull();

  let [largest, made] = [0, 0];
  for (let i = 0; i < 250; i++) {
    const { transactions } = chain.advance();
    made += transactions.filter(({ logs, err }) => err === null && logs.includes('Program log: Instruction: CreateV2')).length;
    if (i > 150) largest = Math.max(largest, chain.size);
  }
  expect(made).toBeGreaterThan(350);
  expect(chain.account(curveOf(mint))).not.toBeNull();
  expect(mintsOnCurves(chain).length).toBeLessThan(20 + 2 + 30 + 10);
  expect(largest).toBeLessThan(3_000);
  expect(chain.totalLamports()).toBe(lamports);
});

/** Mints of the curves that hold coins, oldest first. */
function mintsOnCurves(chain: SimChain): string[] {
  return [...chain.accountsOwnedBy(token2022Program)]
    .filter(([mint, { data }]) => data.length > 234 && chain.account(curveOf(mint)) !== null)
    .map(([mint]) => mint);
}
