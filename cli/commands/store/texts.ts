import type { CopySummary } from '@sluice/gateway/store/backup/copy-summary.ts';
import { isDamage } from '@sluice/gateway/store/sql/sqlite/integrity.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import { CommandError } from '../../command-line/command.ts';

export function summaryText({ keys, wallets, orders, openOrders, openTriggers }: CopySummary): string {
  const count = (number: number, one: string): string => `${number} ${number === 1 ? one : `${one}s`}`;
  return `${count(keys, 'key')}, ${count(wallets, 'wallet')}, ${count(orders, 'order')} (${openOrders} open), ${count(openTriggers, 'open trigger')}`;
}

/** An error of the disk becomes the message of the command. */
export async function orCommandError<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isDamage(error) || (error instanceof Error && 'code' in error)) throw new CommandError(`${what}: ${reasonOf(error)}`);
    throw error;
  }
}
