import { startNodeTransport } from './node.ts';
import type { StartTransport, Transport, TransportHandlers, TransportOptions } from './transport.ts';
import { loadUws } from './uws-load.ts';
import { startUwsTransport } from './uws.ts';

export type TransportChoice = 'auto' | 'uws' | 'node';

/** Starts the native transport, or its twin where the native one does not load. `uws` makes that an error instead. */
export async function startTransport(choice: TransportChoice, options: TransportOptions, handlers: TransportHandlers): Promise<Transport> {
  return await starter(choice, options)(options, handlers);
}

function starter(choice: TransportChoice, { log }: TransportOptions): StartTransport {
  if (choice === 'node') return startNodeTransport;
  const load = loadUws();
  if (load.kind === 'loaded') return (options, handlers) => startUwsTransport(load.uws, options, handlers);
  if (choice === 'uws') throw new Error(`uWebSockets.js does not load: ${load.reason} ${load.detail}`);
  log.warn({ reason: load.reason, detail: load.detail }, 'native_transport_unavailable');
  return startNodeTransport;
}
