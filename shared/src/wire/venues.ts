/** What the contract with clients says of a venue. `venues/src` has the code; a test compares the two. */
interface VenueFacts {
  /** Its logs show its trades whole. Otherwise each trade needs the whole transaction. */
  readonly logsTrades: boolean;
  /** Its pools are bonding curves. */
  readonly curves: boolean;
  readonly quoted: boolean;
  /** Orders are sent to it. */
  readonly traded: boolean;
}

/** The venues of the contract, as `pool` in events and requests. Null: sluice does not read it yet. */
export const venueTable = {
  pump: { logsTrades: true, curves: true, quoted: true, traded: true },
  'pump-amm': { logsTrades: true, curves: false, quoted: true, traded: true },
  launchlab: null,
  'raydium-cpmm': { logsTrades: false, curves: false, quoted: true, traded: false },
  'raydium-amm': null,
  'raydium-clmm': { logsTrades: false, curves: false, quoted: true, traded: false },
  'meteora-dbc': null,
  'meteora-damm-v2': null,
  'meteora-dlmm': null,
  'orca-whirlpool': { logsTrades: false, curves: false, quoted: true, traded: false },
} as const satisfies Readonly<Record<string, VenueFacts | null>>;

export type VenueName = keyof typeof venueTable;

const facts: Readonly<Record<VenueName, VenueFacts | null>> = venueTable;

export const venueNames: readonly VenueName[] = Object.keys(venueTable) as VenueName[];
export const decodedVenueNames: readonly VenueName[] = namesOf(() => true);
/**
 * What ingest reads unless the settings say otherwise. Raydium has too many trades to fetch each transaction by itself, as the logs would need: these venues
 * follow once whole blocks are a source.
 */
export const defaultVenueNames: readonly VenueName[] = ['pump', 'pump-amm', 'orca-whirlpool'];
export const loggedVenueNames: readonly VenueName[] = namesOf(({ logsTrades }) => logsTrades);
export const quotedVenueNames: readonly VenueName[] = namesOf(({ quoted }) => quoted);
export const tradedVenueNames: readonly VenueName[] = namesOf(({ traded }) => traded);

/** Whether the venue's pools are bonding curves. */
export function isCurveVenue(name: VenueName): boolean {
  return facts[name]?.curves === true;
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

function namesOf(has: (venue: VenueFacts) => boolean): readonly VenueName[] {
  return venueNames.filter((name) => {
    const venue = facts[name];
    return venue !== null && has(venue);
  });
}
