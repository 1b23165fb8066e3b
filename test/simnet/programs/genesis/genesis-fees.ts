import type { FeeRates, FeeSchedule, FeeTier } from '../fee-schedule.ts';

const curveRates: FeeRates = { lp: 0n, protocol: 95n, creator: 30n };

/** Fees on a curve: one tier for every market cap. */
export const curveFees: FeeSchedule = {
  flat: curveRates,
  tiers: [{ marketCap: 0n, rates: curveRates }],
  stableTiers: [{ marketCap: 0n, rates: curveRates }],
  exoticFlat: curveRates,
};

/** Published table of creator fees on a pool: the market cap in SOL from which a row applies, and tenths of basis points. */
const creatorSteps: readonly (readonly [sol: number, tenthsBps: number])[] = [
  [420, 950],
  [1_470, 900],
  [2_460, 850],
  [3_440, 800],
  [4_420, 750],
  [9_820, 700],
  [14_740, 650],
  [19_650, 600],
  [24_560, 550],
  [29_470, 500],
  [34_380, 450],
  [39_300, 400],
  [44_210, 350],
  [49_120, 300],
  [54_030, 275],
  [58_940, 250],
  [63_860, 225],
  [68_770, 200],
  [73_681, 175],
  [78_590, 150],
  [83_500, 125],
  [88_400, 100],
  [93_330, 75],
  [98_240, 50],
];

const lamports = 1_000_000_000n;
/** USDC base units for the SOL of a tier, at the initial price of 150 USDC. */
const usdcUnits = 150_000_000n;

function tiers(unitsPerSol: bigint): FeeTier[] {
  return [
    { marketCap: 0n, rates: { lp: 2n, protocol: 93n, creator: 30n } },
    ...creatorSteps.map(([sol, tenths]) => ({
      marketCap: BigInt(sol) * unitsPerSol,
      rates: { lp: 20n, protocol: 5n, creator: BigInt(Math.floor(tenths / 10)) },
    })),
  ];
}

/** Fees on a pool: by market cap for coins that came from a curve, flat for other pools. */
export const ammFees: FeeSchedule = {
  flat: { lp: 20n, protocol: 5n, creator: 0n },
  tiers: tiers(lamports),
  stableTiers: tiers(usdcUnits),
  exoticFlat: { lp: 20n, protocol: 5n, creator: 30n },
};
