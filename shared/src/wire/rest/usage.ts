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
        prefix: Type.String({ description: 'How the key begins: all of it that is ever shown again.' }),
        label: Type.Union([Type.String(), Type.Null()]),
        scopes: Type.Array(Type.Enum([...scopes])),
        ipRanges: Type.Array(Type.String(), { description: 'Addresses (CIDR) from which the key may be used; empty: from anywhere.' }),
        expiresAtMs: Type.Union([Type.Integer(), Type.Null()], {
          description: 'When the secret that was shown ends, Unix time in milliseconds; null where it does not end by itself.',
        }),
      },
      closed,
    ),
    plan: Type.Object(
      { name: Type.Enum([...planNames]), ...planFields },
      { ...closed, description: 'What the plan grants, with what is set for this key alone.' },
    ),
    requests: Type.Object(
      {
        remaining: Count('Requests that would be admitted now, after this one.'),
        resetMs: Count('Time until the whole burst is there again.'),
        counted: Type.Enum(['shared', 'local'], {
          description:
            '`shared`: over all gateways together. `local`: against the share of this gateway, while the others cannot be asked.',
        }),
      },
      closed,
    ),
    stream: Type.Object(
      {
        connections: Count('Open connections of the key on this gateway.'),
        subscriptions: Count('Topics that they follow, once for each connection.'),
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
  summary: "The key's plan, its limits, and what is left of them.",
  description: 'It counts as a request like any other.',
  answer: Usage,
  errors: [],
});
