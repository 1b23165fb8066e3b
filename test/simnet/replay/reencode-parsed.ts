import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { associatedTokenProgram, systemProgram, token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';

/** An instruction with its accounts as addresses. */
interface PlainInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

type Info = Readonly<Record<string, unknown>>;

function bytes(...parts: readonly (number | Uint8Array)[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts.map((part) => (typeof part === 'number' ? Uint8Array.of(part) : part))));
}

function u64(value: unknown): Uint8Array {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt.asUintN(64, typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : digits(value)));
  return buffer;
}

function digits(value: unknown): bigint {
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : 0n;
}

function u32(value: number): Uint8Array {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function address(value: unknown): Uint8Array {
  return (typeof value === 'string' ? decodeBase58(value) : null) ?? new Uint8Array(32);
}

function amountOf(value: unknown): { readonly amount: unknown; readonly decimals: number } {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Info;
  return { amount: fields['amount'], decimals: Number(fields['decimals'] ?? 0) & 255 };
}

interface Form {
  /** Fields of `info` that are accounts, in order. */
  readonly accounts: readonly string[];
  readonly data: (info: Info) => Uint8Array;
}

const ataAccounts = ['source', 'account', 'wallet', 'mint', 'systemProgram', 'tokenProgram'];

const systemForms: Readonly<Record<string, Form>> = {
  createAccount: {
    accounts: ['source', 'newAccount'],
    data: (info) => bytes(u32(0), u64(info['lamports']), u64(info['space']), address(info['owner'])),
  },
  assign: { accounts: ['account'], data: (info) => bytes(u32(1), address(info['owner'])) },
  transfer: { accounts: ['source', 'destination'], data: (info) => bytes(u32(2), u64(info['lamports'])) },
  // The payer is the base. Another base would be a third account.
  createAccountWithSeed: {
    accounts: ['source', 'newAccount'],
    data: (info) => {
      const seed = Buffer.from(String(info['seed']));
      return bytes(
        u32(3),
        address(info['base']),
        u64(seed.length),
        seed,
        u64(info['lamports']),
        u64(info['space']),
        address(info['owner']),
      );
    },
  },
  allocate: { accounts: ['account'], data: (info) => bytes(u32(8), u64(info['space'])) },
};

const ataForms: Readonly<Record<string, Form>> = {
  // The oldest form of `create` has no data; current clients send the byte 0.
  create: { accounts: ataAccounts, data: () => new Uint8Array(0) },
  createIdempotent: { accounts: ataAccounts, data: () => Uint8Array.of(1) },
};

const tokenForms: Readonly<Record<string, Form>> = {
  initializeAccount: { accounts: ['account', 'mint', 'owner', 'rentSysvar'], data: () => Uint8Array.of(1) },
  transfer: { accounts: ['source', 'destination', 'authority'], data: (info) => bytes(3, u64(info['amount'])) },
  mintTo: { accounts: ['mint', 'account', 'mintAuthority'], data: (info) => bytes(7, u64(info['amount'])) },
  burn: { accounts: ['account', 'mint', 'authority'], data: (info) => bytes(8, u64(info['amount'])) },
  closeAccount: { accounts: ['account', 'destination', 'owner'], data: () => Uint8Array.of(9) },
  transferChecked: {
    accounts: ['source', 'mint', 'destination', 'authority'],
    data: (info) => {
      const { amount, decimals } = amountOf(info['tokenAmount']);
      return bytes(12, u64(amount), decimals);
    },
  },
  syncNative: { accounts: ['account'], data: () => Uint8Array.of(17) },
  initializeAccount3: { accounts: ['account', 'mint'], data: (info) => bytes(18, address(info['owner'])) },
  initializeImmutableOwner: { accounts: ['account'], data: () => Uint8Array.of(22) },
};

const forms: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  [systemProgram]: systemForms,
  [associatedTokenProgram]: ataForms,
  [tokenProgram]: tokenForms,
  [token2022Program]: tokenForms,
};

/**
 * The instruction behind a node's `parsed` form, for the common instructions of the system, token and associated token programs; null for
 * others. If a form is ambiguous, the transaction's signature shows whether the result is right.
 */
export function reencodeParsed(programId: string, parsed: unknown): PlainInstruction | null {
  if (typeof parsed !== 'object' || parsed === null) return null;
  const { type, info } = parsed as { readonly type?: unknown; readonly info?: unknown };
  const family = Object.hasOwn(forms, programId) ? forms[programId] : undefined;
  const form = family !== undefined && typeof type === 'string' && Object.hasOwn(family, type) ? family[type] : undefined;
  if (form === undefined || typeof info !== 'object' || info === null) return null;
  const fields = info as Info;
  const accounts = form.accounts.map((name) => fields[name]);
  if (!accounts.every((account): account is string => typeof account === 'string')) return null;
  return { programId, accounts, data: form.data(fields) };
}
