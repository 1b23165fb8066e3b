import { Type, type Static } from 'typebox';
import { commitments, Nullable } from './event-parts.ts';
import { orderFields } from './orders.ts';
import { orderEventExample } from './rest/trade-examples.ts';

export const OrderEvent = Type.Object(
  {
    type: Type.Literal('order'),
    id: Type.String({ description: '`<order id>:<version>`: unique.' }),
    ...orderFields,
    slot: Nullable(Type.Integer({ minimum: 0 }), 'Slot of its block; null if no block is known.'),
    blockTime: Nullable(Type.Integer(), 'Block time, Unix seconds; null if it is unknown.'),
    commitment: Nullable(Type.Enum([...commitments]), 'Commitment at which its block was seen; null if no block is known.'),
    ts: Type.Object(
      {
        received: Type.Integer({ description: 'When the change was stored, Unix microseconds.' }),
        published: Type.Integer({ description: 'When it was published, Unix microseconds.' }),
      },
      { additionalProperties: false },
    ),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true on the simulated chain.' })),
  },
  { additionalProperties: false, title: 'order', description: 'An order of this API key changed.', examples: [orderEventExample] },
);
export type OrderEvent = Static<typeof OrderEvent>;
