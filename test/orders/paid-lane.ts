import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SystemInstruction, SystemProgram, TransactionInstruction, VersionedTransaction } from '@solana/web3.js';
import type { SimChain } from '../simnet/sim-chain.ts';

/** What a lane requires of the transactions that it accepts. */
export interface LaneTerms {
  readonly tipAccounts: readonly string[];
  readonly leastLamports: bigint;
}

/** A block engine or a Sender on the loopback, as strict as the real ones, in front of a simulated chain. */
export interface PaidLaneServer {
  readonly url: string;
  /** Signatures in order of arrival, with repetitions. */
  readonly taken: readonly string[];
  /** Why it refused transactions. */
  readonly refused: readonly string[];
  /** Account and lamports of each accepted tip. */
  readonly tips: readonly { readonly to: string; readonly lamports: bigint }[];
  close(): Promise<void>;
}

/** The tip, read by @solana/web3.js; a text if there is no valid tip. */
function tipOf({ message }: VersionedTransaction, { tipAccounts, leastLamports }: LaneTerms): { to: string; lamports: bigint } | string {
  const keys = message.staticAccountKeys;
  for (const { programIdIndex, accountKeyIndexes, data } of message.compiledInstructions) {
    const programId = keys[programIdIndex];
    if (programId?.equals(SystemProgram.programId) !== true || data[0] !== 2) continue;
    const named = accountKeyIndexes.map((index) => keys[index]);
    if (named.some((key) => key === undefined)) return 'an account of the transfer comes from a lookup table';
    const accounts = named.map((pubkey) => ({ pubkey: pubkey!, isSigner: false, isWritable: true }));
    const instruction = new TransactionInstruction({ programId, keys: accounts, data: Buffer.from(data) });
    const { toPubkey, lamports } = SystemInstruction.decodeTransfer(instruction);
    const to = toPubkey.toBase58();
    if (!tipAccounts.includes(to)) continue;
    if (!message.isAccountWritable(accountKeyIndexes[1]!)) return 'the tip account is not locked for writing';
    return lamports >= leastLamports ? { to, lamports } : `a tip of ${lamports} lamports, less than ${leastLamports}`;
  }
  return 'no tip';
}

export async function startPaidLane(chain: SimChain, terms: LaneTerms): Promise<PaidLaneServer> {
  const taken: string[] = [];
  const refused: string[] = [];
  const tips: { to: string; lamports: bigint }[] = [];

  function answerTo({ method, params }: { method: string; params: [string, { encoding?: string; skipPreflight?: boolean }] }): object {
    const [wire, options] = params;
    const fault = (message: string): object => {
      refused.push(message);
      return { error: { code: -32_602, message } };
    };
    if (method !== 'sendTransaction' || options.encoding !== 'base64') return fault(`${method} with ${JSON.stringify(options)}`);
    const transaction = VersionedTransaction.deserialize(Buffer.from(wire, 'base64'));
    const tip = tipOf(transaction, terms);
    if (typeof tip === 'string') return fault(tip);
    const sent = chain.send(new Uint8Array(Buffer.from(wire, 'base64')), { skipPreflight: true });
    if (!sent.ok) return { error: { code: -32_002, message: sent.message } };
    taken.push(sent.signature);
    tips.push(tip);
    return { result: sent.signature };
  }

  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const asked = JSON.parse(text) as Parameters<typeof answerTo>[0] & { id: number };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...answerTo(asked) }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    taken,
    refused,
    tips,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
