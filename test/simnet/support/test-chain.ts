import { createHash } from 'node:crypto';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { TransactionRecord } from '../chain.ts';
import { signTransaction, wallet } from '../runtime/wallets.ts';
import { createV2, type NewCoin } from '../market/instructions.ts';
import type { HistoryBounds } from '../ledger/history.ts';
import { createChain, type SimChain } from '../sim-chain.ts';

const sol = 1_000_000_000n;
const startMs = 1_790_000_000_000;
const slotMs = 200;

/** Wallets of the tests. Genesis funds all of them. */
export const alice = wallet('tests', 'alice');
export const bob = wallet('tests', 'bob');

/** A chain without a market, whose clock advances 200 ms with each slot. */
export function quietChain(history?: HistoryBounds): SimChain {
  let now = startMs;
  const funded = [alice, bob].map(({ publicKey }) => ({ address: publicKey, lamports: 1_000n * sol }));
  return createChain({ seed: 'tests', market: false, funded, nowMs: () => (now += slotMs), ...(history && { history }) });
}

export function marketChain(seed: number | string, market = {}): SimChain {
  let now = startMs;
  return createChain({ seed, market, nowMs: () => (now += slotMs) });
}

/** Sends, freezes a slot, and returns the record. Preflight is skipped, so that failures land. */
export function land(chain: SimChain, instructions: readonly Instruction[], signers: readonly [Keypair, ...Keypair[]]): TransactionRecord {
  const { blockhash: recentBlockhash } = chain.latestBlockhash();
  const sent = chain.send(signTransaction({ version: 0, recentBlockhash, instructions, signers }), { skipPreflight: true });
  if (!sent.ok) throw new Error(sent.message);
  chain.advance();
  const record = chain.transaction(sent.signature);
  if (record === null) throw new Error('the transaction did not land');
  return record;
}

let coins = 0;

/** Creates a coin of alice's and returns its mint. */
export function launch(chain: SimChain, parts: Partial<NewCoin> = {}): string {
  const mint = wallet('tests', `mint ${coins++}`);
  const coin: NewCoin = {
    mint: mint.publicKey,
    user: alice.publicKey,
    creator: alice.publicKey,
    text: { name: 'Simulated test coin', symbol: 'SIMTEST', uri: 'https://simnet.invalid/test' },
    mayhem: false,
    cashback: false,
    holderReward: false,
    creatorFeeBps: 0n,
    quoteMint: null,
    ...parts,
  };
  const record = land(chain, [createV2(coin)], [alice, mint]);
  if (record.err !== null) throw new Error(record.logs.join('\n'));
  return mint.publicKey;
}

/** An address without an account, by name. */
export function address(name: string): string {
  return encodeBase58(createHash('sha256').update(name).digest());
}
