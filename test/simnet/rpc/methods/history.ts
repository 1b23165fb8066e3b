import type { Block, Chain, TransactionRecord } from '../../chain.ts';
import { contextFault, slotAt, withContext, type RpcContext, type RpcMethod } from '../context.ts';
import { encodeTransaction, transactionEncodings } from '../encode-transaction.ts';
import { signatureFault, type Fields } from '../params.ts';
import { answer, fault, invalidParams, rpcCodes, type RpcFault, type RpcResult } from '../rpc-fault.ts';

const maxSignatures = 1_000;
const maxStatuses = 256;
/** Slots that the status cache covers; older ones need `searchTransactionHistory`. */
const statusCacheSlots = 300;
const maxBlockRange = 500_000;
const confirmationsToFinal = 31;

/** As on a node, the history is readable at `confirmed` and `finalized`. */
function historyCommitment(fields: Fields): 'confirmed' | 'finalized' {
  const commitment = fields.commitment();
  if (commitment === 'processed') fields.params.fail('Method does not support commitment below `confirmed`');
  return commitment === 'confirmed' ? 'confirmed' : 'finalized';
}

function statusOf(chain: Chain, slot: number): 'processed' | 'confirmed' | 'finalized' {
  if (slot <= chain.finalizedSlot) return 'finalized';
  return slot <= chain.confirmedSlot ? 'confirmed' : 'processed';
}

/** Null if the block time is not known (a recording without block times). */
function timeOf(unixSeconds: number): number | null {
  return unixSeconds > 0 ? unixSeconds : null;
}

const getTransaction: RpcMethod = (context, params) => {
  const signature = params.signature(0);
  const short = params.list[1];
  const fields = typeof short === 'string' ? params.config(2) : params.config(1);
  const commitment = historyCommitment(fields);
  const encoding = fields.choice('encoding', transactionEncodings, transactionEncodings.find((name) => name === short) ?? 'json');
  const maxVersion = fields.uint('maxSupportedTransactionVersion');
  if (params.fault !== null) return params.fault;
  const record = context.chain.transaction(signature);
  if (record === null || record.slot > slotAt(context.chain, commitment)) return answer(null);
  const encoded = encodeTransaction(record, encoding, maxVersion);
  if (!encoded.ok) return encoded;
  return answer({ blockTime: timeOf(record.blockTime), slot: record.slot, transactionIndex: record.index, ...Object(encoded.value) });
};

const getSignaturesForAddress: RpcMethod = (context, params) => {
  const address = params.address(0);
  const fields = params.config(1);
  const commitment = historyCommitment(fields);
  const before = fields.signature('before');
  const until = fields.signature('until');
  const limit = fields.uint('limit') ?? maxSignatures;
  if (limit < 1 || limit > maxSignatures) params.fail(`Invalid limit; max ${maxSignatures}`);
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const reached = slotAt(context.chain, commitment);
  const page = signaturePage(context.chain, address, reached, { before, until, limit });
  return answer(
    page.map((record) => ({
      blockTime: timeOf(record.blockTime),
      confirmationStatus: statusOf(context.chain, record.slot),
      err: record.err,
      memo: null,
      signature: record.signature,
      slot: record.slot,
      transactionIndex: record.index,
    })),
  );
};

/** Newest first, at most `limit`, none above the slot `reached`. If those above it take up the page, more is read. */
function signaturePage(
  chain: Chain,
  address: string,
  reached: number,
  range: { readonly before: string | null; readonly until: string | null; readonly limit: number },
): readonly TransactionRecord[] {
  const found: TransactionRecord[] = [];
  let { before } = range;
  while (found.length < range.limit) {
    const page = chain.signaturesFor(address, {
      limit: maxSignatures,
      ...(before === null ? {} : { before }),
      ...(range.until === null ? {} : { until: range.until }),
    });
    for (const record of page) if (record.slot <= reached && found.length < range.limit) found.push(record);
    const last = page.at(-1);
    if (last === undefined || page.length < maxSignatures) break;
    before = last.signature;
  }
  return found;
}

