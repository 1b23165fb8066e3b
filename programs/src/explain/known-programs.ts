import {
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
} from '@sluice/shared/solana/well-known.ts';
import { ProgramCoder } from '../idl/coder.ts';
import { readIdl } from '../idl/idl.ts';

/** A program of the network in short form: bytes of the tag; then lines `tag name arguments | accounts`, and errors `code Name: message`. */
interface Description {
  readonly name: string;
  readonly tagBytes: 1 | 4;
  readonly instructions: string;
  readonly errors: string;
}

const token: Description = {
  name: 'token',
  tagBytes: 1,
  instructions: `0 initializeMint decimals:u8,mintAuthority:pubkey | mint,rent
1 initializeAccount | account,mint,owner,rent
2 initializeMultisig signers:u8 | account,rent
3 transfer amount:u64 | source,destination,authority
4 approve amount:u64 | source,delegate,owner
5 revoke | source,owner
6 setAuthority authorityType:u8 | account,authority
7 mintTo amount:u64 | mint,account,authority
8 burn amount:u64 | account,mint,authority
9 closeAccount | account,destination,owner
10 freezeAccount | account,mint,authority
11 thawAccount | account,mint,authority
12 transferChecked amount:u64,decimals:u8 | source,mint,destination,authority
13 approveChecked amount:u64,decimals:u8 | source,mint,delegate,owner
14 mintToChecked amount:u64,decimals:u8 | mint,account,authority
15 burnChecked amount:u64,decimals:u8 | account,mint,authority
16 initializeAccount2 owner:pubkey | account,mint,rent
17 syncNative | account
18 initializeAccount3 owner:pubkey | account,mint
20 initializeMint2 decimals:u8,mintAuthority:pubkey | mint
21 getAccountDataSize | mint
22 initializeImmutableOwner | account
26.1 transferCheckedWithFee amount:u64,decimals:u8,fee:u64 | source,mint,destination,authority`,
  errors: `0 NotRentExempt: the account has too little SOL for its rent
1 InsufficientFunds: the account has too few tokens
2 InvalidMint: the mint is not valid
3 MintMismatch: the account is of another mint
4 OwnerMismatch: the account has another owner
5 FixedSupply: the supply is fixed
6 AlreadyInUse: the account is in use
11 NonNativeHasBalance: an account with tokens cannot be closed
13 InvalidState: the state of the account does not allow it
14 Overflow: a number is too large
16 MintCannotFreeze: the mint has no freeze authority
17 AccountFrozen: the account is frozen
18 MintDecimalsMismatch: the decimals are not those of the mint`,
};

const descriptions: Readonly<Record<string, Description>> = {
  [systemProgram]: {
    name: 'system',
    tagBytes: 4,
    instructions: `0 createAccount lamports:u64,space:u64,owner:pubkey | from,account
1 assign owner:pubkey | account
2 transfer lamports:u64 | from,to
3 createAccountWithSeed | from,account
4 advanceNonceAccount | nonce,recentBlockhashes,authority
5 withdrawNonceAccount lamports:u64 | nonce,to
6 initializeNonceAccount authority:pubkey | nonce
8 allocate space:u64 | account
9 allocateWithSeed | account
10 assignWithSeed | account
11 transferWithSeed lamports:u64 | from,base,to`,
    errors: `0 AccountAlreadyInUse: an account with this address exists
1 ResultWithNegativeLamports: the account has too little SOL
2 InvalidProgramId: the program cannot own the account
3 InvalidAccountDataLength: an account cannot have so many bytes
4 MaxSeedLengthExceeded: a seed is too long
5 AddressWithSeedMismatch: the address does not follow from its seed
6 NonceNoRecentBlockhashes: there is no recent blockhash
7 NonceBlockhashNotExpired: the nonce was advanced in this slot
8 NonceUnexpectedBlockhashValue: the nonce has another value`,
  },
  [tokenProgram]: token,
  [token2022Program]: { ...token, name: 'token-2022' },
  [associatedTokenProgram]: {
    name: 'associated-token',
    tagBytes: 1,
    instructions: `0 create | payer,account,owner,mint
1 createIdempotent | payer,account,owner,mint
2 recoverNested | nested,nestedMint,destination,owner,ownerMint,wallet`,
    errors: '0 InvalidOwner: the owner of the account is not the wallet',
  },
  [computeBudgetProgram]: {
    name: 'compute-budget',
    tagBytes: 1,
    instructions: `1 requestHeapFrame bytes:u32
2 setComputeUnitLimit units:u32
3 setComputeUnitPrice microLamports:u64
4 setLoadedAccountsDataSizeLimit bytes:u32`,
    errors: '',
  },
};

/** The memo programs: their data is text. */
export const memoPrograms: ReadonlySet<string> = new Set([
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
]);

const coders = new Map<string, ProgramCoder>();

/** The coder of a program of the network itself; null for any other. */
export function knownProgram(programId: string): ProgramCoder | null {
  const known = coders.get(programId);
  if (known !== undefined || !Object.hasOwn(descriptions, programId)) return known ?? null;
  const outcome = readIdl(JSON.stringify(asIdl(programId, descriptions[programId]!)), programId);
  if (!outcome.ok) throw new Error(`${programId}: ${outcome.reason}`);
  const coder = new ProgramCoder(outcome.idl);
  coders.set(programId, coder);
  return coder;
}

function asIdl(address: string, { name, tagBytes, instructions, errors }: Description): object {
  return {
    address,
    metadata: { name, version: '', spec: '' },
    instructions: instructions.split('\n').map((line) => {
      const [call = '', accounts = ''] = line.split(' | ');
      const [tag = '', called, args = ''] = call.split(' ');
      const bytes = tag.split('.').map(Number);
      return {
        name: called,
        discriminator: [...bytes, ...Array.from({ length: Math.max(0, tagBytes - bytes.length) }, () => 0)],
        accounts: names(accounts).map((account) => ({ name: account })),
        args: names(args).map((arg) => ({ name: arg.split(':')[0], type: arg.split(':')[1] })),
      };
    }),
    errors: errors
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, code, error, msg] = /^(\d+) (\w+): (.*)$/.exec(line)!;
        return { code: Number(code), name: error, msg };
      }),
  };
}

const names = (list: string): readonly string[] => list.split(',').filter((name) => name !== '');
