import { Type, type Static } from 'typebox';
import {
  Address,
  BlockTime,
  Closed,
  Count,
  Decimals,
  EventId,
  Group,
  Nullable,
  Raw,
  Signature,
  SignedRaw,
  Slot,
  Titled,
} from '../values/values.ts';
import { defineEndpoint } from './endpoint.ts';

/** A transaction of 4,096 bytes has fewer accounts, instructions, changes and events. */
const maxParts = 10_000;
const text = (description: string) => Type.String({ maxLength: 1_000, description });
const maybe = (description: string) => Nullable(text(description), 'Null if it is unknown.');
const program = {
  program: Address('The program.'),
  programName: maybe('Name of the program: of a venue, or as its IDL calls it. Programs can have the same name.'),
} as const;

const Instruction = Closed({
  path: text('Place: `2` is the third instruction of the message, and `2.0` the first that it called.'),
  depth: Count('0 for an instruction of the message, 1 for one that it called, and so on.'),
  ...program,
  name: maybe('Name of the instruction.'),
  arguments: Type.Unknown({ description: 'Arguments by their names, as the IDL says; null if they are unknown.' }),
  accounts: Type.Array(Closed({ name: maybe('Name in the IDL.'), address: Address('Account.') }), {
    maxItems: maxParts,
    description: 'Accounts in order.',
  }),
  data: Nullable(text('Bytes in hexadecimal, at most the first 256.'), 'Null if `arguments` are known.'),
});

const Event = Closed({
  id: EventId('The id that the stream uses.'),
  ...program,
  from: Type.Enum(['venue', 'idl'], { description: '`venue`: sluice itself knows the program. `idl`: the event is decoded by the IDL.' }),
  name: text('Kind of the event.'),
  data: Type.Unknown({ description: 'Fields of the event.' }),
});

const Change = Closed({
  wallet: Address('A wallet, or another account that is no token account.'),
  lamports: SignedRaw('What its SOL changed by, fees included.'),
  rentLamports: SignedRaw('What the rent in its token accounts changed by.'),
  tokens: Type.Array(Closed({ mint: Address('Mint.'), amount: SignedRaw('What its token accounts changed by.'), decimals: Decimals() }), {
    maxItems: maxParts,
    description: 'Changes of its tokens, wrapped SOL included.',
  }),
});

const Failure = Group('Why it failed; null if it succeeded.', {
  text: text('The reason in words.'),
  instruction: Nullable(Count('Index of the instruction in the message.'), 'Null if no instruction failed.'),
  program: Nullable(Address('The program that gave the error.'), 'Null if the runtime gave it.'),
  programName: maybe('Name of that program.'),
  code: Nullable(Count('Number of the error.'), 'Null if it has none.'),
  name: text('Name of the error.'),
  message: maybe('What the program says about it.'),
  from: Type.Enum(['idl', 'anchor', 'log', 'program', 'runtime'], {
    description:
      'Where the name is from. `idl`: the IDL of the program. `anchor`: errors that all Anchor programs share. `log`: the log of the transaction. `program`: sluice itself knows the program. `runtime`: the runtime.',
  }),
  logs: Type.Array(text('A line.'), { maxItems: maxParts, description: 'What the program logged last.' }),
});

export const Explanation = Titled('explanation', {
  signature: Signature('Signature.'),
  outcome: Type.Enum(['succeeded', 'failed', 'not_executed'], {
    description: '`not_executed`: a transaction from a file, of which nothing shows that it is in a block.',
  }),
  slot: Nullable(Slot('Slot.'), 'Null if it is unknown.'),
  blockTime: BlockTime(),
  version: text('`legacy`, `0` or `1`.'),
  feePayer: Address('The account that paid.'),
  failure: Nullable(Failure),
  fees: Nullable(
    Closed({
      lamports: Raw('Fee of the transaction.'),
      baseLamports: Raw('The part for its signatures.'),
      priorityLamports: Raw('The part for its priority.'),
      computeUnits: Nullable(Count('Compute units that it used.'), 'Null if the node does not report them.'),
      tips: Type.Array(Closed({ service: text('Service.'), account: Address('Its account.'), lamports: Raw('Tip.') }), {
        maxItems: maxParts,
        description: 'Transfers to accounts of services that take tips.',
      }),
    }),
    'Null if it was not executed.',
  ),
  changes: Type.Array(Change, { maxItems: maxParts, description: 'What changed, by wallet. Empty if it was not executed.' }),
  instructions: Type.Array(Instruction, { maxItems: maxParts, description: 'All instructions in the order in which they began.' }),
  events: Type.Array(Event, {
    maxItems: maxParts,
    description: 'Events of venues and of IDLs. Those of a failed transaction were undone.',
  }),
  notes: Type.Array(text('A note.'), { maxItems: maxParts, description: 'What could not be read, and why.' }),
});
export type Explanation = Static<typeof Explanation>;

export const explainEndpoint = defineEndpoint({
  id: 'explain',
  method: 'GET',
  path: '/explain/{signature}',
  withApiPrefix: true,
  access: 'read',
  tag: 'explain',
  summary: 'One transaction as a person reads it.',
  description:
    'The instructions as a tree with names and arguments, what changed by wallet, fees and tips, events, and why it failed. Names come from the IDLs of `IDL_DIR`, and otherwise from those that the programs published on chain. The transaction must be confirmed.',
  params: Closed({ signature: Signature('Signature of the transaction.') }),
  answer: Explanation,
  errors: ['NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});
