import { blockHeightAt, contextFault, healthFault, simnetVersion, slotAt, slotsPerEpoch, withContext, type RpcMethod } from '../context.ts';
import { answer } from '../rpc-fault.ts';

/** Identity of the one validator of the simulated chain. */
const identity = 'SimuLatedVaLidatorSimuLatedVaLidatorSimuLat';
/** Feature set id of getVersion. No real release has this id. */
const featureSet = 0;
/** A blockhash stays valid for this many blocks (`MAX_PROCESSING_AGE`). */
const blockhashLifetime = 150;

const getSlot: RpcMethod = (context, params) => {
  const fields = params.config(0);
  const commitment = fields.commitment();
  return contextFault(context, fields, commitment) ?? answer(slotAt(context.chain, commitment));
};

const getBlockHeight: RpcMethod = (context, params) => {
  const fields = params.config(0);
  const commitment = fields.commitment();
  return contextFault(context, fields, commitment) ?? answer(blockHeightAt(context, commitment));
};

const getEpochInfo: RpcMethod = (context, params) => {
  const fields = params.config(0);
  const commitment = fields.commitment();
  const slot = slotAt(context.chain, commitment);
  return (
    contextFault(context, fields, commitment) ??
    answer({
      absoluteSlot: slot,
      blockHeight: blockHeightAt(context, commitment),
      epoch: Math.floor(slot / slotsPerEpoch),
      slotIndex: slot % slotsPerEpoch,
      slotsInEpoch: slotsPerEpoch,
      transactionCount: context.blocks.transactionCount,
    })
  );
};

const getTransactionCount: RpcMethod = (context, params) => {
  const fields = params.config(0);
  return contextFault(context, fields, fields.commitment()) ?? answer(context.blocks.transactionCount);
};

const getLatestBlockhash: RpcMethod = (context, params) => {
  const fields = params.config(0);
  const commitment = fields.commitment();
  const refused = contextFault(context, fields, commitment);
  if (refused !== null) return refused;
  const block = commitment === 'processed' ? null : context.blocks.newestUpTo(slotAt(context.chain, commitment));
  if (block === null) return withContext(context, commitment, context.chain.latestBlockhash());
  return withContext(context, commitment, { blockhash: block.blockhash, lastValidBlockHeight: block.blockHeight + blockhashLifetime });
};

const isBlockhashValid: RpcMethod = (context, params) => {
  const blockhash = params.address(0);
  const fields = params.config(1);
  const commitment = fields.commitment();
  return contextFault(context, fields, commitment) ?? withContext(context, commitment, context.chain.isBlockhashValid(blockhash));
};

const getMinimumBalanceForRentExemption: RpcMethod = (context, params) => {
  const length = params.uint(0);
  params.config(1).commitment();
  return params.fault ?? answer(Number((BigInt(length) + 128n) * context.chain.lamportsPerByte));
};

const getSlotLeaders: RpcMethod = (_context, params) => {
  params.uint(0);
  const limit = params.uint(1);
  if (limit > 5_000) params.fail('Invalid limit; max 5000');
  return params.fault ?? answer(Array.from({ length: limit }, () => identity));
};

/** What the node reports about itself and the chain's progress. */
export const clusterMethods: Readonly<Record<string, RpcMethod>> = {
  getHealth: (context) => healthFault(context) ?? answer('ok'),
  getVersion: () => answer({ 'feature-set': featureSet, 'solana-core': simnetVersion }),
  getGenesisHash: ({ chain }) => answer(chain.genesisHash),
  getIdentity: () => answer({ identity }),
  // Null: this chain confirms as one with TowerBFT does.
  getAgGenesisCert: () => answer(null),
  getClusterNodes: () => answer([]),
  getSlot,
  getBlockHeight,
  getEpochInfo,
  getTransactionCount,
  getEpochSchedule: () =>
    answer({ firstNormalEpoch: 0, firstNormalSlot: 0, leaderScheduleSlotOffset: slotsPerEpoch, slotsPerEpoch, warmup: false }),
  getSlotLeader: () => answer(identity),
  getSlotLeaders,
  getLatestBlockhash,
  isBlockhashValid,
  getMinimumBalanceForRentExemption,
};
