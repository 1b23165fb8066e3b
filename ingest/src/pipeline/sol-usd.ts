import type { Logger } from '@sluice/shared/log/log.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import { solUsdcWhirlpool, whirlpoolProgram } from '@sluice/shared/solana/well-known.ts';
import { decodeWhirlpool, usdcPerSol } from '@sluice/shared/venues/orca-whirlpool/index.ts';
import { readAccount } from '../sources/read-account.ts';
import type { AccountState } from '../sources/sighting.ts';
import { nowUs } from '../clock.ts';
import { isLate, maxLateSlots } from '@sluice/shared/solana/slots.ts';

export interface SolUsd {
  /** USD (USDC) for one SOL. */
  readonly price: number;
  readonly slot: number;
  /** When it was received, Unix milliseconds. */
  readonly atMs: number;
}

/** A pool without trades causes no account change. Its account is requested after this time. */
const refreshAfterMs = 20_000;

/** USD for one SOL by the state of the SOL/USDC pool; null if the account is not that pool or has no liquidity. */
export function solUsdOf(state: AccountState): number | null {
  if (state.owner !== whirlpoolProgram) return null;
  const pool = decodeWhirlpool(state.data);
  return pool === null ? null : usdcPerSol(pool);
}

/** Maintains the SOL/USD price: from account changes of all endpoints, and by a request at the start and after silence. */
export class SolUsdFeed {
  current: SolUsd | null = null;
  /** Answers and notifications that were not the pool's state. */
  refused = 0;
  readonly #rpc: Rpc;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(rpc: Rpc, log: Logger, signal: AbortSignal) {
    this.#rpc = rpc;
    this.#log = log;
    this.#signal = signal;
  }

  /** A slot far ahead of a price that was just received is invalid. One far behind it shows that the price's own slot was invalid. */
  take(state: AccountState): void {
    const price = solUsdOf(state);
    const atMs = Math.round(state.receivedUs / 1000);
    const fresh = this.current !== null && atMs - this.current.atMs < refreshAfterMs ? this.current : null;
    if (price === null || (fresh !== null && state.slot - fresh.slot > maxLateSlots)) {
      this.refused++;
      return;
    }
    if (fresh !== null && isLate(state.slot, fresh.slot)) return;
    this.current = { price, slot: state.slot, atMs };
  }

  /** Requests the pool's account after a silence. Called once a second. */
  refresh(nowMs: number): void {
    const heardAtMs = this.current?.atMs ?? Number.NEGATIVE_INFINITY;
    if (this.#asking || nowMs - Math.max(heardAtMs, this.#askedAtMs) < (this.current === null ? 1000 : refreshAfterMs)) return;
    this.#asking = true;
    this.#askedAtMs = nowMs;
    void this.ask().finally(() => {
      this.#asking = false;
    });
  }

  async ask(): Promise<void> {
    try {
      const answer = await this.#rpc.call(
        'getAccountInfo',
        [solUsdcWhirlpool, { encoding: 'base64', commitment: 'processed' }],
        this.#signal,
      );
      const slot = isRecord(answer) && isRecord(answer['context']) ? answer['context']['slot'] : null;
      const state = isRecord(answer) && isSlot(slot) ? readAccount(solUsdcWhirlpool, answer['value'], slot, nowUs()) : null;
      if (state === null) this.refused++;
      else this.take(state);
    } catch (error) {
      if (!this.#signal.aborted) this.#log.warn({ err: error }, 'sol_usd_unavailable');
    }
  }
}
