import { ownBytes } from '@sluice/shared/codec/bytes.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { InstructionAccount } from '../runtime/instruction-account.ts';
import { fail, failCustom } from '../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../runtime/program.ts';
import { BorshEnd, BorshReader } from '../layout/borsh.ts';
import { isMint, isTokenAccountData, isTokenProgram, tokenFields } from '../layout/token-state.ts';

/** Errors of the Anchor framework that these programs raise: number → name and message. */
const frameworkErrors = {
  101: ['InstructionFallbackNotFound', 'Fallback functions are not supported'],
  102: ['InstructionDidNotDeserialize', 'The program could not deserialize the given instruction'],
  2000: ['ConstraintMut', 'A mut constraint was violated'],
  2006: ['ConstraintSeeds', 'A seeds constraint was violated'],
  2009: ['ConstraintAssociated', 'An associated constraint was violated'],
  2012: ['ConstraintAddress', 'An address constraint was violated'],
  2014: ['ConstraintTokenMint', 'A token mint constraint was violated'],
  2015: ['ConstraintTokenOwner', 'A token owner constraint was violated'],
  2022: ['ConstraintMintTokenProgram', 'A mint token program constraint was violated'],
  3002: ['AccountDiscriminatorMismatch', 'Account discriminator did not match what was expected'],
  3003: ['AccountDidNotDeserialize', 'Failed to deserialize the account'],
  3005: ['AccountNotEnoughKeys', 'Not enough account keys given to the instruction'],
  3007: ['AccountOwnedByWrongProgram', 'The given account is owned by a different program than expected'],
  3008: ['InvalidProgramId', 'Program ID was not as expected'],
  3010: ['AccountNotSigner', 'The given account did not sign'],
  3012: ['AccountNotInitialized', 'The program expected this account to be already initialized'],
} as const;

export type FrameworkError = keyof typeof frameworkErrors;
export type ErrorTable = Readonly<Record<number, readonly [name: string, message: string]>>;

export interface AnchorInstruction {
  /** As the program logs it: `Instruction: BuyExactSolIn`. */
  readonly name: string;
  readonly discriminator: Uint8Array;
  /** Accounts of the IDL, by name in order. Any others are remaining accounts. */
  readonly accounts: readonly string[];
  readonly units: number;
  run(invocation: AnchorContext, args: BorshReader): void;
}

export interface AnchorSpec {
  readonly eventAuthority: string;
  readonly eventCpiTag: Uint8Array;
  readonly errors: ErrorTable;
  /** The source location that the program logs with an error. */
  readonly source: string;
  readonly loadedBytes: number;
  readonly instructions: readonly AnchorInstruction[];
}

const eventUnits = 2_125;
const tagBytes = 8;

/** An invocation of an Anchor program: accounts by name, checks that fail as the framework's constraints do, and events. */
export class AnchorContext {
  readonly raw: InvocationContext;
  readonly #spec: AnchorSpec;
  readonly #names: readonly string[];

  constructor(raw: InvocationContext, spec: AnchorSpec, names: readonly string[]) {
    this.raw = raw;
    this.#spec = spec;
    this.#names = names;
  }

  get programId(): string {
    return this.raw.programId;
  }

