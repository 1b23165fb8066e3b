import { setTimeout as pause } from 'node:timers/promises';
import { nodeTextOf } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { createRpc, RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { CommandError } from '../command-line/command.ts';
import { ownCommand } from './own-command.ts';

/** The port of JSON-RPC of a simulated chain, as of a local validator. */
export const simnetPort = 8899;
export const defaultAirdropSol = 10;
/** As in the faucet of a test validator. */
export const maxAirdropSol = 1_000_000;
const timeoutMs = 10_000;
const landsWithinMs = 30_000;
const pollMs = 100;

/** The URL of JSON-RPC on this machine. */
export const defaultRpcUrl = `http://127.0.0.1:${simnetPort}`;

/** The command that gives SOL to a wallet, for a chain at this URL. */
export function airdropCommandLine(rpcUrl: string): string {
  const node = rpcUrl === defaultRpcUrl ? '' : ` --rpc ${rpcUrl}`;
  return `${ownCommand()} simnet airdrop <address> ${defaultAirdropSol}${node}`;
}

/** Starts a node at the usual port, or at a free one if another program uses that port, such as a second chain. */
export async function atUsualPort<T>(startAt: (port: number) => Promise<T>): Promise<T> {
  try {
    return await startAt(simnetPort);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return startAt(0);
  }
}

/** Requests lamports for a wallet, and waits until they have landed. Throws a `CommandError` if the node refuses, or cannot be reached. */
export async function airdrop(rpcUrl: string, address: string, lamports: bigint) {
  const rpc = createRpc([rpcUrl], { timeoutMs });
  const textOf = nodeTextOf(rpcUrl);
  try {
    const signature = String(await rpc.call('requestAirdrop', [address, Number(lamports)]));
    const deadlineMs = performance.now() + landsWithinMs;
    while (!(await hasLanded(rpc, signature))) {
      if (performance.now() > deadlineMs)
        throw new CommandError(`The airdrop ${textOf(signature)} has not landed within ${landsWithinMs / 1000} s.`);
      await pause(pollMs);
    }
    return { signature: textOf(signature), balanceLamports: await balanceOf(rpc, address) };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { origin } = new URL(rpcUrl);
    const hint =
      error.kind === 'answer'
        ? 'Only a simulated chain gives SOL.'
        : 'Is start running? Its first lines show the URL of its chain: --rpc URL';
    throw new CommandError(`No SOL from ${origin}: ${error.message} ${hint}`, { cause: error });
  }
}

async function hasLanded(rpc: Rpc, signature: string): Promise<boolean> {
  const { value } = (await rpc.call('getSignatureStatuses', [[signature]])) as { readonly value: readonly unknown[] };
  return value[0] !== null;
}

async function balanceOf(rpc: Rpc, address: string): Promise<bigint> {
  const { value } = (await rpc.call('getBalance', [address, { commitment: 'processed' }])) as { readonly value: number };
  return BigInt(value);
}
