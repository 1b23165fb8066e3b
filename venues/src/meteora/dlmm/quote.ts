import { pairQuoting } from '../../kit/pair-quoting.ts';
import { arraysAhead } from '../../kit/ticks.ts';
import { ownedData, type AccountLookup } from '../../seam/quoting.ts';
import { arrayAt, arrayOf, decodeBinArray, type Bin } from './bin-arrays.ts';
import { stateOfBin } from './bin-price.ts';
import { decodePair, type DlmmPair } from './pair.ts';
import { programId } from './program.ts';
import { swapBins } from './swap.ts';

/** What a swap meets, in its order. Null if an account is not an array of this pair. */
function binsMet(pair: DlmmPair, address: string, paysX: boolean, accounts: AccountLookup): readonly Bin[] | null {
  const bins: Bin[] = [];
  for (const index of arraysAhead(pair.bitmap, arrayOf(pair.activeId), paysX)) {
    const array = decodeBinArray(ownedData(accounts, arrayAt(address, String(index)), programId) ?? new Uint8Array(0), address, index);
    if (array === null) return null;
    bins.push(...(paysX ? array.toReversed() : array));
  }
  return bins.filter(({ id }) => (paysX ? id <= pair.activeId : id >= pair.activeId));
}

function faultOf(pair: DlmmPair): string | null {
  return stateOfBin(pair.binStep, pair.activeId).priceBase === 0n ? 'the pair has no price' : null;
}

export const quoting = pairQuoting<DlmmPair>({
  programId,
  decode: decodePair,
  coins: ({ mintX, mintY }) => [mintX, mintY],
  fault: faultOf,
  hasUnknownFee: ({ fees }) => fees.mode > 1,
  isClosed: ({ isEnabled, opens }, unixTimeS, slot) =>
    !isEnabled || (opens !== null && BigInt(opens.bySlot ? slot : unixTimeS) < opens.point),
  needs: ({ bitmap, activeId }, address) => {
    const arrays = [true, false].flatMap((falls) => arraysAhead(bitmap, arrayOf(activeId), falls));
    return [...new Set(arrays)].map((index) => arrayAt(address, String(index)));
  },
  open(pair, address, accounts) {
    const [falling, rising] = [binsMet(pair, address, true, accounts), binsMet(pair, address, false, accounts)];
    if (falling === null || rising === null) return 'a bin array of the pair cannot be read';
    return {
      price: stateOfBin(pair.binStep, pair.activeId),
      swap: (amount, exactIn, paysX, coins, { unixTimeS }) =>
        swapBins({ pair, bins: paysX ? falling : rising }, { amount, exactIn, paysX, unixTimeS }, coins),
    };
  },
});
