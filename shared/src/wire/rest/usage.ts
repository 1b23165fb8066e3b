import { Type } from 'typebox';
import { planFields } from '../plan-fields.ts';
import { planNames, scopes } from '../plans.ts';
import { defineEndpoint } from './endpoint.ts';

const closed = { additionalProperties: false } as const;
const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const Usage = Type.Object(
  {
    key: Type.Object(
      {
        id: Type.String(),
        prefix: Type.String({ description: 'The part of the key that is not secret.' }),
        label: Type.Union([Type.String(), Type.Null()]),
        scopes: Type.Array(Type.Enum([...scopes])),
        ipRanges: Type.Array(Type.String(), { description: 'Addresses and CIDR ranges that may use the key; empty: any.' }),
        expiresAtMs: Type.Union([Type.Integer(), Type.Null()], {
          description: 'When the secret of this request expires, Unix time in milliseconds; null if it does not expire.',
        }),
      },
      closed,
    ),
    plan: Type.Object(
      { name: Type.Enum([...planNames]), ...planFields },
      { ...closed, description: 'The limits of the plan, with those that were set for this key.' },
    ),
    requests: Type.Object(
      {
        remaining: Count('Requests that would be accepted now, after this one.'),
        resetMs: Count('Time until the whole burst is available again.'),
        counted: Type.Enum(['shared', 'local'], {
          description:
            '`shared`: counted on all gateways together. `local`: counted on this gateway against its share, while the gateways cannot count together.',
        }),
      },
      closed,
    ),
    stream: Type.Object(
      {
        connections: Count('Open connections of the key on this gateway.'),
        subscriptions: Count('Topics of these connections; a topic counts once for each connection.'),
      },
      closed,
    ),
  },
  { ...closed, title: 'usage' },
);

export const usageEndpoint = defineEndpoint({
  id: 'usage',
  method: 'GET',
  path: '/usage',
  bothForms: true,
  access: 'key',
  tag: 'keys',
  summary: 'Plan and limits of the key, and what is left of them.',
  description: 'The request itself counts like any other.',
  answer: Usage,
  errors: [],
});
