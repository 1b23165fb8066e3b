import type { Price, Trade } from '@sluice/client';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLoaded, useSignal } from '../parts/hooks.ts';
import { useTrades } from '../parts/tape.tsx';
import { dropOldest, soon } from '../state/bounded.ts';
import { useIsOwn } from '../parts/own-wallets.ts';
import { sluice } from '../state/server.ts';
import { atNewest } from './newest-price.ts';

const refreshMs = 5_000;
/** Unknown pools, gaps and retractions make the page read the token again, at most this often. */
const againMs = 1_000;
const drawEveryMs = 250;
/** Pools whose last change without a trade is remembered. A gateway lists as many. */
const maxPools = 16;

/** A token and its trades in one state: a price in the head is that of the newest trade below it. `readAtMs`: when what the stream does not show was read. */
export function useToken(mint: string) {
  const { value, fault, readAtMs, reload } = useLoaded(() => sluice.tokenInfo(mint), mint, refreshMs);
  const { trades, fault: tradesFault, breaks } = useTrades({ mint });
  const changes = useChanges(mint);
  const info = useMemo(() => (value === null ? null : atNewest(value, [...(trades ?? []), ...changes])), [value, trades, changes]);
  const newest = trades?.[0];
  const isUnknown = newest !== undefined && value !== null && !value.pools.some(({ poolAddress }) => poolAddress === newest.poolAddress);
  // What the answer says of the pools is then wrong.
  const reason = isUnknown || newest?.curveCompleted === true ? newest.id : '';
  const last = useRef({ breaks, atMs: 0 });
  useEffect(() => {
    if (reason === '' && breaks === last.current.breaks) return;
    const timer = setTimeout(
      () => {
        last.current = { breaks, atMs: performance.now() };
        reload();
      },
      last.current.atMs + againMs - performance.now(),
    );
    return () => clearTimeout(timer);
  }, [reason, breaks]);
  return { info, readAtMs, trades, fault, tradesFault };
}

/** The last change of each pool that was no trade: reserves that the venue moved, or trades that nobody decodes. */
function useChanges(mint: string): readonly Price[] {
  const [changes, setChanges] = useState<readonly Price[]>([]);
  useSignal([mint], (signal) => {
    const byPool = new Map<string, Price>();
    const draw = soon(() => setChanges([...byPool.values()]), drawEveryMs, signal);
    sluice.subscribe('prices', {
      mints: [mint],
      signal,
      onEvent: (event) => {
        if (event.type === 'retract') {
          for (const [pool, { id }] of byPool) if (id === event.id) byPool.delete(pool);
        } else if (event.source === 'account') {
          byPool.delete(event.poolAddress);
          byPool.set(event.poolAddress, event);
          dropOldest(byPool, maxPools);
        } else return;
        draw();
      },
      // The fault of the trades says the same.
      onError: () => undefined,
    });
  });
  return changes;
}

/** A trade of a wallet of the account, on the chain or on paper. */
export interface OwnTrade {
  readonly side: 'buy' | 'sell';
  /** Unix seconds. */
  readonly atS: number;
}

/** Orders that are searched for those of the token. */
const maxOrders = 200;

/** The account's trades of a token: those among `trades`, and those of its last orders. `marks`: the oldest first. */
export function useOwnTrades(mint: string, trades: readonly Trade[] | null) {
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
