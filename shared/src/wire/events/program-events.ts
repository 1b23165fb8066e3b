import { Type, type Static, type TProperties } from 'typebox';
import { commitments } from '../values/event-parts.ts';
import { Address, BlockTime, Closed, EventId, Message, Nullable, Signature, Slot, UnixUs } from '../values/values.ts';

/** Characters of the JSON of `data` in one event. A longer record is not published. */
export const maxProgramDataChars = 16_384;

const name = (description: string) => Type.String({ maxLength: 200, description });

const common = {
  id: EventId(
    '`<signature>:<instruction path>` as for trades, then `.event` or `.call`; of an account, `<address>:<slot>.account`. Unique, and the same from every source.',
  ),
  program: Address('The program.'),
  programName: name('Name of the program in its IDL. Several programs can have the same name.'),
  name: name('Name of the event, the instruction or the account in the IDL.'),
  signature: Nullable(Signature(), 'Signature of the transaction; null for an account.'),
  slot: Slot('Slot.'),
  blockTime: BlockTime(),
  commitment: Type.Enum([...commitments], { description: 'Always `confirmed`, so no such event is ever retracted.' }),
  ts: Closed({
    received: UnixUs('When the notification reached ingest, Unix microseconds.'),
    published: UnixUs('When ingest published the event, Unix microseconds.'),
  }),
  late: Type.Optional(
    Type.Literal(true, { description: 'Present and true if the transaction was missed and read from the history of the chain later.' }),
  ),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true for events of the simulated chain.' })),
} as const;

const data = Type.Unknown({
  description:
    'Fields by their names in the IDL. Integers beyond 32 bits are decimal strings, addresses base58, `bytes` base64, an option its value or null, an enum `{"Variant": {…}}`. A field that an older record lacks is missing.',
});

function event<P extends TProperties>(type: string, description: string, fields: P) {
  return Message(type, description, fields);
}

export const ProgramEvent = event('programEvent', 'An event of a program with an IDL, from its log or a call to itself.', {
  type: Type.Literal('programEvent'),
  ...common,
  data,
});
export const ProgramInstruction = event(
  'programInstruction',
  'An instruction of a program with an IDL, called by a transaction or by another program.',
  {
    type: Type.Literal('programInstruction'),
    ...common,
    data,
    accounts: Type.Array(
      Closed({ name: Nullable(name('Name in the IDL.'), 'Null behind the last named one.'), address: Address('Account.') }),
      {
        maxItems: 256,
        description: 'Accounts in order.',
      },
    ),
  },
);
export const ProgramAccount = event('programAccount', 'The new state of an account that a program with an IDL owns.', {
  type: Type.Literal('programAccount'),
  ...common,
  address: Address('The account.'),
  data,
});

export type ProgramEvent = Static<typeof ProgramEvent>;
export type ProgramInstruction = Static<typeof ProgramInstruction>;
export type ProgramAccount = Static<typeof ProgramAccount>;
/** What the channel `programs` carries. */
export type ProgramRecord = ProgramEvent | ProgramInstruction | ProgramAccount;
