import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { assembleTransaction, compileMessage } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Block, InnerInstruction, TransactionRecord } from '../chain.ts';

const fee = 5_000n;
const payerLamports = 1_000_000_000n;

/** An event as a program logged it. */
interface LoggedEvent {
  readonly programId: string;
  readonly data: Uint8Array;
}

function seededKeypair(seed: number, name: string, counter: number): Keypair {
  return generateKeypair(createHash('sha256').update(`${name}:${seed}:${counter}`).digest());
}

/** The first event of a successful transaction in the block; null if it has none. */
export function firstEvent(block: Block): LoggedEvent | null {
  let found: LoggedEvent | null = null;
  for (const { err, logs } of block.transactions) {
    if (err !== null) continue;
    readLogs(logs, (programId, _path, data) => {
      found ??= { programId, data: Uint8Array.from(data) };
    });
    if (found !== null) break;
  }
  return found;
}

/**
 * A signed transaction of a foreign program that logs another program's event as its own. Every second one calls the imitated program
 * first, so that the forged line follows a genuine `success` of it.
 */
export function forgeLookAlike(block: Block, event: LoggedEvent, seed: number, counter: number): TransactionRecord {
  const payer = seededKeypair(seed, 'look-alike payer', counter);
  const foreign = seededKeypair(seed, 'look-alike program', 0).publicKey;
  const message = compileMessage({
    version: 'legacy',
    feePayer: payer.publicKey,
    recentBlockhash: block.blockhash,
    instructions: [
      {
        programId: foreign,
        accounts: [{ address: event.programId, signer: false, writable: false }],
        data: Uint8Array.of(counter & 255, (counter >> 8) & 255),
      },
    ],
  });
  const signature = signMessage(payer, message);
  const calls = counter % 2 === 1;
  const inner: InnerInstruction = { programId: event.programId, accounts: [event.programId], data: Uint8Array.of(0), stackHeight: 2 };
  const call = calls ? [`Program ${event.programId} invoke [2]`, `Program ${event.programId} success`] : [];
  const dataLine = `Program data: ${Buffer.from(event.data).toString('base64')}`;
  return {
    signature: encodeBase58(signature),
    wire: assembleTransaction(message, [signature]),
    version: 'legacy',
    slot: block.slot,
    index: block.transactions.length,
    blockTime: block.blockTime,
    err: null,
    logs: [
      `Program ${foreign} invoke [1]`,
      ...call,
      dataLine,
      `Program ${foreign} consumed 4321 of 200000 compute units`,
      `Program ${foreign} success`,
    ],
    unitsConsumed: 4_321,
    fee,
    innerInstructions: calls ? [{ index: 0, instructions: [inner] }] : [],
    accountKeys: [payer.publicKey, event.programId, foreign],
    preBalances: [payerLamports, 1n, 1n],
    postBalances: [payerLamports - fee, 1n, 1n],
    preTokenBalances: [],
    postTokenBalances: [],
    returnData: null,
    written: new Map(),
  };
}
