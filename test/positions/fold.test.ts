import { array, assert, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  amountOf,
  averageCost,
  foldTrade,
  foldTransfer,
  noPosition,
  type Movement,
  type Position,
} from '../../followers/src/positions/position.ts';
import type { WalletTrade } from '../../followers/src/positions/wallet-trade.ts';
import { anyStep, mints, RandomWallet, shownStep } from './random-wallet.ts';

/** `POSITION_HISTORIES`: how many random histories; 10,000 take some minutes. */
const numRuns = Number(process.env['POSITION_HISTORIES'] ?? '400');
const steps = { minLength: 1, maxLength: 60, size: 'max' } as const;
const timeoutMs = 600_000;

/** Buys and sells in a row. A trade of a million raw units is one of a whole token. */
function traded(...trades: readonly (readonly ['buy' | 'sell', tokens: bigint, lamports: bigint])[]): Position[] {
  let position = noPosition;
  return trades.map(([side, tokens, lamports]) => {
    const movement: Movement = { side, tokens, lamports, decimals: 6, atMs: 1 };
    return (position = foldTrade(position, movement));
  });
}

/** Average cost by its definition: every sale looks at all trades before it again. */
function oracle(trades: readonly WalletTrade[], mint: string) {
  let [held, cost, realized, free] = [0n, 0n, 0n, 0n];
  for (const { legs } of trades) {
    for (const { mint: of, side, tokens, lamports } of legs) {
      if (of !== mint) continue;
      if (side === 'buy' && lamports === null) free += tokens;
      else if (side === 'buy') [held, cost] = [held + tokens, cost + lamports!];
      else {
        const sold = tokens > held ? held : tokens;
        const soldCost = held === 0n ? 0n : sold === held ? cost : (cost * sold) / held;
        const beyond = tokens - sold;
        [held, cost, free] = [held - sold, cost - soldCost, beyond > free ? 0n : free - beyond];
        if (lamports !== null) realized += lamports - soldCost;
      }
    }
  }
  return { explained: held, costLamports: cost, unexplained: free, realizedLamports: realized };
}

const countOf = (trades: readonly WalletTrade[], mint: string, side: 'buy' | 'sell'): number =>
  trades.flatMap(({ legs }) => legs).filter((leg) => leg.mint === mint && leg.side === side).length;

describe('average cost', () => {
  it('is that of the worked example: +4 after the first sale, +10 after the last', () => {
    // docs.codex.io/concepts/wallet-pnl: 10 for 10, sells 4 for 8, buys 10 for 20, sells 16 for 32.
    const found = traded(['buy', 10n, 10n], ['sell', 4n, 8n], ['buy', 10n, 20n], ['sell', 16n, 32n]);
    expect(found.map(({ costLamports, explained, realizedLamports }) => [costLamports, explained, realizedLamports])).toEqual([
      [10n, 10n, 0n],
      [6n, 6n, 4n],
      [26n, 16n, 4n],
      [0n, 0n, 10n],
    ]);
    expect(averageCost(found[2]!)).toBe(1.625);
  });

  it('is not changed by tokens that a stranger sends, even if more is sold then', () => {
    const [honest] = traded(['buy', 100n, 1_000n]);
    const dusted = foldTransfer(honest!, 1_000_000n, 2);
    expect(averageCost(dusted)).toBe(averageCost(honest!));
    const sale: Movement = { side: 'sell', tokens: 100n, lamports: 550n, decimals: 6, atMs: 3 };
    expect(foldTrade(dusted, sale)).toMatchObject({ realizedLamports: -450n, unexplained: 1_000_000n, explained: 0n });
    // What leaves without a trade leaves from the dust first, and then at the average cost.
    const left = foldTransfer(foldTransfer(dusted, -1_000_000n, 4), -50n, 5);
    expect(left).toMatchObject({ explained: 50n, costLamports: 500n, unexplained: 0n, realizedLamports: 0n });
  });
});

describe('the positions of a wallet', () => {
  it('equal those of the surviving trades, through forks, retractions, gaps and restarts', { timeout: timeoutMs }, () => {
    let retracted = 0;
    const exact = property(array(shownStep, steps), (history) => {
      const random = new RandomWallet();
      for (const step of history) random.take(step);
      random.end();
      expect(random.ledger.undecided).toBe(0);
      for (const mint of mints) {
        const { buys, sells, ...position } = random.state.settled(mint) ?? noPosition;
        expect(random.state.current(mint) ?? noPosition).toEqual({ ...position, buys, sells });
        expect([buys, sells]).toEqual([countOf(random.alive, mint, 'buy'), countOf(random.alive, mint, 'sell')]);
        expect(position).toMatchObject(oracle(random.alive, mint));
      }
      retracted += history.filter((step) => step.does === 'trade' && step.fate === 'lacked').length;
    });
    assert(exact, { numRuns });
    expect(retracted).toBeGreaterThan(numRuns / 10);
  });

  it('equal the balances of the chain at each check, with every trade counted once', { timeout: timeoutMs }, () => {
    const whole = property(array(anyStep, steps), (history) => {
      const random = new RandomWallet();
      for (const step of history) random.take(step);
      random.end();
      for (const mint of mints) {
        const position = random.state.settled(mint) ?? noPosition;
        expect(amountOf(position)).toBe(random.balances.get(mint));
        // What the log never had is found only if the balances differ.
        const isWhole = history.every((step) => step.does !== 'trade' || step.fate !== 'missed');
        for (const [counted, side] of [[position.buys, 'buy'] as const, [position.sells, 'sell'] as const]) {
          const alive = countOf(random.alive, mint, side);
          expect(isWhole ? counted : Math.max(counted, alive)).toBe(alive);
        }
        for (const part of [position.explained, position.unexplained, position.costLamports, position.departed]) {
          expect(part).toBeGreaterThanOrEqual(0n);
        }
      }
    });
    assert(whole, { numRuns });
  });
});
