/** What the contract with clients says of a venue. `venues/src` has the code; a test compares the two. */
interface VenueFacts {
  /** The name that people use. */
  readonly label: string;
  /** Null: sluice does not read it yet. */
  readonly read: {
    /** Its logs show its trades whole. Otherwise each trade needs the whole transaction. */
    readonly logsTrades: boolean;
    /** Its pools are bonding curves. */
    readonly curves: boolean;
    readonly quoted: boolean;
    /** Orders are sent to it. */
    readonly traded: boolean;
  } | null;
}

const curveProgram = { logsTrades: true, curves: true, quoted: true, traded: true };
const pools = { logsTrades: false, curves: false, quoted: true, traded: false };
const tradedPools = { ...pools, traded: true };

/** The venues of the contract, as `pool` in events and requests. */
export const venueTable = {
  pump: { label: 'pump', read: curveProgram },
  'pump-amm': { label: 'PumpSwap', read: { ...tradedPools, logsTrades: true } },
  launchlab: { label: 'LaunchLab', read: { ...curveProgram, logsTrades: false } },
  'raydium-cpmm': { label: 'Raydium CPMM', read: tradedPools },
  'raydium-amm': { label: 'Raydium AMM', read: tradedPools },
  'raydium-clmm': { label: 'Raydium CLMM', read: pools },
  'meteora-dbc': { label: 'Meteora DBC', read: { ...curveProgram, logsTrades: false } },
  'meteora-damm-v2': { label: 'Meteora DAMM v2', read: tradedPools },
  'meteora-dlmm': { label: 'Meteora DLMM', read: pools },
  'orca-whirlpool': { label: 'Orca Whirlpool', read: pools },
  /** Only as the pool to which a curve moved. */
  'meteora-damm-v1': { label: 'Meteora DAMM v1', read: null },
} as const satisfies Readonly<Record<string, VenueFacts>>;

export type VenueName = keyof typeof venueTable;

const facts: Readonly<Record<VenueName, VenueFacts>> = venueTable;

export const venueNames: readonly VenueName[] = Object.keys(venueTable) as VenueName[];
export const decodedVenueNames: readonly VenueName[] = namesOf(() => true);
/**
 * What ingest reads by logs alone, unless the settings say otherwise. Raydium has too many trades to fetch each transaction by itself, as its logs would
 * need. With a source of whole transactions, ingest reads all.
 */
export const venuesByLogs: readonly VenueName[] = ['pump', 'pump-amm', 'orca-whirlpool'];
export const loggedVenueNames: readonly VenueName[] = namesOf(({ logsTrades }) => logsTrades);
export const quotedVenueNames: readonly VenueName[] = namesOf(({ quoted }) => quoted);
export const tradedVenueNames: readonly VenueName[] = namesOf(({ traded }) => traded);
/** Where the order of a PumpPortal client goes that names no pool, as with PumpPortal. */
export const pumpPortalVenue: VenueName = 'pump';
/** PumpPortal's names of venues that are not ours. */
export const pumpPortalPools: Readonly<Record<string, VenueName>> = { raydium: 'raydium-amm', bonk: 'launchlab' };

/** The name that people use. */
export function venueLabel(name: string): string {
  return (facts as Readonly<Record<string, VenueFacts | undefined>>)[name]?.label ?? name;
}

/** Whether orders are sent to the venue. */
export function isTradedVenue(name: string): boolean {
  return (tradedVenueNames as readonly string[]).includes(name);
}

/** Whether the venue's pools are bonding curves. */
export function isCurveVenue(name: VenueName): boolean {
  return facts[name].read?.curves === true;
}

/** Kinds of fees, each charged in addition to the amount through the pool. `event-parts.ts` describes them to clients. */
export const feeKinds = [
  'protocol',
  'creator',
  'lp',
  'cashback',
  'holderRewards',
  'fund',
  'platform',
  'share',
  'partner',
  'referral',
  'host',
  'transfer',
] as const;
export type FeeKind = (typeof feeKinds)[number];

function namesOf(has: (venue: NonNullable<VenueFacts['read']>) => boolean): readonly VenueName[] {
  return venueNames.filter((name) => {
    const { read } = facts[name];
    return read !== null && has(read);
  });
}