const getSignatureStatuses: RpcMethod = (context, params) => {
  const signatures = params.strings(0, maxStatuses, signatureFault);
  const search = params.config(1).flag('searchTransactionHistory');
  if (params.fault !== null) return params.fault;
  const { chain } = context;
  const statuses = signatures.map((signature) => {
    const record = chain.transaction(signature);
    if (record === null || record.slot > chain.slot || (!search && record.slot < chain.finalizedSlot - statusCacheSlots)) return null;
    const confirmationStatus = statusOf(chain, record.slot);
    return {
      confirmationStatus,
      confirmations: confirmationStatus === 'finalized' ? null : Math.min(confirmationsToFinal, chain.slot - record.slot),
      err: record.err,
      slot: record.slot,
      status: record.err === null ? { Ok: null } : { Err: record.err },
    };
  });
  return withContext(context, 'processed', statuses);
};

function findBlock(context: RpcContext, slot: number, reached: number): Block | RpcFault {
  if (slot > reached) return fault(rpcCodes.blockNotAvailable, `Block not available for slot ${slot}`);
  return (
    context.blocks.at(slot) ?? fault(rpcCodes.slotSkipped, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`)
  );
}

function isFault(value: Block | RpcFault): value is RpcFault {
  return 'ok' in value;
}

function blockTransactions(block: Block, details: string, fields: Fields): RpcResult {
  if (details === 'none') return answer({});
  if (details === 'signatures') return answer({ signatures: block.transactions.map((record) => record.signature) });
  const encoding = fields.choice('encoding', transactionEncodings, 'json');
  const maxVersion = fields.uint('maxSupportedTransactionVersion');
  if (fields.params.fault !== null) return fields.params.fault;
  const transactions: unknown[] = [];
  for (const record of block.transactions) {
    const encoded = encodeTransaction(record, encoding, maxVersion);
    if (!encoded.ok) return encoded;
    transactions.push(encoded.value);
  }
  return answer({ transactions });
}

const getBlock: RpcMethod = (context, params) => {
  const slot = params.uint(0);
  const fields = params.config(1);
  const commitment = historyCommitment(fields);
  const details = fields.choice('transactionDetails', ['full', 'signatures', 'none'] as const, 'full');
  if (params.fault !== null) return params.fault;
  const block = findBlock(context, slot, slotAt(context.chain, commitment));
  if (isFault(block)) return block;
  const transactions = blockTransactions(block, details, fields);
  if (!transactions.ok) return transactions;
  const { blockHeight, blockhash, parentSlot } = block;
  const previousBlockhash = context.blocks.at(parentSlot)?.blockhash ?? '11111111111111111111111111111111';
  const rewards = fields.source['rewards'] === false ? {} : { rewards: [] };
  return answer({
    blockHeight,
    blockTime: timeOf(block.blockTime),
    blockhash,
    parentSlot,
    previousBlockhash,
    ...rewards,
    ...Object(transactions.value),
  });
};

const getBlocks: RpcMethod = (context, params) => {
  const from = params.uint(0);
  const second = params.list[1];
  const fields = typeof second === 'number' || second === null ? params.config(2) : params.config(1);
  const reached = slotAt(context.chain, historyCommitment(fields));
  const to = Math.min(reached, typeof second === 'number' ? params.uint(1) : reached);
  if (to - from > maxBlockRange) params.fail(`Slot range too large; max ${maxBlockRange}`);
  return params.fault ?? answer(context.blocks.slots(from, to));
};

const getBlocksWithLimit: RpcMethod = (context, params) => {
  const from = params.uint(0);
  const limit = params.uint(1);
  const reached = slotAt(context.chain, historyCommitment(params.config(2)));
  if (limit > maxBlockRange) params.fail(`Limit too large; max ${maxBlockRange}`);
  return params.fault ?? answer(context.blocks.slots(from, reached).slice(0, limit));
};

const getBlockTime: RpcMethod = (context, params) => {
  const slot = params.uint(0);
  if (params.fault !== null) return params.fault;
  const block = findBlock(context, slot, context.chain.slot);
  return isFault(block) ? block : answer(timeOf(block.blockTime));
};

const getFirstAvailableBlock: RpcMethod = (context) => {
  const [first] = context.blocks.slots(0, Number.MAX_SAFE_INTEGER);
  return first === undefined ? invalidParams('No block yet') : answer(first);
};

/** Transactions and blocks of the chain. */
export const historyMethods: Readonly<Record<string, RpcMethod>> = {
  getTransaction,
  getSignaturesForAddress,
  getSignatureStatuses,
  getBlock,
  getBlocks,
  getBlocksWithLimit,
  getBlockTime,
  getFirstAvailableBlock,
};
