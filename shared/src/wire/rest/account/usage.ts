import { Type } from 'typebox';
import { planFields } from './plan-fields.ts';
import { planNames, scopes } from '../../values/plans.ts';
import { defineEndpoint } from '../endpoint.ts';
import {
  Closed,
  Count,
  Group,
  IpRange,
  KeyId,
  KeyPrefix,
  maxIpRanges,
  maxLabelChars,
  Nullable,
  Titled,
  UnixMs,
} from '../../values/values.ts';

/** Minutes of which the requests of a key are reported, including the current one. */
export const usageMinutes = 60;
const perMinute = (description: string) => Type.Array(Count(), { minItems: usageMinutes, maxItems: usageMinutes, description });

export const Usage = Titled('usage', {
  key: Closed({
    id: KeyId('Id of the key.'),
    prefix: KeyPrefix('The part of the key that is not secret.'),
    label: Nullable(Type.String({ minLength: 1, maxLength: maxLabelChars }), 'The note of its owner; null if there is none.'),
    scopes: Type.Array(Type.Enum([...scopes]), { maxItems: scopes.length, description: 'What the key may be used for.' }),
    ipRanges: Type.Array(IpRange(), { maxItems: maxIpRanges, description: 'Addresses and CIDR ranges that may use the key; empty: any.' }),
    expiresAtMs: Nullable(UnixMs(), 'When the secret of this request expires, Unix time in milliseconds; null if it does not expire.'),
  }),
  plan: Group('The limits of the plan, with those that were set for this key.', { name: Type.Enum([...planNames]), ...planFields }),
  requests: Closed({
    remaining: Count('Requests that would be accepted now, after this one.'),
    resetMs: Count('Time until the whole burst is available again.'),
    counted: Type.Enum(['shared', 'local'], {
      description:
        '`shared`: counted on all gateways together. `local`: counted on this gateway against its share, while the gateways cannot count together.',
    }),
    minutes: Group(
      `Requests of the key in the last ${usageMinutes} minutes, counted by the gateway that answers, since its start. Unlike \`remaining\`, other gateways are not included.`,
      {
        startMs: UnixMs('Start of the first minute, Unix time in milliseconds.'),
        accepted: perMinute('Requests that were accepted in each minute, oldest first. The last minute is the current one.'),
        refused: perMinute('Requests that were refused with RATE_LIMIT, in the same minutes.'),
        gateways: Count('Gateways that run now. Each of them counts its own requests.'),
      },
    ),
  }),
  stream: Closed({
    connections: Count('Open connections of the key on this gateway.'),
    subscriptions: Count('Topics of these connections; a topic counts once for each connection.'),
  }),
});

export const usageEndpoint = defineEndpoint({
  id: 'usage',
  method: 'GET',
  path: '/usage',
  withApiPrefix: true,
  access: 'key',
  tag: 'keys',
  summary: 'Plan and limits of the key, and what is left of them.',
  description: 'The request itself counts like any other.',
  answer: Usage,
  errors: [],
});
