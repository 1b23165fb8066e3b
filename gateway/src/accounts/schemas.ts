import { planNames, scopes } from '@sluice/shared/wire/values/plans.ts';
import { planFields } from '@sluice/shared/wire/rest/account/plan-fields.ts';
import { maxIpRanges, maxLabelChars } from '@sluice/shared/wire/values/values.ts';
import { Type, type Static } from 'typebox';

/** Seven days. */
const maxOverlapSeconds = 7 * 24 * 60 * 60;

const closed = { additionalProperties: false } as const;

export const SignInBody = Type.Object(
  {
    publicKey: Type.String({ minLength: 32, maxLength: 44 }),
    /** Base64 of the bytes that the wallet signed. They may differ from the requested text. */
    signedMessage: Type.String({ minLength: 1, maxLength: 4096 }),
    /** Base64 of 64 bytes. */
    signature: Type.String({ minLength: 86, maxLength: 88 }),
  },
  closed,
);
export type SignInBody = Static<typeof SignInBody>;

export const LinkBody = Type.Object({ token: Type.String({ minLength: 1, maxLength: 256 }) }, closed);

const { requestsPerMinute, burst, connections, subscriptions, commandsPerSecond } = planFields;

const maxLifeSeconds = 100 * 366 * 86_400;
const label = Type.Optional(Type.Union([Type.String({ maxLength: maxLabelChars }), Type.Null()]));

export const NewKeyBody = Type.Object(
  {
    label,
    scopes: Type.Array(Type.Enum(scopes), { minItems: 1, maxItems: scopes.length, uniqueItems: true }),
    ipRanges: Type.Optional(Type.Array(Type.String({ minLength: 2, maxLength: 64 }), { maxItems: maxIpRanges })),
    /** Null or absent: until revoked. No time, because the clock of the browser may be wrong. */
    lifeSeconds: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: maxLifeSeconds }), Type.Null()])),
    /** For the operator only. The keys of other accounts have the plan of the account. */
    plan: Type.Optional(Type.Enum(planNames)),
    limits: Type.Optional(Type.Partial(Type.Object({ requestsPerMinute, burst, connections, subscriptions, commandsPerSecond }), closed)),
  },
  closed,
);
export type NewKeyBody = Static<typeof NewKeyBody>;

export const RotateBody = Type.Object({ overlapSeconds: Type.Integer({ minimum: 0, maximum: maxOverlapSeconds }) }, closed);

export const NewWalletBody = Type.Object({ label }, closed);
export type NewWalletBody = Static<typeof NewWalletBody>;

/** 64 bytes as base58 or as a JSON array of numbers; the longest array has 321 characters, and some have spaces. */
export const ImportBody = Type.Object({ secretKey: Type.String({ minLength: 1, maxLength: 2_048 }), label }, closed);
export type ImportBody = Static<typeof ImportBody>;

export const DefaultWalletBody = Type.Object({ keyId: Type.String({ minLength: 1, maxLength: 64 }) }, closed);
export type DefaultWalletBody = Static<typeof DefaultWalletBody>;
