import type { Trade } from '@sluice/client';
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../parts/hooks.ts';
import { sluice } from '../state/server.ts';
import { useIsOwn } from '../parts/own-wallets.ts';

/** A trade of a wallet of the account, on the chain or on paper. */
export interface OwnTrade {
  readonly side: 'buy' | 'sell';
  /** Unix seconds. */
  readonly atS: number;
}

/** Orders that are searched for those of the token. */
const maxOrders = 200;

export interface OwnTrades {
  readonly isOwn: (trade: Trade) => boolean;
  /** Oldest first. */
  readonly marks: readonly OwnTrade[];
  /** An order was filled. */
  readonly refresh: () => void;
}

/** The account's trades of a token: those among `trades`, and those of its last orders. */
export function useOwnTrades(mint: string, trades: readonly Trade[] | null): OwnTrades {
  const isOwn = useIsOwn();
  // Without the scope `trade` there are no orders.
  const { value, reload } = useLoaded(() => sluice.orders({ limit: maxOrders }), mint, null);
  const marks = useMemo(() => {
    const found = new Map<string, OwnTrade>();
    for (const { mint: of, side, fill, signature, orderId, createdAtMs } of value?.orders ?? []) {
      if (of !== mint || fill === null || side === null) continue;
      found.set(signature ?? orderId, { side, atS: fill.blockTime ?? Math.floor(createdAtMs / 1_000) });
    }
    for (const trade of (trades ?? []).filter(isOwn)) {
      found.set(trade.signature ?? trade.id, { side: trade.side, atS: trade.blockTime ?? Math.floor(trade.ts.received / 1e6) });
    }
    return [...found.values()].toSorted((a, b) => a.atS - b.atS);
  }, [mint, isOwn, value, trades]);
  return { isOwn, marks, refresh: reload };
}
