import { Type } from 'typebox';

/** Names of the venues, as `pool` in events and requests. */
export const venueNames = [
  'pump',
  'pump-amm',
  'launchlab',
  'raydium-cpmm',
  'raydium-amm',
  'raydium-clmm',
  'meteora-dbc',
  'meteora-damm-v2',
  'meteora-dlmm',
  'orca-whirlpool',
] as const;
export type VenueName = (typeof venueNames)[number];

export const commitments = ['processed', 'confirmed', 'finalized'] as const;
export type Commitment = (typeof commitments)[number];

export const Raw = (description: string) =>
  Type.String({ pattern: '^[0-9]+$', description: `${description} Raw integer in its smallest unit, as a decimal string.` });
export const Ui = (description: string) => Type.Number({ description: `${description} UI number (float64).` });
export const Address = (description: string) =>
  Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$', description: `${description} Base58.` });
/** Base58 of 64 bytes. */
export const Signature = () => Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{64,88}$' });
export const EventId = (description: string) => Type.String({ pattern: '^[0-9A-Za-z.:+-]+$', description });
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

export const Venue = Type.Enum([...venueNames], { description: 'Venue of the pool.' });
