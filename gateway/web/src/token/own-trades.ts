import type { Trade } from '@sluice/client';
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../parts/hooks.ts';
import { sluice } from '../state/server.ts';
import { useOwnWallets } from '../wallets/own-wallets.ts';

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
  const wallets = useOwnWallets().value;
  // Without the scope `trade` there are no orders.
  const { value, reload } = useLoaded(() => sluice.orders({ limit: maxOrders }), mint, null);
  const found = useMemo(() => {
    const own = new Set((wallets ?? []).map(({ publicKey }) => publicKey));
    const isOwn = ({ trader }: Trade): boolean => own.has(trader);
    const marks = new Map<string, OwnTrade>();
    for (const { mint: of, side, fill, signature, orderId, createdAtMs } of value?.orders ?? []) {
      if (of !== mint || fill === null || side === null) continue;
      marks.set(signature ?? orderId, { side, atS: fill.blockTime ?? Math.floor(createdAtMs / 1_000) });
    }
    for (const trade of (trades ?? []).filter(isOwn)) {
      marks.set(trade.signature ?? trade.id, { side: trade.side, atS: trade.blockTime ?? Math.floor(trade.ts.received / 1e6) });
    }
    return { isOwn, marks: [...marks.values()].toSorted((a, b) => a.atS - b.atS) };
  }, [mint, wallets, value, trades]);
  return { ...found, refresh: reload };
}
