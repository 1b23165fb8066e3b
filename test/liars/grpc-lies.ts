import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { Random } from '../simnet/market/random.ts';
import type { GrpcLie } from '../support/servers/grpc.ts';
import { enlarged } from './lies.ts';

/** What a gRPC node reports instead of each transaction, in the correct form. */
export function grpcLies(random: Random): Readonly<Record<string, GrpcLie>> {
  return {
    'tenfold amounts': (record) => [{ ...record, ...enlarged(record) }],
    'invented transactions': (record) => [record, { ...record, signature: inventedSignature(random), index: record.index + 1_000 }],
    'transactions are missing': (record) => (random.chance(0.5) ? [record] : []),
    'transactions are repeated': (record) => [record, record, record],
    'landed transactions have failed': (record) => [{ ...record, err: { InstructionError: [2, { Custom: 6002 }] } }],
  };
}

function inventedSignature(random: Random): string {
  return encodeBase58(Uint8Array.from({ length: 64 }, () => random.below(256)));
}
