import { createHash } from 'node:crypto';
import { leastJitoTip } from '@sluice/shared/config/settings/tip-limits.ts';
import { tipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { decodeBase58, isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTransaction, maxTransactionBytes, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Execution } from '../../chain.ts';
import { contextFault, healthFault, withContext, type RpcContext, type RpcMethod } from '../context.ts';
import { encodeAccount, type AccountFormat } from '../encode-account.ts';
import { encodeInner, encodeReturnData } from '../encode-transaction.ts';
import { feeOf } from '../fee.ts';
import { u64 } from '../json.ts';
import { addressFault, type Fields, type Params } from '../params.ts';
import { answer, fault, invalidParams, rpcCodes } from '../rpc-fault.ts';

const maxPriorityFeeAccounts = 128;
/** Transactions of one bundle. */
const maxBundle = 5;
const typeName = 'solana_transaction::versioned::VersionedTransaction';
/** Most lamports of one airdrop, as in a test validator's faucet. */
const maxAirdropLamports = 1_000_000_000_000_000;

interface SentTransaction {
  readonly wire: Uint8Array;
  readonly decoded: DecodedTransaction;
}

/** Strict base64: refuses text that Node's lenient decoder would accept, as a node does. */
function decodeBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : null;
}

/** The transaction in parameter 0, in the encoding that `fields` names (base58 by default). A fault is stored in `params`. */
function readTransaction(params: Params, fields: Fields): SentTransaction | null {
  const text = params.string(0);
  const encoding = fields.choice('encoding', ['base58', 'base64', 'json', 'jsonParsed', 'binary'] as const, 'base58');
  if (encoding === 'json' || encoding === 'jsonParsed') {
    params.fail(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  }
  if (params.fault !== null) return null;
  const wire = encoding === 'base64' ? decodeBase64(text) : decodeBase58(text);
  if (wire === null) params.fail(`invalid ${encoding} encoding`);
  else if (wire.length > maxTransactionBytes) {
    params.fail(`decoded ${typeName} too large: ${wire.length} bytes (max: ${maxTransactionBytes} bytes)`);
  } else {
    const decoded = decodeTransaction(wire);
    if (decoded.kind === 'decoded') return { wire, decoded };
    params.fail(`failed to deserialize ${typeName}: ${decoded.reason}`);
  }
  return null;
}

/** `accounts` of simulateTransaction: the encoding, and the addresses whose state after the simulation is requested. */
function readRequestedAccounts(fields: Fields): { readonly format: AccountFormat; readonly addresses: readonly string[] } | null {
  const requested = fields.object('accounts');
  if (requested === null) return null;
  const encoding = requested.choice('encoding', ['base64', 'base64+zstd', 'jsonParsed', 'base58', 'binary'] as const, 'base64');
  if (encoding === 'base58' || encoding === 'binary') requested.params.fail('base58 encoding not supported');
  if (encoding === 'base64+zstd') requested.params.fail('Invalid params: base64+zstd is not supported by this node, use base64');
  const addresses = requested.list('addresses').filter((address) => typeof address === 'string' && isAddress(address)) as string[];
  if (addresses.length !== requested.list('addresses').length) requested.params.fail('Invalid param: Invalid');
  return { format: { encoding: encoding === 'jsonParsed' ? 'jsonParsed' : 'base64', dataSlice: null }, addresses };
}

function accountsAfter(context: RpcContext, execution: Execution, requested: ReturnType<typeof readRequestedAccounts>): unknown {
  if (requested === null) return null;
  if (execution.err !== null) return requested.addresses.map(() => null);
  const accountOf = (address: string) => execution.written.get(address) ?? context.chain.account(address);
  return requested.addresses.map((address) => {
    const account = accountOf(address);
    // An account that the transaction emptied does not exist any more, as after a real execution.
    return account === null || account.lamports === 0n ? null : encodeAccount(account, requested.format, accountOf);
  });
}

const simulateTransaction: RpcMethod = (context, params) => {
  const fields = params.config(1);
  const sent = readTransaction(params, fields);
  const sigVerify = fields.flag('sigVerify');
  const replaceRecentBlockhash = fields.flag('replaceRecentBlockhash');
  const requested = readRequestedAccounts(fields);
  const inner = fields.flag('innerInstructions');
  const commitment = fields.commitment();
  if (sigVerify && replaceRecentBlockhash) params.fail('sigVerify may not be used with replaceRecentBlockhash');
  const refused = contextFault(context, fields, commitment);
  if (refused !== null || sent === null) return refused ?? invalidParams('Invalid params');
  const keys = sent.decoded.accountKeys.length;
  if (requested !== null && requested.addresses.length > keys) return invalidParams(`Too many accounts provided; max ${keys}`);
  const execution = context.chain.simulate(sent.wire, { sigVerify, replaceRecentBlockhash, decoded: sent.decoded });
  return withContext(context, commitment, {
    accounts: accountsAfter(context, execution, requested),
    err: execution.err,
    fee: u64(execution.fee),
    ...(inner ? { innerInstructions: encodeInner(execution, 'addresses') } : {}),
    logs: execution.logs,
    postBalances: execution.postBalances.map(u64),
    preBalances: execution.preBalances.map(u64),
    replacementBlockhash: replaceRecentBlockhash ? context.chain.latestBlockhash() : null,
    returnData: encodeReturnData(execution),
    unitsConsumed: execution.unitsConsumed,
  });
};

const sendTransaction: RpcMethod = (context, params) => {
  const fields = params.config(1);
  const skipPreflight = fields.flag('skipPreflight');
  const preflightCommitment = fields.choice('preflightCommitment', ['processed', 'confirmed', 'finalized'] as const, 'finalized');
  // Nothing is sent again here: a transaction waits in this node's own queue for the next bank.
  fields.uint('maxRetries');
  const sent = readTransaction(params, fields);
  const refused = contextFault(context, fields, preflightCommitment);
  if (refused !== null || sent === null) return refused ?? invalidParams('Invalid params');
  const unhealthy = skipPreflight ? null : healthFault(context);
  if (unhealthy !== null) return unhealthy;
  const outcome = context.chain.send(sent.wire, { skipPreflight, decoded: sent.decoded });
  if (!outcome.ok) return fault(outcome.code, outcome.message, outcome.data);
  context.onReceived(outcome.signature);
  return answer(outcome.signature);
};

const getFeeForMessage: RpcMethod = (context, params) => {
  const text = params.string(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  const message = decodeBase64(text);
  const decoded = message === null ? null : decodeTransaction(withEmptySignatures(message));
  if (decoded?.kind !== 'decoded') params.fail('Invalid param: not a transaction message');
  const refused = contextFault(context, fields, commitment);
  if (refused !== null || decoded?.kind !== 'decoded') return refused ?? invalidParams('Invalid params');
  const known = context.chain.isBlockhashValid(decoded.recentBlockhash);
  return withContext(context, commitment, known ? u64(feeOf(decoded)) : null);
};

/** Makes a message into a transaction with signatures of zeros, which the decoder reads. */
function withEmptySignatures(message: Uint8Array): Uint8Array {
  const first = message[0] ?? 0;
  const versioned = first >= 128;
  const signatures = new Uint8Array(64 * ((versioned ? message[1] : first) ?? 0));
  if (first === 129) return new Uint8Array(Buffer.concat([message, signatures]));
  const count = signatures.length / 64;
  // A count above 127 takes two bytes; no transaction of that many signatures fits its size limit, so it decodes as malformed.
  return new Uint8Array(Buffer.concat([Uint8Array.of(count), signatures, message]));
}

const getRecentPrioritizationFees: RpcMethod = (context, params) => {
  const accounts = params.list.length === 0 || params.list[0] === null ? [] : params.strings(0, maxPriorityFeeAccounts, addressFault);
  return params.fault ?? answer(context.chain.recentPriorityFees(accounts));
};

const requestAirdrop: RpcMethod = (context, params) => {
  const address = params.address(0);
  const lamports = params.uint(1);
  const config = params.config(2);
  config.commitment();
  const coin = config.choice('coin', ['SOL', 'USDC'], 'SOL');
  if (lamports > maxAirdropLamports) params.fail(`Invalid request: at most ${maxAirdropLamports} lamports`);
  if (params.fault !== null) return params.fault;
  const signature = context.chain.airdrop(address, BigInt(lamports), coin);
  return signature === '' ? fault(rpcCodes.internal, 'This chain has no faucet: it replays a recording') : answer(signature);
};

/** Transactions of a bundle; `fields` names their encoding. A fault is stored in `params`. */
function readBundle(list: readonly unknown[], params: Params, encoding: 'base58' | 'base64'): readonly SentTransaction[] {
  if (list.length === 0 || list.length > maxBundle) params.fail(`bundle must have 1 to ${maxBundle} transactions`);
  return list.slice(0, maxBundle).flatMap((text) => {
    const wire = typeof text !== 'string' ? null : encoding === 'base64' ? decodeBase64(text) : decodeBase58(text);
    const decoded = wire === null ? null : decodeTransaction(wire);
    if (wire !== null && decoded?.kind === 'decoded') return [{ wire, decoded }];
    params.fail(`transaction could not be decoded`);
    return [];
  });
}

/** Whether a transaction pays a block engine: a transfer to one of its accounts, which the message itself names. */
function paysTip({ decoded }: SentTransaction): boolean {
  return decoded.instructions.some(({ programIdIndex, accountIndexes, data }) => {
    if (decoded.accountKeys[programIdIndex] !== systemProgram || data.length !== 12 || data[0] !== 2) return false;
    const lamports = new DataView(data.buffer, data.byteOffset, data.length).getBigUint64(4, true);
    return lamports >= leastJitoTip && tipAccounts.jito.has(decoded.accountKeys[accountIndexes[1] ?? -1] ?? '');
  });
}

/** `sendBundle` of a block engine: the id of a bundle is the SHA-256 of its signatures. */
const sendBundle: RpcMethod = (context, params) => {
  const encoding = params.config(1).choice('encoding', ['base58', 'base64'] as const, 'base58');
  const [list] = params.list;
  const bundle = readBundle(Array.isArray(list) ? list : [], params, encoding);
  const { bundles } = context.chain;
  if (bundles === null) return fault(rpcCodes.methodNotFound, 'Method not found');
  if (params.fault !== null) return params.fault;
  if (!bundle.some(paysTip)) return invalidParams('bundles must write lock at least one tip account to be eligible for the auction');
  const outcome = bundles.send(bundle);
  if (!outcome.ok) return fault(outcome.code, outcome.message);
  const signatures = bundle.map(({ decoded }) => decoded.signatures[0] ?? '');
  for (const signature of signatures) context.onReceived(signature);
  return answer(createHash('sha256').update(signatures.join(',')).digest('hex'));
};

/** `simulateBundle` of Jito's nodes. Accounts before and after are not reported. */
const simulateBundle: RpcMethod = (context, params) => {
  const encoded = params.config(0).list('encodedTransactions');
  const fields = params.config(1);
  const configs = ['preExecutionAccountsConfigs', 'postExecutionAccountsConfigs'].map((name) => fields.list(name).length);
  if (configs.some((length) => length !== encoded.length))
    params.fail('pre/post_execution_accounts_configs must be equal in length to the number of transactions');
  if (!fields.flag('skipSigVerify')) params.fail('skipSigVerify must be true on this node');
  const bundle = readBundle(encoded, params, 'base64');
  const { bundles } = context.chain;
  if (bundles === null) return fault(rpcCodes.methodNotFound, 'Method not found');
  if (params.fault !== null) return params.fault;
  const executions = bundles.simulate(bundle.map(({ decoded }) => decoded));
  const failed = executions.findIndex(({ err }) => err !== null);
  const error = { TransactionFailure: [bundle[failed]?.decoded.signatures[0] ?? '', JSON.stringify(executions[failed]?.err)] };
  return withContext(context, 'processed', {
    summary: failed === -1 ? 'succeeded' : { failed: { error, txSignature: bundle[failed]?.decoded.signatures[0] ?? null } },
    transactionResults: executions.map((execution) => ({
      err: execution.err,
      logs: execution.logs,
      preExecutionAccounts: null,
      postExecutionAccounts: null,
      unitsConsumed: execution.unitsConsumed,
      returnData: encodeReturnData(execution),
    })),
  });
};

/** Methods that change the chain, or ask what a change would cost. */
export const sendingMethods: Readonly<Record<string, RpcMethod>> = {
  simulateTransaction,
  sendTransaction,
  simulateBundle,
  sendBundle,
  getFeeForMessage,
  getRecentPrioritizationFees,
  requestAirdrop,
};
