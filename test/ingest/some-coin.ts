import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import type { Harness } from './harness.ts';
import { dataLine, invoked } from './log-frames.ts';
import { addressOf, keyOf, signatureOf } from './pump-frames.ts';
import { logsSighting } from './sightings.ts';

/** The coin of the trades in `some-trades.ts`. */
export const mint = keyOf('coin');
export const mintAddress = addressOf('coin');
export const curveAddress = bondingCurveAddress(mintAddress);

let serial = 0;

/** Processes a new transaction in which the program logs these events. Returns its signature. */
export function take(
  { pipeline }: Pick<Harness, 'pipeline'>,
  program: string,
  events: readonly Buffer[],
  { slot = 100, receivedMs = Date.now() }: { readonly slot?: number; readonly receivedMs?: number } = {},
): string {
  const signature = signatureOf(`some ${serial++}`);
  pipeline.takeNew(logsSighting({ signature, slot, logs: invoked(program, 1, events.map(dataLine)), receivedUs: receivedMs * 1000 }));
  return signature;
}