  /** Accounts after those that the IDL names. */
  get remaining(): readonly InstructionAccount[] {
    return this.raw.accounts.slice(this.#names.length);
  }

  get(name: string): InstructionAccount {
    const index = this.#names.indexOf(name);
    if (index < 0) throw new Error(`no account is named ${name}`);
    return this.raw.account(index);
  }

  /** An error of the framework about one account. */
  refuse(account: string, code: FrameworkError, ...sides: readonly string[]): never {
    const [name, message] = frameworkErrors[code];
    this.raw.log(`AnchorError caused by account: ${account}. Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`);
    const [left, right] = sides;
    if (left !== undefined && right !== undefined) for (const line of ['Left:', left, 'Right:', right]) this.raw.log(line);
    return failCustom(code);
  }

  /** An error of the program itself. */
  throws(code: number): never {
    const [name, message] = this.#spec.errors[code] ?? [`Error${code}`, ''];
    this.raw.log(`AnchorError thrown in ${this.#spec.source}. Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`);
    return failCustom(code);
  }

  require(condition: boolean, code: number): void {
    if (!condition) this.throws(code);
  }

  signer(name: string): InstructionAccount {
    const account = this.get(name);
    if (!account.signer) this.refuse(name, 3010);
    return account;
  }

  writable(name: string): InstructionAccount {
    const account = this.get(name);
    if (!account.writable) this.refuse(name, 2000);
    return account;
  }

  /** The account must be the one that is derived from the seeds. */
  derived(name: string, expected: string): InstructionAccount {
    const account = this.get(name);
    if (account.address !== expected) this.refuse(name, 2006, account.address, expected);
    return account;
  }

  program(name: string, expected: string): InstructionAccount {
    const account = this.get(name);
    if (account.address !== expected) this.refuse(name, 3008, account.address, expected);
    return account;
  }

  tokenProgram(name: string): InstructionAccount {
    const account = this.get(name);
    if (!isTokenProgram(account.address)) this.refuse(name, 3008);
    return account;
  }

  /** An account that this program owns, with its discriminator. */
  owned(name: string, discriminator: Uint8Array): InstructionAccount {
    return this.ownedBy(name, this.programId, discriminator);
  }

  ownedBy(name: string, programId: string, discriminator: Uint8Array): InstructionAccount {
    const account = this.get(name);
    if (account.owner === systemProgram && account.data.length === 0) this.refuse(name, 3012);
    if (account.owner !== programId) this.refuse(name, 3007, account.owner, programId);
    if (!startsWith(account.data, discriminator)) this.refuse(name, 3002);
    return account;
  }

  mint(name: string, tokenProgramId?: string): InstructionAccount {
    const account = this.get(name);
    if (!account.exists) this.refuse(name, 3012);
    if (!isTokenProgram(account.owner)) this.refuse(name, 3007);
    if (!isMint(account.owner, account.data)) this.refuse(name, 3003);
    if (tokenProgramId !== undefined && account.owner !== tokenProgramId) this.refuse(name, 2022, account.owner, tokenProgramId);
    return account;
  }

  /** An initialized token account of a mint; with `owner`, also of that wallet. */
  tokenAccount(name: string, mint: string, owner: string | null): InstructionAccount {
    const account = this.get(name);
    if (!account.exists) this.refuse(name, 3012);
    if (!isTokenAccountData(account.owner, account.data)) this.refuse(name, isTokenProgram(account.owner) ? 3003 : 3007);
    const found = tokenFields.mint(account.data);
    if (found !== mint) this.refuse(name, 2014, found, mint);
    const holder = tokenFields.owner(account.data);
    if (owner !== null && holder !== owner) this.refuse(name, 2015, holder, owner);
    return account;
  }

  /** Logs the event and sends it to the program itself, signed by the event authority. */
  emit(event: Uint8Array): void {
    this.raw.logData(event);
    this.raw.invoke(
      {
        programId: this.programId,
        accounts: [{ address: this.#spec.eventAuthority, signer: true, writable: false }],
        data: ownBytes(Buffer.concat([this.#spec.eventCpiTag, event])),
      },
      [['__event_authority']],
    );
  }
}

function startsWith(data: Uint8Array, prefix: Uint8Array): boolean {
  // A loop, because `every` would call a function for each byte, and each instruction is compared with a dozen.
  for (let i = 0; i < prefix.length; i++) if (data[i] !== prefix[i]) return false;
  return true;
}

function occurred(context: InvocationContext, code: FrameworkError): never {
  const [name, message] = frameworkErrors[code];
  context.log(`AnchorError occurred. Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`);
  return failCustom(code);
}

/** The self-call that carries an event. Only the event authority may make it, and only the program can sign for that. */
function receiveEvent(context: InvocationContext, spec: AnchorSpec): void {
  context.consume(eventUnits);
  const authority = context.account(0);
  if (!authority.signer) fail('MissingRequiredSignature');
  if (authority.address !== spec.eventAuthority) failCustom(2006);
}

export function anchorProgram(spec: AnchorSpec): Program {
  return {
    builtin: false,
    loadedBytes: spec.loadedBytes,
    execute(context) {
      if (startsWith(context.data, spec.eventCpiTag)) return receiveEvent(context, spec);
      const instruction = spec.instructions.find(({ discriminator }) => startsWith(context.data, discriminator));
      if (instruction === undefined) return occurred(context, 101);
      context.log(`Instruction: ${instruction.name}`);
      context.consume(instruction.units);
      if (context.accounts.length < instruction.accounts.length) return occurred(context, 3005);
      try {
        instruction.run(new AnchorContext(context, spec, instruction.accounts), new BorshReader(context.data, tagBytes));
      } catch (error) {
        if (error instanceof BorshEnd) occurred(context, 102);
        throw error;
      }
    },
  };
}
