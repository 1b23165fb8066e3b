import { until } from '../gateway.ts';

/** A chain goes on: a reader that has lost its connection learns the newest slot only from further ones. */
const goesOnAfterMs = 2_000;
const maxLag = 8;

interface AdvancingChain {
  readonly slot: number;
  advance(): unknown;
}

/** Freezes a slot, and waits until the reader is at most a few slots behind. */
export async function advanceWith(chain: AdvancingChain, slotOfReader: () => number): Promise<void> {
  chain.advance();
  let frozenAtMs = performance.now();
  await until('the reader follows', () => {
    if (performance.now() - frozenAtMs > goesOnAfterMs) {
      chain.advance();
      frozenAtMs = performance.now();
    }
    return chain.slot - slotOfReader() < maxLag;
  });
}
