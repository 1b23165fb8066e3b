import { randomBytes } from 'node:crypto';
import { newOrderId } from '../../trading/src/model/order-id.ts';
import type { OrderFill, OrderTerms, SignedMessage } from '@sluice/gateway/store/order-model/order.ts';
import type { NewOrder } from '@sluice/gateway/store/order-model/order.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { addressOf } from './events/stream-events.ts';

export const orderTerms: OrderTerms = {
  side: 'buy',
  mint: addressOf(1),
  pool: 'pump',
  poolAddress: addressOf(2),
  quoteMint: wrappedSolMint,
  baseDecimals: 6,
  quoteDecimals: 9,
  publicKey: addressOf(3),
};

/** Amounts beyond what a double can represent, and one below 0. */
export const orderFill: OrderFill = {
  pool: 'pump',
  baseAmount: 18_446_744_073_709_551_615n,
  quoteAmount: 9_007_199_254_740_993n,
  traderQuote: 9_107_199_254_740_993n,
  venueFees: 100_000_000_000_000n,
  networkFee: 5_000n,
  otherLamports: -2_039_280n,
  slot: 123,
  blockTime: 1_800_000_001,
};

export function signedMessage(): SignedMessage {
  return {
    signature: encodeBase58(randomBytes(64)),
    signedBytes: Uint8Array.from(randomBytes(300)),
    blockhash: encodeBase58(randomBytes(32)),
    lastValidBlockHeight: 1_150,
  };
}

/** The chain of test orders, unless they name another one. */
export const orderGenesisHash = addressOf(4);

/** An order as it is stored first: with its message, ready to be sent. */
export function newOrder(createdAtMs: number, more: Partial<NewOrder> = {}): NewOrder {
  return {
    id: newOrderId(createdAtMs),
    kind: 'lightning',
    keyId: 'key',
    accountId: null,
    genesisHash: orderGenesisHash,
    state: 'submitted',
    terms: orderTerms,
    quoteJson: null,
    ...signedMessage(),
    fill: null,
    error: null,
    timingJson: null,
    createdAtMs,
    ...more,
  };
}
