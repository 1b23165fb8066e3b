import { Type, type Static } from 'typebox';
import { commitments } from '../values/event-parts.ts';
import { orderFields } from './orders.ts';
import { orderEventExample } from './trade-examples.ts';
import { BlockTime, Closed, EventId, Nullable, Slot, UnixUs } from '../values/values.ts';

export const OrderEvent = Type.Object(
  {
    type: Type.Literal('order'),
    id: EventId('`<order id>:<version>`: unique.'),
    ...orderFields,
    slot: Nullable(Slot(), 'Slot of its block; null if no block is known.'),
    blockTime: BlockTime(),
    commitment: Nullable(Type.Enum([...commitments]), 'Commitment at which its block was seen; null if no block is known.'),
    ts: Closed({
      received: UnixUs('When the change was stored, Unix microseconds.'),
      published: UnixUs('When it was published, Unix microseconds.'),
    }),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true on the simulated chain.' })),
  },
  { additionalProperties: false, title: 'order', description: 'An order of this API key changed.', examples: [orderEventExample] },
);
export type OrderEvent = Static<typeof OrderEvent>;
