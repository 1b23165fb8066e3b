import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { eventAuthority, eventCpiTag, programId } from '@sluice/venues/pump/curve/program.ts';
import { addressOf } from './pump-frames.ts';

interface WholeTransactionJson {
  readonly slot: number;
  readonly blockTime: number;
  readonly version: string;
  readonly transaction: unknown;
  readonly meta: Record<string, unknown>;
}

/** An answer of getTransaction with one top-level pump instruction for each event, each with its self-CPI. */
export function wholeTransaction(signature: string, events: readonly Buffer[], slot = 100): WholeTransactionJson {
  const keys = [addressOf('payer'), programId, eventAuthority];
  return {
    slot,
    blockTime: 1_791_485_999,
    version: 'legacy',
    transaction: {
      signatures: [signature],
      message: {
        accountKeys: keys,
        header: { numRequiredSignatures: 1, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 2 },
        recentBlockhash: addressOf('blockhash'),
        instructions: events.map(() => ({ programIdIndex: 1, accounts: [0], data: '' })),
      },
    },
    meta: {
      err: null,
      logMessages: ['Log truncated'],
      innerInstructions: events.map((event, index) => ({
        index,
        instructions: [{ programIdIndex: 1, accounts: [2], data: encodeBase58(Buffer.concat([eventCpiTag, event])), stackHeight: 2 }],
      })),
    },
  };
}
