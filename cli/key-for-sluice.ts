import { SluiceError } from '@sluice/client';
import type { Config } from '@sluice/shared/config/config.ts';
import { listenerAt } from './listener-owner.ts';

/** Gives the key to the client only while the process at this address is not another user's. Called before each connection and request. */
export function keyForSluice(url: string, config: Config, key: () => Promise<string>): () => Promise<string> {
  return async () => {
    const listener = listenerAt(url, config);
    if (listener.kind === 'foreign') throw new SluiceError(listener.fault, { code: 'CLOSED', retryable: false });
    if (listener.kind === 'nobody') throw new Error(`no process listens at ${new URL(url).host}`);
    return await key();
  };
}
