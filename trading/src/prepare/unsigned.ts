import type { QuoteRefusal } from '../quote/best-quote.ts';
import { checkedTrade, unsignedWire, type CheckParts } from './checked-trade.ts';
import type { PreparedTrade } from './prepare.ts';
import type { TradeRequest } from './request.ts';
import type { HotState } from '../state/hot-state.ts';
import type { SimulatedTrade } from './simulate-trade.ts';

/** A transaction that its wallet still has to sign. */
export interface Unsigned {
  readonly prepared: PreparedTrade;
  readonly wire: Uint8Array;
  /** Null if the request skipped the simulation. */
  readonly simulation: Extract<SimulatedTrade, { kind: 'passed' }>['simulation'];
  /** Null if the request skipped the simulation. */
  readonly simulateMs: number | null;
}

export interface UnsignedParts extends CheckParts {
  readonly state: CheckParts['state'] & Pick<HotState, 'secondsUntilAfter'>;
}

/** Whole seconds in which the transaction can still land. */
export function expiresInSeconds({ blockhash }: Pick<PreparedTrade, 'blockhash'>, { state }: Pick<UnsignedParts, 'state'>): number {
  // Without a current height, nothing promises that it can still land.
  return state.secondsUntilAfter(blockhash.lastValidBlockHeight) ?? 0;
}

/** Quotes and builds the transaction. Then simulates it, or checks it if the request skips the simulation. Rejects with an `RpcError`. */
export async function buildUnsigned(request: TradeRequest, parts: CheckParts): Promise<Unsigned | QuoteRefusal> {
  const checked = await checkedTrade(request, parts);
  if ('error' in checked) return checked;
  const { prepared, simulation, timing } = checked;
  return { prepared, wire: unsignedWire(prepared), simulation, simulateMs: timing.simulateMs ?? null };
}
