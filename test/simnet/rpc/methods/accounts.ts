import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from '../../chain.ts';
import { passesFilters, readFilters } from '../account-filters.ts';
import { contextFault, withContext, type RpcContext, type RpcMethod } from '../context.ts';
import { base58TooLarge, encodeAccount, readAccountFormat, tooLargeForBase58, type AccountFormat } from '../encode-account.ts';
import { u64 } from '../json.ts';
import { addressFault } from '../params.ts';
import { mintDecimals, readMint, readTokenAccount, uiTokenAmount } from '../parse-token.ts';
import { answer, invalidParams, type RpcResult } from '../rpc-fault.ts';

/** `MAX_MULTIPLE_ACCOUNTS` of a node. */
const maxMultipleAccounts = 100;

function encoded(context: RpcContext, account: ChainAccount, format: AccountFormat): object {
  return encodeAccount(account, format, (address) => context.chain.account(address));
}

const getAccountInfo: RpcMethod = (context, params) => {
  const address = params.address(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  const format = readAccountFormat(fields);
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const account = context.chain.account(address);
  if (account === null) return withContext(context, commitment, null);
  return tooLargeForBase58(account, format) ? base58TooLarge : withContext(context, commitment, encoded(context, account, format));
};

const getMultipleAccounts: RpcMethod = (context, params) => {
  const addresses = params.strings(0, maxMultipleAccounts, addressFault);
  const fields = params.config(1);
  const commitment = fields.commitment();
  const given = readAccountFormat(fields);
  // This method's default is base64, unlike getAccountInfo's.
  const format: AccountFormat = fields.has('encoding') ? given : { ...given, encoding: 'base64' };
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const accounts = addresses.map((address) => context.chain.account(address));
  if (accounts.some((account) => account !== null && tooLargeForBase58(account, format))) return base58TooLarge;
  return withContext(
    context,
    commitment,
    accounts.map((account) => account && encoded(context, account, format)),
  );
};

const getBalance: RpcMethod = (context, params) => {
  const address = params.address(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  return contextFault(context, fields, commitment) ?? withContext(context, commitment, u64(context.chain.account(address)?.lamports ?? 0n));
};

/** [{pubkey, account}], bare or with a context. */
function keyedAccounts(
  context: RpcContext,
  found: readonly (readonly [string, ChainAccount])[],
  format: AccountFormat,
  wrap: (value: unknown) => RpcResult,
): RpcResult {
  if (found.some(([, account]) => tooLargeForBase58(account, format))) return base58TooLarge;
  return wrap(found.map(([pubkey, account]) => ({ account: encoded(context, account, format), pubkey })));
}

const getProgramAccounts: RpcMethod = (context, params) => {
  const programId = params.address(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  const format = readAccountFormat(fields);
  const filters = readFilters(fields);
  const bare = !fields.flag('withContext');
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const found = [...context.chain.accountsOwnedBy(programId)].filter(([, account]) => passesFilters(account, filters));
  return keyedAccounts(context, found, format, (value) => (bare ? answer(value) : withContext(context, commitment, value)));
};

/** The `{mint}` or `{programId}` of getTokenAccountsByOwner as a condition on token accounts. */
function readTokenAccountsFilter(
  context: RpcContext,
  params: Parameters<RpcMethod>[1],
): ((account: ChainAccount, mint: string) => boolean) | null {
  const filter = params.config(1);
  const mint = filter.text('mint');
  const programId = filter.text('programId');
  if ((mint === null) === (programId === null)) params.fail('Invalid params: expected one of `mint`, `programId`');
  if (mint !== null) {
    const account = addressFault(mint) === null ? context.chain.account(mint) : null;
    params.check(mint, addressFault);
    if (account === null) params.fail('Invalid param: could not find mint');
    else if (readMint(account) === null) params.fail('Invalid param: not a Token mint');
  } else if (programId !== tokenProgram && programId !== token2022Program) {
    params.fail('Invalid param: unrecognized Token program id');
  }
  if (params.fault !== null) return null;
  return mint === null ? (account) => account.owner === programId : (_account, of) => of === mint;
}

const getTokenAccountsByOwner: RpcMethod = (context, params) => {
  const owner = params.address(0);
  if (params.list.length < 2) params.fail('`params` should have at least 2 argument(s)');
  const matches = readTokenAccountsFilter(context, params);
  const fields = params.config(2);
  const commitment = fields.commitment();
  const format = readAccountFormat(fields);
  const refused = contextFault(context, fields, commitment);
  if (refused !== null || matches === null) return refused ?? invalidParams('Invalid params');
  const found = [...context.chain.tokenAccountsOf(owner)].filter(([, account]) => {
    const token = readTokenAccount(account);
    return token !== null && token.owner === owner && matches(account, token.mint);
  });
  return keyedAccounts(context, found, format, (value) => withContext(context, commitment, value));
};

const getTokenAccountBalance: RpcMethod = (context, params) => {
  const address = params.address(0);
  const commitment = params.config(1).commitment();
  if (params.fault !== null) return params.fault;
  const account = context.chain.account(address);
  if (account === null) return invalidParams('Invalid param: could not find account');
  const token = readTokenAccount(account);
  if (token === null) return invalidParams('Invalid param: not a Token account');
  const decimals = mintDecimals(token.mint, (mint) => context.chain.account(mint));
  if (decimals === null) return invalidParams('Invalid param: could not find mint');
  return withContext(context, commitment, uiTokenAmount(token.amount, decimals));
};

const getTokenSupply: RpcMethod = (context, params) => {
  const address = params.address(0);
  const commitment = params.config(1).commitment();
  if (params.fault !== null) return params.fault;
  const account = context.chain.account(address);
  if (account === null) return invalidParams('Invalid param: could not find account');
  const mint = readMint(account);
  return mint === null
    ? invalidParams('Invalid param: not a Token mint')
    : withContext(context, commitment, uiTokenAmount(mint.supply, mint.decimals));
};

/** `NUM_LARGEST_ACCOUNTS` of a node. */
const largestAccounts = 20;

const getTokenLargestAccounts: RpcMethod = (context, params) => {
  const address = params.address(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const decimals = mintDecimals(address, (mint) => context.chain.account(mint));
  if (decimals === null) return invalidParams('Invalid param: not a Token mint');
  const balances = [...context.chain.tokenAccountsOfMint(address)].map(([at, account]) => ({
    address: at,
    amount: readTokenAccount(account)?.amount ?? 0n,
  }));
  const largest = balances
    .filter(({ amount }) => amount > 0n)
    .toSorted((a, b) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0))
    .slice(0, largestAccounts);
  return withContext(
    context,
    commitment,
    largest.map(({ address: at, amount }) => ({ address: at, ...uiTokenAmount(amount, decimals) })),
  );
};

/** Accounts. Their state is that of the newest bank at any commitment; the context's slot is that of the requested commitment. */
export const accountMethods: Readonly<Record<string, RpcMethod>> = {
  getAccountInfo,
  getMultipleAccounts,
  getBalance,
  getProgramAccounts,
  getTokenAccountsByOwner,
  getTokenAccountBalance,
  getTokenSupply,
  getTokenLargestAccounts,
};
