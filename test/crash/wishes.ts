import { randomUUID } from 'node:crypto';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { pumpPortalTradeEndpoint } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { tradeBuyEndpoint, tradeSellEndpoint, transactionSendEndpoint } from '@sluice/shared/wire/rest/trading/trade.ts';
import { signatureIn } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** The way of an order: `/trade/*`, PumpPortal's body, or a transaction that its caller signed. */
export const ways = ['lightning', 'sent', 'pumpportal'] as const;
export type Way = (typeof ways)[number];

export interface Wish {
  readonly way: Way;
  readonly path: string;
  /** The `id` of the endpoint whose keys count. */
  readonly endpoint: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** The signature of the transaction that the caller signed; null if the server signs. */
  readonly signature: string | null;
}

export interface WishOptions {
  readonly side: 'buy' | 'sell';
  readonly wallet: Keypair;
  readonly mint: string;
  readonly slippage: number;
}

const buySol = 0.05;
const sellPart = '50%';
const withinMs = 60_000;

export async function newWish(way: Way, options: WishOptions, at: { readonly url: string; readonly apiKey: string }): Promise<Wish> {
  const { side, wallet, mint, slippage } = options;
  const amount = side === 'buy' ? buySol : sellPart;
  const common = { publicKey: wallet.publicKey, mint, amount, slippage };
  const idempotencyKey = randomUUID();
  switch (way) {
    case 'lightning': {
      const { id: endpoint, path } = side === 'buy' ? tradeBuyEndpoint : tradeSellEndpoint;
      return { way, path, endpoint, body: common, idempotencyKey, signature: null };
    }
    case 'pumpportal': {
      const { id: endpoint, path } = pumpPortalTradeEndpoint;
      const body = { ...common, action: side, denominatedInSol: side === 'buy' ? 'true' : 'false', pool: 'auto' };
      return { way, path, endpoint, body, idempotencyKey, signature: null };
    }
    case 'sent': {
      const { id: endpoint, path } = transactionSendEndpoint;
      const transaction = await signed(`${at.url}/transaction/${side}`, common, wallet, at.apiKey);
      return { way, path, endpoint, body: { transaction }, idempotencyKey, signature: signatureIn(transaction) };
    }
  }
}

/** The transaction that the gateway builds, signed by its wallet; base64. */
async function signed(url: string, body: unknown, wallet: Keypair, apiKey: string): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  let last: unknown = null;
  const unsigned = await until(
    'an unsigned transaction',
    async () => {
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      last = await answer.json();
      return answer.status === 200 && (last as { readonly transaction: string }).transaction;
    },
    withinMs,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
  });
  const decoded = decodeTransaction(Buffer.from(unsigned, 'base64'));
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  const { messageBytes } = decoded;
  return Buffer.from(assembleTransaction(messageBytes, [signMessage(wallet, messageBytes)])).toString('base64');
}
